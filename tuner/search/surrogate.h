// Predicts what configurations that were not measured would do: how fast they would be, and whether
// they would run at all. Both predictions are Gaussian processes over the knobs' values.
#pragma once

#include <functional>
#include <optional>

#include "tuner/search/gaussian_process.h"
#include "tuner/search/history.h"

namespace redline::tuner {

/// Numbers by their order of magnitude, choices by their place.
[[nodiscard]] Point point_of(const Space& space, const History& history, const Config& config);
[[nodiscard]] GaussianProcess::Shape first_shape(const Space& space);

/// Whether a configuration would end in a result. More of anything never needs less memory, so a
/// configuration with no less of anything than one that failed is taken to fail, too.
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

/// How fast it would be.
class RateModel {
 public:
  /// `history` must hold a trial that succeeded (asserted). Both arguments must outlive the model.
  RateModel(const Space& space, const History& history);

  [[nodiscard]] double log_rate(const Config& config) const;
  /// The expected gain, as a share, over the best measured configuration. That best is taken by the
  /// model's rate, not by the measured one, which may be a lucky run's.
  [[nodiscard]] double expected_gain(const Config& config) const;

 private:
  const Space& space_;
  const History& history_;
  double usual_;  ///< mean of the logarithms
  GaussianProcess process_;
  double best_;
};

struct Worth {
  double least_gain;    ///< expected gain times the chance that it runs
  double least_chance;  ///< that it runs
};
/// The configuration with the largest expected gain among those that differ from one of the fastest
/// in at most two knobs; nothing where none is worth a trial. Those that `may_run` refuses are left
/// out.
[[nodiscard]] std::optional<Config> most_promising(
    const Space& space, const History& history, const Worth& worth,
    const std::function<bool(const Config&)>& may_run);

}  // namespace redline::tuner
