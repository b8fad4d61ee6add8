// What repeated trials tell together: a configuration's throughput and a speed-up, each with an
// interval.
//
// A trial's own interval covers the noise between its steps, but not what differs from one start to
// the next (memory layout, clocks, neighbours). If configurations ran more than once, the spread
// between runs is measured as well. It is pooled over all configurations, because two or three runs
// of one tell little. The wider of the two intervals decides.
#pragma once

#include <optional>

#include "base/statistics.h"
#include "tuner/search/history.h"

namespace redline::tuner {

/// A run below this share of another run of its configuration was slowed by a multiple.
constexpr double kSlowedDown = 0.7;

/// The mean over a configuration's successful runs, with its 95 % interval.
struct Estimate {
  Throughput score;       ///< of the figure that the search compares
  Throughput throughput;  ///< samples/s; equal to `score` except in a search for samples per joule
  std::optional<double> joules_per_sample = {};
  int runs = 0;
  bool has_confirming_run = false;  ///< among `runs`
  bool was_slow_once = false;  ///< by a multiple, at first, and not as the first trial of the study
  double relative_error = 0;   ///< standard error / mean
  double quantile = kNormalQuantile;  ///< the quantile of Student's t for the interval
  double step_error = 0;              ///< relative_error by the noise between steps alone
  /// How far off the figures of --metric may be because they were printed with few digits, as a
  /// share of them. Runs that are equal only because of it do not make the interval narrower.
  double rounding = 0;
};

/// Relative standard deviation between runs of the same configuration.
struct RunSpread {
  double relative = 0;
  int degrees_of_freedom = 0;  ///< 0: no configuration ran twice
  /// The same without what all runs of a round have in common (two-way analysis of variance of the
  /// logarithms). The finalists run in turns and a round is short, so a machine that slowly gets
  /// faster or slower does not count as a difference between configurations.
  double within_round = 0;
  int within_round_degrees = 0;
};

[[nodiscard]] RunSpread spread_between_runs(const History& history);

/// nullopt if the configuration has no successful run, or if one of its runs failed.
[[nodiscard]] std::optional<Estimate> estimate(const History& history, const Config& config,
                                               const RunSpread& spread);

struct Ratio {
  double value = 0;
  double low = 0;
  double high = 0;
};
/// numerator / denominator with its 95 % interval, by the delta method on the logarithms. If both
/// ran in the same number of rounds, drift from round to round does not widen the interval.
[[nodiscard]] Ratio ratio(const Estimate& numerator, const Estimate& denominator,
                          const RunSpread& spread);

}  // namespace redline::tuner
