// The trials so far, in the order they ended: all that a strategy knows.
//
// Strategies are pure functions of the history (ask(history) says the next trial), so a resumed
// study, a replay of recorded sweeps and a live search take exactly the same path.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/space/space.h"
#include "tuner/trial/trial.h"

namespace redline::tuner {

/// What to measure next, and why in a word or two for the table ("batch at the limit").
struct Proposal {
  Config config;
  std::string why;
};

constexpr const char* kConfirm = "confirm";  ///< the `why` of confirming trials

struct FinishedTrial {
  int64_t id = 0;
  Config config;  ///< canonical
  std::string why;
  TrialResult result;

  [[nodiscard]] bool ok() const {
    return result.outcome == Outcome::kOk && result.throughput.has_value();
  }
  /// What the search compares, where ok(): of the objective.
  [[nodiscard]] const Throughput& score() const {
    return result.samples_per_joule ? *result.samples_per_joule : *result.throughput;
  }
  /// Ran out of what a smaller batch needs less of.
  [[nodiscard]] bool out_of_memory() const;
};

class History {
 public:
  explicit History(const Space& space, Objective objective = Objective::kSamplesPerSecond)
      : space_(&space), objective_(objective) {}

  void add(FinishedTrial trial);
  [[nodiscard]] const std::vector<FinishedTrial>& trials() const { return trials_; }
  [[nodiscard]] bool empty() const { return trials_.empty(); }

  /// The knob values the script itself uses, as the hook saw them; empty where it saw none.
  [[nodiscard]] const Config& defaults() const { return defaults_; }
  [[nodiscard]] Config canonical(const Config& config) const {
    return space_->canonical(config, defaults());
  }
  /// `config` completed with the script's own values.
  [[nodiscard]] Config effective(const Config& config) const;

  /// Trials of one configuration. A crash that was tried again counts only by its second run.
  [[nodiscard]] std::vector<const FinishedTrial*> runs_of(const Config& config) const;
  /// Each configuration that ran to an end, once, in the order of its first trial.
  [[nodiscard]] std::vector<Config> configs() const;
  /// A crash that deserves its one retry: the first of its kind, and not run again yet.
  [[nodiscard]] const FinishedTrial* crash_to_retry() const;
  /// Without those that were not even started.
  [[nodiscard]] int64_t out_of_memory_count() const;
  /// The time of all trials; of those that ran side by side each counts for its part.
  [[nodiscard]] std::chrono::nanoseconds time_used() const;
  [[nodiscard]] Objective objective() const { return objective_; }
  /// What TrialResult::throughput is: of a search for samples per joule still samples/s.
  [[nodiscard]] Objective rate() const;
  /// Some trials had others beside them; the confirming ones never have.
  [[nodiscard]] bool ran_side_by_side() const;

 private:
  const Space* space_;
  Objective objective_;
  std::vector<FinishedTrial> trials_;
  Config defaults_;
  std::vector<Config> canonical_;  // of each trial: asked for again and again
};

}  // namespace redline::tuner
