// The GPUs that a trial may use: which they are, the energy that they took, and whether their
// memory is free again afterwards. All by NVML, which sees them from outside the trial's processes;
// reading them inside the job would need a CUDA context, and its memory.
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

class EnergyMeter {
 public:
  void add(int64_t time_ns, const TrialGpus::Power& power);

  /// Joules by linear interpolation; nothing where the readings do not span both times.
  [[nodiscard]] std::optional<double> between(int64_t begin_ns, int64_t end_ns) const;

 private:
  struct Reading {
    int64_t time_ns;
    double joules;
    double watts;
  };
  [[nodiscard]] double at(int64_t time_ns) const;

  std::vector<Reading> readings_;
  double integral_ = 0;  // of the power of GPUs that count no energy
};

/// The interval is that of `rate`, wider by the pace of the GPUs' counters: 0.1 s of `seconds`.
[[nodiscard]] Throughput samples_per_joule(double joules_per_sample, const Throughput& rate,
                                           double seconds);

class GpuMemoryReturn {
 public:
  /// The baseline is read now. `gpus` must outlive this.
  explicit GpuMemoryReturn(const TrialGpus& gpus) : gpus_(gpus), before_(gpus.memory_used()) {}

  /// Waits at most `patience`, or until the user wants to go at once. What is still held, a
  /// sentence a GPU; empty: nothing.
  [[nodiscard]] std::vector<std::string> wait(std::chrono::nanoseconds patience,
                                              const std::atomic<StopRequest>& stop) const;

 private:
  /// In bytes beyond the baseline, a GPU each; 0 where NVML did not tell it then or now.
  [[nodiscard]] std::vector<uint64_t> kept() const;

  const TrialGpus& gpus_;
  std::vector<std::optional<uint64_t>> before_;
};

}  // namespace redline::tuner
