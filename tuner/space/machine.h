// What the machine offers, as far as it decides which knobs can matter.
#pragma once

#include <string>

namespace redline::tuner {

struct Machine {
  bool gpu = false;  ///< an NVIDIA GPU that CUDA_VISIBLE_DEVICES does not hide
  int gpus = 0;      ///< how many of them
  int cores = 1;     ///< that this process may use, by affinity and cgroup
};

/// `root` is where proc, sys and dev are: "" for this machine.
[[nodiscard]] Machine detect_machine(const std::string& root = "");

}  // namespace redline::tuner
