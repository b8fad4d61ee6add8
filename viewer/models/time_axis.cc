#include "viewer/models/time_axis.h"

#include <fmt/format.h>

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
  return saturating_sum(begin_ns, to_ns(std::floor(x * ns_per_pixel())));
}

TimeAxis TimeAxis::zoomed(double factor, double anchor_x) const {
  int64_t span = to_ns(static_cast<double>(span_ns) * factor);
  // At a few nanoseconds rounding would undo the step, and the user would be stuck.
  if (factor > 1) span = std::max(span, saturating_sum(span_ns, 1));
  if (factor < 1) span = std::min(span, span_ns - 1);
  TimeAxis result = *this;
  result.span_ns = std::clamp(span, kMinSpanNs, kMaxSpanNs);
  const double share = anchor_x / width;
  const double shift = static_cast<double>(span_ns - result.span_ns) * share;
  result.begin_ns = saturating_sum(begin_ns, to_ns(shift));
  return result;
}

TimeAxis TimeAxis::panned(double pixels) const {
  TimeAxis result = *this;
  result.begin_ns = saturating_sum(begin_ns, to_ns(pixels * ns_per_pixel()));
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
  const int64_t middle = std::clamp(saturating_sum(begin_ns, half), bounds.begin_ns,
                                    std::max(bounds.begin_ns, bounds.end_ns));
  result.begin_ns = saturating_sub(middle, half);
  return result;
}

namespace {

constexpr int kSmallMarks = 5;

struct TickUnit {
  int64_t size_ns;
  const char* name;
};
constexpr TickUnit kTickUnits[] = {
    {1'000'000'000, "s"}, {1'000'000, "ms"}, {1'000, "µs"}, {1, "ns"}};

int64_t round_step(double at_least) {
  int64_t power = 1;
  while (power < INT64_MAX / 20) {
    for (const int64_t factor : {1, 2, 5}) {
      if (static_cast<double>(power * factor) >= at_least) return power * factor;
    }
    power *= 10;
  }
  return power;
}

// The unit follows the distance of the view from zero, the digits follow the step.
std::string tick_label(int64_t offset_ns, int64_t step_ns, int64_t largest_ns) {
  const TickUnit* unit = &kTickUnits[3];
  for (const TickUnit& candidate : kTickUnits) {
    if (largest_ns >= candidate.size_ns) {
      unit = &candidate;
      break;
    }
  }
  int digits = 0;
  for (int64_t size = unit->size_ns; size > step_ns && digits < 9; size /= 10) ++digits;
  const double value = static_cast<double>(offset_ns) / static_cast<double>(unit->size_ns);
  return fmt::format("{}{:.{}f} {}", offset_ns < 0 ? "" : "+", value, digits, unit->name);
}

int64_t floor_to(int64_t value, int64_t step) {
  const int64_t rest = value % step;
  return value - rest - (rest < 0 ? step : 0);
}

}  // namespace

std::vector<Tick> ruler_ticks(const TimeAxis& axis, int64_t zero_ns, int label_pixels) {
  const int64_t step = round_step(axis.ns_per_pixel() * label_pixels);
  const int64_t small = std::max<int64_t>(1, step / kSmallMarks);
  const int64_t first = saturating_sub(axis.begin_ns, zero_ns);
  const int64_t last = saturating_sub(axis.end_ns(), zero_ns);
  const int64_t largest = std::max(std::abs(std::max(first, -INT64_MAX)), std::abs(last));
  std::vector<Tick> ticks;
  if (saturating_sub(first, INT64_MIN) < step) return ticks;
  for (int64_t offset = floor_to(first, step); offset <= last;
       offset = saturating_sum(offset, small)) {
    const bool labelled = offset % step == 0;
    ticks.push_back({saturating_sum(zero_ns, offset),
                     labelled ? tick_label(offset, step, largest) : std::string()});
    if (offset == INT64_MAX) break;
  }
  return ticks;
}

}  // namespace redline::viewer
