// Predicts which configurations fit in memory, and how much they take.
//
// A rank's peak is a line in the batch size: its fixed part is weights and optimizer states, its
// slope the activations of a sample. The slope differs by precision, the fixed part by what else a
// knob keeps in memory; two trials show both well enough. If trials do not tell their memory
// (--metric alone), or if the limit is unknown, the trials that ran and those that ran out of
// memory bound the limit from both sides.
#pragma once

#include <optional>
#include <vector>

#include "tuner/search/fit.h"
#include "tuner/search/strategy.h"

namespace redline::tuner {

class MemoryModel {
 public:
  /// All must outlive the model.
  MemoryModel(const Space& space, const SearchSettings& settings, const History& history);

  /// The probability that a configuration fits, 0..1.
  [[nodiscard]] double chance(const Config& config) const;
  /// The expected peak of the largest rank; nullopt before a trial has shown one.
  [[nodiscard]] std::optional<double> expected_bytes(const Config& config) const;
  [[nodiscard]] std::optional<uint64_t> limit_bytes() const;

 private:
  struct Load {
    double batch = 1;
    double workers = 0;
    double in_flight = 0;  ///< samples that a loader keeps ready
    std::vector<size_t>
        /// Indices of parameters that scale the slope; the parameter behind each scales the fixed
        /// part.
        factors;
  };
  [[nodiscard]] Load load(const Config& config) const;
  [[nodiscard]] double log_peak(const std::vector<double>& parameters, const Load& load) const;
  void fit();
  void bound();

  const Space& space_;
  const SearchSettings& settings_;
  const History& history_;
  std::vector<Prior> priors_;
  std::vector<size_t> terms_;  ///< by knob: index of its first value's parameter; 0: none
  bool has_readings_ = false;
  std::vector<std::vector<double>> members_;
  Prior limit_;  ///< of the logarithm of the limit
  struct Bounds {
    /// Bounds of the limit's logarithm: the largest peak that ran, and the smallest that did not.
    double low, high;
    double weight;
  };
  std::vector<Bounds> bounds_;  ///< by member
};

}  // namespace redline::tuner
