// What repeated trials say together: a configuration's throughput, and a speed-up, with intervals.
//
// A trial's own interval covers the noise between its steps, not what differs from one start to
// the next (memory layout, clocks, neighbours). Where configurations ran more than once the spread
// between their runs is measured too, pooled over all of them because two or three runs of one say
// little, and the wider of the two decides.
#pragma once

#include <optional>

#include "tuner/history.h"

namespace redline::tuner {

/// Mean over a configuration's successful runs with its 95 % interval.
struct Estimate {
  Throughput throughput;
  int runs = 0;
  double relative_error = 0;  ///< standard error / mean
  double quantile = 1.96;     ///< of Student's t that made the interval
};

/// Relative standard deviation between runs of the same configuration.
struct RunSpread {
  double relative = 0;
  int degrees_of_freedom = 0;  ///< 0: no configuration ran twice
};

[[nodiscard]] RunSpread spread_between_runs(const History& history);

/// Nothing where the configuration never ran to a result, or one of its runs ran out of memory.
[[nodiscard]] std::optional<Estimate> estimate(const History& history, const Config& config,
                                               const RunSpread& spread);

struct Ratio {
  double value = 0;
  double low = 0;
  double high = 0;
};
/// numerator / denominator with its 95 % interval, by the delta method on the logarithms.
[[nodiscard]] Ratio ratio(const Estimate& numerator, const Estimate& denominator);

/// 97.5 % quantile of Student's t.
[[nodiscard]] double student_t(int degrees_of_freedom);

}  // namespace redline::tuner
