// All that is known of one slice: its fields, its arguments, and the slices that it is linked to. A
// link leads from a launch to its kernel, from forward to backward, or between the ranks of one
// collective.
#pragma once

#include <string>
#include <vector>

#include "trace/report/report.h"
#include "viewer/models/session.h"
#include "viewer/models/table.h"

namespace redline::viewer {

struct DetailField {
  std::string name;
  std::string value;
};

struct SliceDetails {
  std::string name;
  std::vector<DetailField> fields;     ///< category, start, duration, where
  std::vector<DetailField> arguments;  ///< "args" as in the file, nested ones as "a.b"
};

[[nodiscard]] SliceDetails slice_details(const Session& session, SliceRef ref);

/// The "args" of an event's JSON text. Text that is not JSON comes back whole as one argument.
[[nodiscard]] std::vector<DetailField> event_arguments(std::string_view event_text);

enum class LinkKind : uint8_t { kLaunch, kForwardBackward, kCollective, kOther };

struct Link {
  SliceRef from;
  SliceRef to;
  LinkKind kind = LinkKind::kOther;
};

/// Knows which slices are one and the same collective, over the ranks of a session.
class CollectiveLinks {
 public:
  CollectiveLinks() = default;
  CollectiveLinks(const Session& session, const trace::Report& report);

  /// All calls of the slice's collective, including itself; empty if the slice belongs to none.
  [[nodiscard]] std::vector<SliceRef> calls_of(SliceRef ref) const;
  [[nodiscard]] size_t size() const { return calls_.size(); }

 private:
  struct Call {
    SliceRef ref;
    uint32_t collective = 0;
  };
  std::vector<Call> calls_;  ///< by slice
  std::vector<Call> by_collective_;
};

/// The most arrows that are drawn; more would tell nothing.
constexpr size_t kMostLinks = 2000;

/// The links of the slice and of what it called, so that an operator leads to the kernels that it
/// launched. By time; then the calls of the same collective.
[[nodiscard]] std::vector<Link> links_of(const Session& session, const CollectiveLinks& collectives,
                                         SliceRef ref, size_t most = kMostLinks);

/// "launched by", "launches", …: what the other end is to the slice.
[[nodiscard]] std::string link_text(const Link& link, SliceRef of);

/// One row for each link: what it is, the other slice, and how long after (or before) `of` that
/// begins. Before these come what the slice was called in (of device work: its launch): operator,
/// module and step.
[[nodiscard]] Table link_rows(const Session& session, const std::vector<Link>& links, SliceRef of);

}  // namespace redline::viewer
