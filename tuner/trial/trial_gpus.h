// The GPUs that a trial may use, as NVML sees them from outside: memory in use, who holds it, and
// the energy they have taken.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "machine/nvml/nvml_library.h"

namespace redline::tuner {

class TrialGpus {
 public:
  /// `visible` is CUDA_VISIBLE_DEVICES of the trial; nothing: all GPUs. As in CUDA, what comes
  /// after an unknown one is not visible. Numbers are taken as NVML counts, which is CUDA's order
  /// where all GPUs are of one kind or CUDA_DEVICE_ORDER is PCI_BUS_ID.
  explicit TrialGpus(const std::optional<std::string>& visible,
                     const std::string& library = "libnvidia-ml.so.1");
  ~TrialGpus();
  TrialGpus(const TrialGpus&) = delete;
  TrialGpus& operator=(const TrialGpus&) = delete;
  TrialGpus(TrialGpus&&) = delete;
  TrialGpus& operator=(TrialGpus&&) = delete;

  [[nodiscard]] size_t count() const { return gpus_.size(); }
  /// As CUDA_VISIBLE_DEVICES has it.
  [[nodiscard]] const std::string& name(size_t gpu) const { return gpus_[gpu].name; }

  /// In bytes, a GPU each, where it is told.
  [[nodiscard]] std::vector<std::optional<uint64_t>> memory_used() const;
  /// Processes that compute on a GPU, as far as they are visible from here.
  [[nodiscard]] std::vector<unsigned> holders(size_t gpu) const;

  struct Power {
    double joules = 0;  ///< counted by all GPUs since the driver was loaded
    double watts = 0;   ///< of those that count no energy
  };
  /// Nothing where one of them does not tell what it told at first, or there is none.
  [[nodiscard]] std::optional<Power> power() const;

 private:
  struct Gpu {
    std::string name;
    nvmlDevice_t device;
    bool counts_energy;  ///< once and for all: a sum of both kinds would jump
  };
  [[nodiscard]] bool add(const std::string& name, unsigned count);
  [[nodiscard]] std::optional<double> joules(nvmlDevice_t device) const;

  nvml::Library library_;
  bool ready_ = false;
  std::vector<Gpu> gpus_;
};

}  // namespace redline::tuner
