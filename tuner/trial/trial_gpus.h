// The GPUs that a trial may use: which they are, the energy that they took, and whether their
// memory is free again afterwards. NVML tells all of it from outside the trial's processes; reading
// it inside the job would need a CUDA context, which takes memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "machine/nvml/nvml_library.h"
#include "tuner/trial/trial.h"

namespace redline::tuner {

class TrialGpus {
 public:
  /// `visible` is the trial's CUDA_VISIBLE_DEVICES; nullopt: all GPUs. As in CUDA, GPUs named after
  /// an unknown one are not visible. Numbers are NVML's, which are CUDA's if all GPUs are of one
  /// kind or CUDA_DEVICE_ORDER is PCI_BUS_ID.
  explicit TrialGpus(const std::optional<std::string>& visible,
                     const std::string& library = "libnvidia-ml.so.1");
  ~TrialGpus();
  TrialGpus(const TrialGpus&) = delete;
  TrialGpus& operator=(const TrialGpus&) = delete;
  TrialGpus(TrialGpus&&) = delete;
  TrialGpus& operator=(TrialGpus&&) = delete;

  [[nodiscard]] size_t count() const { return gpus_.size(); }
  /// The GPU's name or number as in CUDA_VISIBLE_DEVICES.
  [[nodiscard]] const std::string& name(size_t gpu) const { return gpus_[gpu].name; }

  /// Bytes in use on each GPU; nullopt for one that does not tell.
  [[nodiscard]] std::vector<std::optional<uint64_t>> memory_used() const;
  /// The ids of the processes that compute on a GPU and that this process can see.
  [[nodiscard]] std::vector<unsigned> holders(size_t gpu) const;

  struct Power {
    /// Sum of the GPUs' energy counters, which began when the driver was loaded.
    double joules = 0;
    double watts = 0;  ///< power of the GPUs that have no such counter
  };
  /// nullopt if there is no GPU, or if one does not tell its energy or power.
  [[nodiscard]] std::optional<Power> power() const;

 private:
  struct Gpu {
    std::string name;
    nvmlDevice_t device;
    /// Decided once, because a sum that changes between the two kinds would jump.
    bool counts_energy;
  };
  [[nodiscard]] bool add(const std::string& name, unsigned count);
  [[nodiscard]] std::optional<double> joules(nvmlDevice_t device) const;

  nvml::Library library_;
  bool ready_ = false;
  std::vector<Gpu> gpus_;
};

class EnergyMeter {
 public:
  void add(int64_t time_ns, const TrialGpus::Power& power);

  /// Joules between two times, by linear interpolation; nullopt if the readings do not span both.
  [[nodiscard]] std::optional<double> between(int64_t begin_ns, int64_t end_ns) const;

 private:
  struct Reading {
    int64_t time_ns;
    double joules;
    double watts;
  };
  [[nodiscard]] double at(int64_t time_ns) const;

  std::vector<Reading> readings_;
  double integral_ = 0;  // joules so far of the GPUs that only tell their power
};

/// The interval is that of `rate`, widened because the GPUs' counters only change every 0.1 s of
/// the measured `seconds`.
[[nodiscard]] Throughput samples_per_joule(double joules_per_sample, const Throughput& rate,
                                           double seconds);

class GpuMemoryReturn {
 public:
  /// Reads the baseline. `gpus` must outlive this object.
  explicit GpuMemoryReturn(const TrialGpus& gpus) : gpus_(gpus), before_(gpus.memory_used()) {}

  /// Waits until the memory is free again, at most `patience` and not after StopRequest::kKill.
  /// Returns one sentence for each GPU whose memory is still held; empty if none is.
  [[nodiscard]] std::vector<std::string> wait(std::chrono::nanoseconds patience,
                                              const std::atomic<StopRequest>& stop) const;

 private:
  /// Bytes in use beyond the baseline on each GPU; 0 if NVML did not tell it then or now.
  [[nodiscard]] std::vector<uint64_t> kept() const;

  const TrialGpus& gpus_;
  std::vector<std::optional<uint64_t>> before_;
};

}  // namespace redline::tuner
