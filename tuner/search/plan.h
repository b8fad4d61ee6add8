// The order of a whole study: the defaults first, then the strategy's trials, one retry of a crash,
// and while there is still budget the confirmation of the finalists.
//
// A winner picked from many noisy trials looks better than it is. So the finalists and the defaults
// run again, interleaved, and only what they show together is reported.
#pragma once

#include <chrono>
#include <memory>

#include "tuner/search/estimate.h"
#include "tuner/search/history.h"
#include "tuner/search/strategy.h"

namespace redline::tuner {

struct Budget {
  std::chrono::nanoseconds time = std::chrono::minutes(10);
  int max_trials = 0;  ///< 0: as many as the time allows
};

class Plan {
 public:
  /// `space` and `strategy` must outlive the plan.
  Plan(const Space& space, const Strategy& strategy, const Budget& budget)
      : space_(space), strategy_(strategy), budget_(budget) {}

  /// The next trial, nothing when the study is finished. Depends on the history alone: time used
  /// is the sum of the trials' own.
  [[nodiscard]] std::optional<Proposal> next(const History& history) const;
  /// The next trial beside those that run, never one of them; nothing also where one of them must
  /// end first. The first trial, which shows the defaults, and the confirming ones run alone.
  [[nodiscard]] std::optional<Proposal> next(const History& history,
                                             const std::vector<Proposal>& running) const;

  /// How many more trials fit, by what they took so far; nothing before the first.
  [[nodiscard]] std::optional<int> trials_left(const History& history) const;

 private:
  const Space& space_;
  const Strategy& strategy_;
  Budget budget_;
};

/// The winner so far: among configurations that ran more than once the fastest, where there are any
/// besides the defaults, else the fastest of all. One that ever failed cannot win.
[[nodiscard]] std::optional<Config> best_config(const History& history);

}  // namespace redline::tuner
