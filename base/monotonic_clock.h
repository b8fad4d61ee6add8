// The recorder's clock.
#pragma once

#include <time.h>

#include <cstdint>

namespace redline {

/// CLOCK_MONOTONIC. Unlike the time-stamp counter it needs no calibration and survives a suspended
/// machine; 20 to 30 ns a reading.
inline int64_t monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

}  // namespace redline
