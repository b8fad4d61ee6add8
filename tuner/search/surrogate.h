// What configurations that were not measured would do, guessed from those that were: how fast they
// would be, and whether they would run at all.
#pragma once

#include <functional>
#include <optional>

#include "tuner/search/gaussian_process.h"
#include "tuner/search/history.h"

namespace redline::tuner {

/// Whether a configuration would end in a result. More of anything needs no less memory, so what
/// has more of everything than one that failed is thought to fail too.
class Feasibility {
 public:
  Feasibility(const Space& space, const History& history);
  /// 0..1.
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
  /// `history` holds at least one trial that succeeded.
  RateModel(const Space& space, const History& history);

  [[nodiscard]] double log_rate(const Config& config) const;
  /// Over the best of the configurations measured (by the model, not by a lucky run), as a share.
  [[nodiscard]] double expected_gain(const Config& config) const;

 private:
  const Space& space_;
  const History& history_;
  double usual_;  ///< mean of the logarithms
  GaussianProcess process_;
  double best_;
};

struct Worth {
  double least_gain;    ///< expected, the chance of a failure counted in
  double least_chance;  ///< that it runs
};
/// The configuration with the largest expected gain among those that differ from one of the fastest
/// in at most two knobs; nothing where none is worth a trial. `may_run` has the last word.
[[nodiscard]] std::optional<Config> most_promising(
    const Space& space, const History& history, const Worth& worth,
    const std::function<bool(const Config&)>& may_run);

}  // namespace redline::tuner
