// What the charts of a study show, as values, so that its HTML page and the viewer draw the same.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/search/frontier.h"
#include "tuner/search/history.h"

namespace redline::tuner {

/// A trial as a point of a chart.
struct TrialMark {
  int64_t trial = 0;
  double x = 0;                ///< batch size, or place in the search
  std::optional<double> rate;  ///< samples a second; nullopt: it failed
  double low = 0;              ///< of the 95 % interval of `rate`
  double high = 0;             ///< not above `low` if no interval is known
  bool is_best = false;        ///< the best of its batch size, or of all trials so far
  bool is_disturbed = false;   ///< something else made it look slower than it is
  std::string hint;            ///< "batch size 64, trial 3: 1,204 samples/s (1,190 to 1,218)"
};

/// The trials of one stratum, in which the knobs that change a rank's memory (precision, layout)
/// are equal.
struct BatchSeries {
  std::string name;              ///< "amp bf16, channels_last on"
  std::vector<TrialMark> marks;  ///< by batch size; failed ones ran out of memory
  Frontier frontier;
  double best_rate = 0;
};

/// The fastest stratum first. Empty if no trial has a batch size.
[[nodiscard]] std::vector<BatchSeries> batch_series(const History& history);

/// Every trial in the order of the search.
[[nodiscard]] std::vector<TrialMark> convergence(const History& history);

/// How much a knob mattered by itself, in configurations that differ in nothing else. Of several
/// such sets it is the one in which most values ran, then the fastest.
struct KnobEffect {
  std::string knob;
  std::vector<std::pair<std::string, double>> rate_by_value;  ///< mean of its runs, best first

  /// By what share (0..1) the worst value that runs is slower than the best.
  [[nodiscard]] double at_stake() const;
};
/// The most important first; knobs that were never changed alone are left out.
[[nodiscard]] std::vector<KnobEffect> knob_effects(const History& history, const Space& space);

}  // namespace redline::tuner
