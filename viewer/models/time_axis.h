// Tells which nanoseconds lie under which pixel, and where the ruler's marks stand.
//
// Times are int64 nanoseconds: a double cannot tell neighbouring nanoseconds of unix time apart. So
// the difference to the left edge is taken in integers first, and only then scaled to pixels. The
// view can be zoomed from 1 ns to a year (kMaxSpanNs).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/statistics.h"

namespace redline::viewer {

struct TimeRange {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;

  [[nodiscard]] int64_t span_ns() const;
  [[nodiscard]] bool contains(int64_t time_ns) const {
    return begin_ns <= time_ns && time_ns < end_ns;
  }
  bool operator==(const TimeRange&) const = default;
};

/// a - b, limited to the range of int64 like saturating_sum(), because the times of a hostile trace
/// must not overflow.
[[nodiscard]] inline int64_t saturating_sub(int64_t a, int64_t b) {
  int64_t result = 0;
  if (!__builtin_sub_overflow(a, b, &result)) return result;
  return b < 0 ? INT64_MAX : INT64_MIN;
}

struct TimeAxis {
  static constexpr int64_t kMinSpanNs = 1;
  static constexpr int64_t kMaxSpanNs = int64_t{366} * 24 * 3600 * 1'000'000'000;

  int64_t begin_ns = 0;
  int64_t span_ns = 1'000'000;
  int width = 1;  ///< pixels

  [[nodiscard]] int64_t end_ns() const { return saturating_sum(begin_ns, span_ns); }
  [[nodiscard]] TimeRange range() const { return {begin_ns, end_ns()}; }
  [[nodiscard]] double ns_per_pixel() const { return static_cast<double>(span_ns) / width; }

  /// Pixels from the left edge; outside 0..width for times that are not visible.
  [[nodiscard]] double x_of(int64_t time_ns) const;
  [[nodiscard]] int64_t time_at(double x) const;

  /// The axis with its span multiplied by `factor`. The time under `anchor_x` stays there (to 1
  /// ns).
  [[nodiscard]] TimeAxis zoomed(double factor, double anchor_x) const;
  [[nodiscard]] TimeAxis panned(double pixels) const;
  [[nodiscard]] TimeAxis showing(TimeRange range) const;
  /// The axis moved so that its middle stays inside `bounds`, so that a user cannot get lost.
  [[nodiscard]] TimeAxis kept_near(TimeRange bounds) const;
};

/// A mark of the ruler.
struct Tick {
  int64_t time_ns = 0;
  std::string label;  ///< empty for the small marks between
};

/// Marks at round distances (1, 2 or 5 times a power of ten). Labels are at least `label_pixels`
/// apart and count from `zero_ns`: "+4 ms". They have as many digits as it takes for neighbours to
/// differ at any zoom.
[[nodiscard]] std::vector<Tick> ruler_ticks(const TimeAxis& axis, int64_t zero_ns,
                                            int label_pixels);

}  // namespace redline::viewer
