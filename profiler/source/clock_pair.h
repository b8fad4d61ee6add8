// Two clocks read at the same moment, so that traces of several machines and tools can be laid side
// by side.
#pragma once

#include <cstdint>
#include <string>

namespace redline::profiler {

struct ClockPair {
  int64_t realtime_ns = 0;   ///< unix time
  int64_t monotonic_ns = 0;  ///< CLOCK_MONOTONIC, which all processes of a machine share

  [[nodiscard]] int64_t offset_ns() const { return realtime_ns - monotonic_ns; }
};

[[nodiscard]] ClockPair read_clocks();

/// {"clocks": [{"realtime_ns": …, "monotonic_ns": …}, …]}: a window's begin and end.
[[nodiscard]] std::string clock_members(const ClockPair& begin, const ClockPair& end);

}  // namespace redline::profiler
