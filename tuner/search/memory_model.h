// Which configurations fit in memory, and how much they take.
//
// A rank's peak is a line in the batch size: weights and optimizer states, and activations a
// sample. The slope differs by precision, the fixed part by what else a knob keeps; two trials show
// both well enough. Without a reading (--metric alone) or without a known limit, what ran and what
// ran out of memory bound the limit from both sides.
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

  /// That a configuration fits, 0..1.
  [[nodiscard]] double chance(const Config& config) const;
  /// The peak of the largest rank; nothing before a trial has shown one.
  [[nodiscard]] std::optional<double> expected_bytes(const Config& config) const;
  [[nodiscard]] std::optional<uint64_t> limit_bytes() const;

 private:
  struct Load {
    double batch = 1;
    double workers = 0;
    double in_flight = 0;  ///< samples that a loader keeps ready
    std::vector<size_t>
        factors;  ///< of parameters that scale the slope; the next one the fixed part
  };
  [[nodiscard]] Load load(const Config& config) const;
  [[nodiscard]] double log_peak(const std::vector<double>& parameters, const Load& load) const;
  void fit();
  void bound();

  const Space& space_;
  const SearchSettings& settings_;
  const History& history_;
  std::vector<Prior> priors_;
  std::vector<size_t> terms_;  ///< by knob: the first of its values'; 0: none
  bool has_readings_ = false;
  std::vector<std::vector<double>> members_;
  Prior limit_;  ///< logarithm
  struct Bounds {
    double low, high;  ///< of the limit's logarithm: what ran, what did not
    double weight;
  };
  std::vector<Bounds> bounds_;  ///< by member
};

}  // namespace redline::tuner
