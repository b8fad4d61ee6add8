// Finding slices by name or category.
//
// A trace of ten million slices has some hundred names: so the text is matched once a name, and
// next and previous scan the name column (10 ms for 10 million) instead of keeping sorted hits.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "viewer/models/session.h"

namespace redline::viewer {

class Search {
 public:
  Search() = default;
  /// Letters match without regard to case (ASCII). An empty text finds nothing.
  Search(const Session& session, const std::string& text);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] uint64_t count() const { return count_; }
  [[nodiscard]] bool matches(const Session& session, SliceRef ref) const;

  /// Calls visit(SliceRef) for each hit, lane by lane, until it returns false.
  template <typename Visit>
  void for_each(const Session& session, const Visit& visit) const {
    if (text_.empty()) return;
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
  /// 1-based place of a hit in that order; 0 where `ref` is none or no hit.
  [[nodiscard]] uint64_t place_of(const Session& session, SliceRef ref) const;

 private:
  static constexpr size_t kCategories = static_cast<size_t>(trace::Category::kOther) + 1;
  struct Names {
    std::vector<bool> matched;  ///< by StringId
  };

  [[nodiscard]] bool is_hit(const trace::Slices& slices, uint32_t trace, uint32_t slice) const {
    const trace::StringId name = slices.name[slice];
    return (name && traces_[trace].matched[name.value]) ||
           category_[static_cast<size_t>(slices.category[slice])];
  }
  template <typename Visit>
  void for_each_hit(const Session& session, const Visit& visit) const;

  std::string text_;
  std::vector<Names> traces_;
  std::array<bool, kCategories> category_{};
  uint64_t count_ = 0;
};

/// The longest slice called `name`; none where there is none.
[[nodiscard]] SliceRef longest_named(const Session& session, std::string_view name);

}  // namespace redline::viewer
