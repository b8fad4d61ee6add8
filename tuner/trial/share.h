// --parallel: what each of several trials that run side by side may use of the machine.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "tuner/space/machine.h"

namespace redline::tuner {

/// The default is the whole machine.
struct Share {
  std::vector<std::string> gpus;  ///< for CUDA_VISIBLE_DEVICES; empty: as it is
  std::vector<int> cores;         ///< affinity; empty: as it is

  [[nodiscard]] bool whole() const { return gpus.empty() && cores.empty(); }
  /// "GPU 0, 1; cores 0-3"
  [[nodiscard]] std::string text() const;
};

/// What this process may use, by name and number.
struct Devices {
  std::vector<std::string> gpus;  ///< as CUDA_VISIBLE_DEVICES names them
  std::vector<int> cores;
};
[[nodiscard]] Devices detect_devices();

/// `parallel` shares of the same size, neighbouring GPUs and cores together; what is left over
/// stays idle, so that all trials have the same. One share is the whole machine. Without a GPU the
/// cores decide how many there can be.
[[nodiscard]] tl::expected<std::vector<Share>, std::string> split(const Devices& devices,
                                                                  int parallel);

/// The machine as a trial in `share` sees it.
[[nodiscard]] Machine machine_of(const Share& share, Machine machine);

}  // namespace redline::tuner
