// Energy that a trial's GPUs took between two moments, from readings that need not fall on them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tuner/trial/trial.h"
#include "tuner/trial/trial_gpus.h"

namespace redline::tuner {

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

}  // namespace redline::tuner
