// Trials that have ended, for tests of what a search or a study makes of them.
#pragma once

#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "tuner/search/history.h"

namespace redline::tuner {

/// `half` is half of the interval's width.
[[nodiscard]] inline TrialResult ran_at(double rate, double half = 0) {
  TrialResult result;
  result.outcome = Outcome::kOk;
  result.throughput = Throughput{.samples_per_s = rate, .low = rate - half, .high = rate + half};
  return result;
}

[[nodiscard]] inline TrialResult ended_with(Outcome outcome) {
  TrialResult result;
  result.outcome = outcome;
  return result;
}

inline void add_trial(History& history, Config config, TrialResult result, std::string why = "") {
  history.add({.id = std::ssize(history.trials()) + 1,
               .config = std::move(config),
               .why = std::move(why),
               .result = std::move(result)});
}

/// Trials whose results a test changes after it has added them.
class TrialList {
 public:
  TrialResult& add(Config config, TrialResult result, std::string why = "") {
    return trials_
        .emplace_back(FinishedTrial{.id = std::ssize(trials_) + 1,
                                    .config = std::move(config),
                                    .why = std::move(why),
                                    .result = std::move(result)})
        .result;
  }
  [[nodiscard]] TrialResult& first() { return trials_.front().result; }
  [[nodiscard]] TrialResult& last() { return trials_.back().result; }
  [[nodiscard]] History history(const Space& space,
                                Objective objective = Objective::kSamplesPerSecond) const {
    History history(space, objective);
    for (const FinishedTrial& trial : trials_) history.add(trial);
    return history;
  }

 private:
  std::vector<FinishedTrial> trials_;
};

}  // namespace redline::tuner
