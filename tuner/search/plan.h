// The order of a whole study: the defaults first, then the trials that the strategy asks for, with
// one retry of a crash, and then the confirmation of the finalists. What that leaves of the budget
// goes to the strategy again.
//
// A winner picked from many noisy trials looks better than it is, because luck is picked with it.
// So part of the budget is kept for running the finalists and the defaults again, in turns, and
// only what these runs show together is reported. Measuring each trial longer instead was rejected,
// because a longer run does not reduce the noise between two starts of a job.
#pragma once

#include <chrono>

#include "tuner/search/estimate.h"
#include "tuner/search/history.h"
#include "tuner/search/strategy.h"

namespace redline::tuner {

struct Budget {
  std::chrono::nanoseconds time = std::chrono::minutes(10);
  int max_trials = 0;  ///< 0: as many as the time allows
  /// The search ends when the best so far is within this share of what its strategy thinks
  /// possible.
  std::optional<double> target = {};
};

class Plan {
 public:
  /// `space` and `strategy` must outlive the plan.
  Plan(const Space& space, const Strategy& strategy, const Budget& budget,
       std::optional<uint64_t> memory_limit_bytes = {})
      : space_(space),
        strategy_(strategy),
        budget_(budget),
        memory_limit_bytes_(memory_limit_bytes) {}

  /// The next trial; nullopt when the study is finished. It depends on the history alone, also for
  /// the time used, which is the sum of the trials' times.
  [[nodiscard]] std::optional<Proposal> next(const History& history) const;
  /// The same while the trials `running` run. It is never one of those, and also nullopt if one of
  /// them must end first. The first trial, which shows the defaults, and confirming trials run
  /// alone.
  [[nodiscard]] std::optional<Proposal> next(const History& history,
                                             const std::vector<Proposal>& running) const;

  /// Sentences that say why the study ended before its budget was used, or at --target, or what the
  /// budget left unconfirmed or which choices of --knob untried; empty if none of these. With a
  /// target they also say what more time could bring. `known` trials were there when the search
  /// went on: if the budget had no room for another one, they say that.
  [[nodiscard]] std::string why_ended(const History& history, size_t known = 0) const;

  /// How many more trials fit in the budget, by the time that trials took so far; nullopt before
  /// the first.
  [[nodiscard]] std::optional<int> trials_left(const History& history) const;

 private:
  /// Strategy::possible_gain() when it was last asked for a trial, so that confirming what it found
  /// neither reaches a target nor loses it again; nullopt if too few trials ran.
  [[nodiscard]] std::optional<double> possible_gain(const History& history) const;
  [[nodiscard]] bool reached_target(const History& history) const;
  [[nodiscard]] std::string used_before(const History& history) const;

  const Space& space_;
  const Strategy& strategy_;
  Budget budget_;
  std::optional<uint64_t> memory_limit_bytes_;
};

/// The winner so far: the fastest of the configurations that ran once more to be confirmed or, if
/// only the defaults did, of all. A configuration that ever failed cannot win.
[[nodiscard]] std::optional<Config> best_config(const History& history);

/// A sentence about a trial that was faster than the interval of the winner, if the search ended
/// before a confirming trial ran its configuration; else empty.
[[nodiscard]] std::string unconfirmed_text(const History& history);

}  // namespace redline::tuner
