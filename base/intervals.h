// Sets of time. The busy time of a GPU is not the sum of its kernels, because kernels of two
// streams run at the same time. So figures are made from sets of intervals, in which no moment
// counts twice.
#pragma once

#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace redline {

/// [begin, end) in nanoseconds.
struct Interval {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;

  [[nodiscard]] int64_t length_ns() const { return end_ns - begin_ns; }
  bool operator==(const Interval&) const = default;
};

/// A sorted list in which no interval is empty, overlaps another or touches it. merge() makes such
/// a list from any list. The other functions take and return such lists, in linear time.
using Intervals = std::vector<Interval>;

[[nodiscard]] Intervals merge(std::vector<Interval> any);
[[nodiscard]] Intervals unite(const Intervals& left, const Intervals& right);
[[nodiscard]] Intervals intersect(const Intervals& left, const Intervals& right);
[[nodiscard]] Intervals subtract(const Intervals& from, const Intervals& what);
[[nodiscard]] int64_t total_ns(const Intervals& intervals);

/// total_ns(intersect(intervals, {window})), but in logarithmic time to find the place.
[[nodiscard]] int64_t total_within_ns(const Intervals& intervals, Interval window);

/// Looks up times in a list. A lookup takes constant time if each time is a little later than the
/// one before, as in a walk over a trace.
class IntervalCursor {
 public:
  explicit IntervalCursor(const Intervals& intervals) : all_(intervals), at_(intervals.begin()) {}

  /// The first interval that ends after the time.
  [[nodiscard]] Intervals::const_iterator behind(int64_t time_ns) {
    constexpr int kNear = 32;
    if (at_ != all_.begin() && std::prev(at_)->end_ns > time_ns) at_ = search(time_ns);
    for (int passed = 0; at_ != all_.end() && at_->end_ns <= time_ns; ++at_) {
      if (++passed > kNear) return at_ = search(time_ns);
    }
    return at_;
  }
  /// total_within_ns(intervals, window) > 0.
  [[nodiscard]] bool touches(Interval window) {
    const auto at = behind(window.begin_ns);
    return window.length_ns() > 0 && at != all_.end() && at->begin_ns < window.end_ns;
  }

 private:
  [[nodiscard]] Intervals::const_iterator search(int64_t time_ns) const;

  const Intervals& all_;
  Intervals::const_iterator at_;
};

/// take() gives intersect(within, merge(all added intervals)). Only the parts inside `within` take
/// memory. It is fastest if the intervals are added in a few sorted runs.
class Coverage {
 public:
  /// `within` must outlive this object.
  explicit Coverage(const Intervals& within) : within_(&within), cursor_(within) {}

  void add(Interval interval);
  [[nodiscard]] Intervals take() { return merge(std::move(parts_)); }

 private:
  void keep(Interval part);

  const Intervals* within_;
  IntervalCursor cursor_;
  std::vector<Interval> parts_;
};

}  // namespace redline
