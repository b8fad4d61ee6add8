// Sets of time, so that overlapping slices are never counted twice.
#pragma once

#include <cstdint>
#include <vector>

namespace redline::trace {

/// [begin, end) in nanoseconds.
struct Interval {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;

  [[nodiscard]] int64_t length_ns() const { return end_ns - begin_ns; }
  bool operator==(const Interval&) const = default;
};

/// Sorted, not empty each, neither overlapping nor touching. merge() makes one from any list; the
/// other functions take and give such lists, in linear time.
using Intervals = std::vector<Interval>;

[[nodiscard]] Intervals merge(std::vector<Interval> any);
[[nodiscard]] Intervals unite(const Intervals& left, const Intervals& right);
[[nodiscard]] Intervals intersect(const Intervals& left, const Intervals& right);
[[nodiscard]] Intervals subtract(const Intervals& from, const Intervals& what);
[[nodiscard]] int64_t total_ns(const Intervals& intervals);

/// total_ns(intersect(intervals, {window})), but in logarithmic time to find the place.
[[nodiscard]] int64_t total_within_ns(const Intervals& intervals, Interval window);

}  // namespace redline::trace
