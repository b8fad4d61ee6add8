// What was measured on the machine that a trace comes from, if that is this machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace redline::trace {

struct MeasuredPeaks {
  std::string model;  ///< of the processor
  int cores = 0;
  double fp32 = 0, fp64 = 0;  ///< 10^12 operations a second
  std::optional<double> bf16;
  double gb_per_s = 0;
};

/// By `redline doctor --measure`, on a host of this name with so many usable cores.
[[nodiscard]] std::optional<MeasuredPeaks> measured_peaks(const std::string& host, int64_t cores);

}  // namespace redline::trace
