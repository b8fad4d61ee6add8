#include "viewer/models/time_axis.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace redline::viewer {
namespace {

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

int64_t to_ns(double value) {
  // 2^63 as a double is one above the largest int64, so compare before casting.
  if (value >= 9.2233720368547748e18) return kHighest;
  if (value <= -9.2233720368547748e18) return kLowest;
  return static_cast<int64_t>(std::llround(value));
}

}  // namespace

int64_t TimeRange::span_ns() const { return saturating_sub(end_ns, begin_ns); }

double TimeAxis::x_of(int64_t time_ns) const {
  return static_cast<double>(saturating_sub(time_ns, begin_ns)) * width /
         static_cast<double>(span_ns);
}

int64_t TimeAxis::time_at(double x) const {
  return saturating_add(begin_ns, to_ns(std::floor(x * ns_per_pixel())));
}

TimeAxis TimeAxis::zoomed(double factor, double anchor_x) const {
  int64_t span = to_ns(static_cast<double>(span_ns) * factor);
  // At a few nanoseconds rounding would swallow the step, and the user would be stuck.
  if (factor > 1) span = std::max(span, saturating_add(span_ns, 1));
  if (factor < 1) span = std::min(span, span_ns - 1);
  TimeAxis result = *this;
  result.span_ns = std::clamp(span, kMinSpanNs, kMaxSpanNs);
  const double share = anchor_x / width;
  const double shift = static_cast<double>(span_ns - result.span_ns) * share;
  result.begin_ns = saturating_add(begin_ns, to_ns(shift));
  return result;
}

TimeAxis TimeAxis::panned(double pixels) const {
  TimeAxis result = *this;
  result.begin_ns = saturating_add(begin_ns, to_ns(pixels * ns_per_pixel()));
  return result;
}

TimeAxis TimeAxis::showing(TimeRange range) const {
  TimeAxis result = *this;
  result.begin_ns = range.begin_ns;
  result.span_ns = std::clamp(range.span_ns(), kMinSpanNs, kMaxSpanNs);
  return result;
}

TimeAxis TimeAxis::kept_near(TimeRange bounds) const {
  TimeAxis result = *this;
  const int64_t half = span_ns / 2;
  const int64_t middle = std::clamp(saturating_add(begin_ns, half), bounds.begin_ns,
                                    std::max(bounds.begin_ns, bounds.end_ns));
  result.begin_ns = saturating_sub(middle, half);
  return result;
}

}  // namespace redline::viewer
