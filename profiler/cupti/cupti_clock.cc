#include "profiler/cupti/cupti_clock.h"

#include <cmath>
#include <limits>

#include "base/clock.h"
#include "profiler/source/run_metadata.h"

namespace redline::cupti {
namespace {

constexpr int kTries = 5;

int64_t between(uint64_t from, uint64_t to) { return static_cast<int64_t>(to - from); }

int64_t on_line(const ClockReading& from, const ClockReading& to, uint64_t time) {
  const int64_t cupti = between(from.cupti, to.cupti);
  const int64_t ours_ns = to.monotonic_ns - from.monotonic_ns;
  const int64_t since = between(from.cupti, time);
  if (cupti == ours_ns || cupti <= 0 || ours_ns <= 0) return from.monotonic_ns + since;
  return from.monotonic_ns +
         std::llround(static_cast<double>(since) * static_cast<double>(ours_ns) /
                      static_cast<double>(cupti));
}

}  // namespace

ClockReading read_clocks(const Library& library) {
  ClockReading best;
  int64_t best_gap_ns = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < kTries; ++i) {
    const int64_t before_ns = monotonic_ns();
    uint64_t cupti = 0;
    if (library.get_timestamp(&cupti) != kSuccess) break;
    const int64_t gap_ns = monotonic_ns() - before_ns;
    if (gap_ns >= best_gap_ns) continue;
    best_gap_ns = gap_ns;
    // CUPTI's clock may be the same as ours: then it fits between our two readings.
    const int64_t later_ns = between(static_cast<uint64_t>(before_ns), cupti);
    const bool is_ours = later_ns >= 0 && later_ns <= gap_ns;
    best = {cupti, before_ns + (is_ours ? later_ns : gap_ns / 2)};
  }
  if (best.monotonic_ns != 0) return best;
  const auto by_default = profiler::read_clocks();
  return {static_cast<uint64_t>(by_default.realtime_ns), by_default.monotonic_ns};
}

void CuptiClock::add(const ClockReading& reading) {
  readings_.push_back(reading);
  if (readings_.size() > kMostReadings) readings_.pop_front();
}

int64_t CuptiClock::to_monotonic(uint64_t time) const {
  if (readings_.empty()) return static_cast<int64_t>(time);
  if (readings_.size() == 1) return on_line(readings_.front(), readings_.front(), time);
  // From the newest reading back, because records are recent.
  for (size_t i = readings_.size() - 1; i > 0; --i) {
    if (between(readings_[i - 1].cupti, time) >= 0) {
      return on_line(readings_[i - 1], readings_[i], time);
    }
  }
  return on_line(readings_[0], readings_[1], time);
}

}  // namespace redline::cupti
