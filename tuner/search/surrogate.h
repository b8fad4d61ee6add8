// Predicts what configurations that were not measured would do: how fast they would be, and whether
// they would run at all. Both predictions are Gaussian processes over the knobs' values.
#pragma once

#include <functional>
#include <optional>

#include "tuner/search/gaussian_process.h"
#include "tuner/search/history.h"

namespace redline::tuner {

/// The coordinates of a configuration: numbers by their order of magnitude, choices by their place
/// in the list.
[[nodiscard]] Point point_of(const Space& space, const History& history, const Config& config);
[[nodiscard]] GaussianProcess::Shape first_shape(const Space& space);

/// Whether a configuration would end in a result. More of anything never needs less memory. So a
/// configuration that has at least as much of everything as one that failed is taken to fail, too.
class Feasibility {
 public:
  Feasibility(const Space& space, const History& history);
  /// The probability that it runs, 0..1.
  [[nodiscard]] double chance(const Config& config) const;

 private:
  const Space& space_;
  const History& history_;
  std::vector<Point> points_;
  std::vector<bool> ran_;
  GaussianProcess process_;
};

/// Predicts how fast a configuration would be.
class RateModel {
 public:
  /// `history` must hold a trial that succeeded (asserted). Both arguments must outlive the model.
  RateModel(const Space& space, const History& history);

  [[nodiscard]] double log_rate(const Config& config) const;
  /// The expected gain, as a share, over the best measured configuration. The best is chosen by the
  /// model's rate, because its measured rate may be that of a lucky run.
  [[nodiscard]] double expected_gain(const Config& config) const;

 private:
  const Space& space_;
  const History& history_;
  double usual_;  ///< mean of the logarithms of all rates
  GaussianProcess process_;
  double best_;
};

struct Worth {
  double least_gain;    ///< the least expected gain times the chance that it runs
  double least_chance;  ///< the least chance that it runs
};
/// The configuration with the largest expected gain among those that differ from one of the fastest
/// in at most two knobs; nullopt if none is worth a trial. Configurations that `may_run` refuses
/// are left out.
[[nodiscard]] std::optional<Config> most_promising(
    const Space& space, const History& history, const Worth& worth,
    const std::function<bool(const Config&)>& may_run);

}  // namespace redline::tuner
