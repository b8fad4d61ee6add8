// What the machine offers, as far as it decides which knobs can matter.
#pragma once

#include <cstdint>
#include <optional>

namespace redline::tuner {

struct Machine {
  bool gpu = false;  ///< an NVIDIA GPU that CUDA_VISIBLE_DEVICES does not hide
  int gpus = 0;      ///< how many of them
  int cores = 1;     ///< that this process may use (its affinity)
  std::optional<uint64_t> memory_available_bytes;  ///< MemAvailable of /proc/meminfo
};

[[nodiscard]] Machine detect_machine();

}  // namespace redline::tuner
