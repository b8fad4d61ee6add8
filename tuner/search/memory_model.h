// Predicts which configurations fit in memory, and how much memory they take.
//
// The peak memory of a rank is a straight line over the batch size: a fixed part (weights,
// optimizer states) and a slope (activations per sample). The slope depends on the precision; the
// fixed part depends on other knobs, such as cudnn_benchmark with its workspaces. Two trials show
// both well enough. One does if its ranks told what they held between steps. If trials report no
// memory (--metric alone) or the limit is unknown, the trials that ran and those that ran out of
// memory bound the limit from both sides.
#pragma once

#include <optional>
#include <vector>

#include "tuner/search/fit.h"
#include "tuner/search/strategy.h"

namespace redline::tuner {

/// Of a GPU's memory; above this share the allocator begins to thrash.
constexpr double kThrashing = 0.968;

class MemoryModel {
 public:
  /// All arguments must outlive the model.
  MemoryModel(const Space& space, const SearchSettings& settings, const History& history);

  /// The probability that a configuration fits, 0..1.
  [[nodiscard]] double chance(const Config& config) const;
  /// The peak memory of the largest rank; nullopt before a trial has reported one.
  [[nodiscard]] std::optional<double> expected_bytes(const Config& config) const;
  /// Whether a GPU's memory is expected to be so full that its allocator slows each step.
  [[nodiscard]] bool is_nearly_full(const Config& config) const;
  /// The user's limit, else the memory that the first trial to run saw; nullopt if neither is
  /// known.
  [[nodiscard]] std::optional<uint64_t> limit_bytes() const;

 private:
  struct Load {
    double batch = 1;
    double workers = 0;
    double in_flight = 0;  ///< samples that the loader keeps ready
    /// Parameters that scale the slope. The parameter after each of them scales the fixed part.
    std::vector<size_t> factors;
  };
  [[nodiscard]] Load load(const Config& config) const;
  [[nodiscard]] double log_peak(const std::vector<double>& parameters, const Load& load) const;
  /// Whether the trial tells how much memory the training took. If no rank reported, that of the
  /// processes tells nothing about a GPU's, and little if nothing limits it.
  [[nodiscard]] bool has_reading(const FinishedTrial& trial) const;
  /// Of the logarithm of the fixed part.
  [[nodiscard]] Prior prior_of_fixed(double least_peak) const;
  /// What a trial took, in bytes and as a logarithm.
  struct Reading {
    Load load;
    double peak, log_peak;
  };
  [[nodiscard]] std::vector<Reading> readings() const;
  /// Gives each knob that moves memory its parameters.
  void add_knobs();
  void set_fixed_priors(const std::vector<Reading>& readings);
  void fit();
  void bound();

  const Space& space_;
  const SearchSettings& settings_;
  const History& history_;
  std::vector<Prior> priors_;
  std::vector<size_t> terms_;  ///< for each knob the parameter of its first value; 0: none
  bool has_readings_ = false;  ///< a trial has reported its memory
  std::vector<std::vector<double>> members_;  ///< parameters of each plausible fit
  /// Between which logarithms the limit lies if one of the plausible fits is right.
  struct Bounds {
    double low, high;  ///< the largest peak that ran, and the smallest that did not
    double weight;     ///< how plausible the fit is, given what ran and what did not
    Prior limit;       ///< logarithm of the limit, before any trial
  };
  std::vector<Bounds> bounds_;  ///< one for each of members_
};

}  // namespace redline::tuner
