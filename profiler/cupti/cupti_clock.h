// Converts CUPTI's clock to ours. CUPTI's clock is Unix time, unless another user of CUPTI has set
// a different one: torch.profiler, for example, sets a counter of cycles.
//
// One call could set our clock in CUPTI. But after that call later windows lose their first
// kernels, CUDA 12.6 to 13.0 gives kernels without times, and other users of CUPTI get other times.
// So both clocks are read at each flush, and a time between two readings is interpolated linearly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "profiler/cupti/cupti_library.h"

namespace redline::cupti {

/// The same moment by both clocks.
struct ClockReading {
  uint64_t cupti = 0;
  int64_t monotonic_ns = 0;
};
[[nodiscard]] ClockReading read_clocks(const Library& library);

class CuptiClock {
 public:
  /// Readings must be added in the order of their time.
  void add(const ClockReading& reading);
  [[nodiscard]] int64_t to_monotonic(uint64_t time) const;

 private:
  static constexpr size_t kMostReadings = 256;  ///< of the last minutes: no record comes later

  std::deque<ClockReading> readings_;
};

}  // namespace redline::cupti
