// Finding slices by name or category, or, with "args:" before the text, by their arguments.
//
// A trace of ten million slices has some hundred names. So the text is compared once with each
// name, and one scan of the name column (2 ns a slice) counts the hits in each block of slices.
// With these counts a step to the next or previous hit skips the blocks that have none: it takes a
// millisecond in a trace of any size. Arguments are not in columns but in the file's text, and all
// of that must be read; a thread beside the window does it.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "viewer/models/session.h"

namespace redline::viewer {

/// Which slices of each trace are hits.
using HitBits = std::vector<std::vector<bool>>;

/// The text behind "args:"; nullopt if the text does not begin with that.
[[nodiscard]] std::optional<std::string> args_part(const std::string& text);
/// Slices whose arguments (names and values) contain `part`, as the file has them or as Details
/// shows them: without escapes; blanks beside , : [ ] { } do not count. Setting `cancel` makes it
/// stop soon; the result is then incomplete.
[[nodiscard]] HitBits find_in_args(const Session& session, const std::string& part,
                                   const std::atomic<bool>* cancel = nullptr);

class Search {
 public:
  Search() = default;
  /// Letters match without regard to case (ASCII); in quotes stands a whole name. An empty text
  /// finds nothing.
  /// Setting `cancel` makes it stop soon; the search is then still pending.
  Search(const Session& session, const std::string& text,
         const std::atomic<bool>* cancel = nullptr);
  /// What a search of arguments has found.
  Search(const Session& session, const std::string& text, HitBits hits);
  /// A search that has only begun: it has its text and finds nothing yet.
  [[nodiscard]] static Search pending(const std::string& text);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] uint64_t count() const { return count_; }
  /// Whether the search has not ended yet; it finds nothing until then.
  [[nodiscard]] bool is_pending() const { return !text_.empty() && !is_known_; }
  [[nodiscard]] bool matches(const Session& session, SliceRef ref) const;

  /// Calls visit(SliceRef) for each hit, lane by lane, until it returns false.
  template <typename Visit>
  void for_each(const Session& session, const Visit& visit) const {
    if (!is_known_) return;
    for (uint32_t t = 0; t < traces_.size(); ++t) {
      const trace::Trace& trace = *session.traces()[t].trace;
      for (uint32_t i = 0; i < trace.slice_count(); ++i) {
        if (is_hit(trace.slices(), t, i) && !visit(SliceRef{t, {i}})) return;
      }
    }
  }

  /// The hit after (before) `from` by begin; with no `from`, or past the end, the first (last).
  [[nodiscard]] SliceRef next(const Session& session, SliceRef from) const;
  [[nodiscard]] SliceRef previous(const Session& session, SliceRef from) const;
  /// The place of a hit in that order, from 1; 0 if `ref` is none or no hit.
  [[nodiscard]] uint64_t place_of(const Session& session, SliceRef ref) const;

 private:
  static constexpr size_t kCategories = static_cast<size_t>(trace::Category::kOther) + 1;
  struct Names {
    std::vector<uint8_t> matched;       ///< by StringId
    std::vector<uint32_t> hits_before;  ///< by block of slices, and at the end for all
  };
  static constexpr uint32_t kBlock = 1024;

  [[nodiscard]] bool is_hit(const trace::Slices& slices, uint32_t trace, uint32_t slice) const {
    if (hits_) return (*hits_)[trace][slice];
    const trace::StringId name = slices.name[slice];
    return (name && traces_[trace].matched[name.value] != 0) ||
           category_[static_cast<size_t>(slices.category[slice])];
  }
  struct Order;
  void count_hits(const Session& session, const std::atomic<bool>* cancel);
  [[nodiscard]] uint32_t hits_between(const trace::Slices& slices, uint32_t trace, uint32_t begin,
                                      uint32_t end) const;
  /// The number of hits before `slice` in its trace.
  [[nodiscard]] uint32_t hits_before(const trace::Slices& slices, uint32_t trace,
                                     uint32_t slice) const;
  [[nodiscard]] std::optional<uint32_t> first_hit(const trace::Slices& slices, uint32_t trace,
                                                  uint32_t begin, uint32_t end) const;
  [[nodiscard]] std::optional<uint32_t> last_hit(const trace::Slices& slices, uint32_t trace,
                                                 uint32_t begin, uint32_t end) const;
  [[nodiscard]] SliceRef earliest(const Session& session, const std::optional<Order>& after) const;
  [[nodiscard]] SliceRef latest(const Session& session, const std::optional<Order>& before) const;

  std::string text_;
  std::vector<Names> traces_;
  std::array<bool, kCategories> category_{};
  std::shared_ptr<const HitBits> hits_;  ///< of a search of arguments; shared by copies
  uint64_t count_ = 0;
  bool is_known_ = false;
};

/// The longest slice called `name`; none if there is no such slice.
[[nodiscard]] SliceRef longest_named(const Session& session, std::string_view name);

/// Where to look for a name: at its longest slice. Of two runs it gives the longest slice of each,
/// taken from the steps on which the runs are aligned if the name is called there. Setting `cancel`
/// makes it stop soon; the result is then empty.
[[nodiscard]] std::vector<SliceRef> places_of(const Session& session, std::string_view name,
                                              const std::atomic<bool>* cancel = nullptr);

}  // namespace redline::viewer
