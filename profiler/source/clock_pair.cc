#include "profiler/source/clock_pair.h"

#include <time.h>

#include <limits>

#include "profiler/log/record.h"

namespace redline::profiler {
namespace {

int64_t realtime_ns() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

std::string text_of(const ClockPair& pair) {
  return "{\"realtime_ns\": " + std::to_string(pair.realtime_ns) +
         ", \"monotonic_ns\": " + std::to_string(pair.monotonic_ns) + "}";
}

}  // namespace

/// The tightest of a few bracketed readings.
ClockPair read_clocks() {
  ClockPair best;
  int64_t best_width = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < 8; ++i) {
    const int64_t before = monotonic_ns();
    const int64_t unix_now = realtime_ns();
    const int64_t after = monotonic_ns();
    if (after - before >= best_width) continue;
    best_width = after - before;
    best = {unix_now, before + (after - before) / 2};
  }
  return best;
}

std::string clock_members(const ClockPair& begin, const ClockPair& end) {
  return "{\"clocks\": [" + text_of(begin) + ", " + text_of(end) + "]}";
}

}  // namespace redline::profiler
