// CUPTI's clock laid on ours, whichever it is: unix time unless another user of CUPTI has given it
// a clock of its own, such as torch.profiler's counter of cycles.
//
// Giving CUPTI our clock instead would be one call, but that call makes later windows lose their
// first kernels, yields kernels without times from CUDA 12.6 to 13.0, and changes the times that
// others get. So both clocks are read at each flush, and times lie on the line in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "profiler/cupti/cupti_library.h"

namespace redline::cupti {

/// One moment, by both.
struct ClockReading {
  uint64_t cupti = 0;
  int64_t monotonic_ns = 0;
};
[[nodiscard]] ClockReading read_clocks(const Library& library);

class CuptiClock {
 public:
  /// In the order of their time.
  void add(const ClockReading& reading);
  [[nodiscard]] int64_t to_monotonic(uint64_t time) const;

 private:
  static constexpr size_t kMostReadings = 256;  ///< of the last minutes: records come sooner

  std::deque<ClockReading> readings_;
};

}  // namespace redline::cupti
