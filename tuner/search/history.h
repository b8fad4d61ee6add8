// The trials so far, in the order in which they ended. A strategy knows nothing else.
//
// A strategy is a pure function of the history: ask(history) names the next trial. It keeps no
// state of its own, so a resumed study, a replay of recorded sweeps and a live search take exactly
// the same path. Strategies that remember what they asked were rejected, because their state would
// have to be saved with the study and be right after a kill at any point.
#pragma once

#include <cassert>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tuner/space/space.h"
#include "tuner/trial/trial_result.h"

namespace redline::tuner {

/// What to measure next, and why in a word or two for the table ("batch at the limit").
struct Proposal {
  Config config;
  std::string why;
  std::optional<Expectation> expected = {};
};

constexpr const char* kConfirm = "confirm";  ///< the `why` of confirming trials
/// The `why` of a second run where the first was slower than its model thought possible.
constexpr const char* kOnceMore = "once more: slower than expected";

struct FinishedTrial {
  int64_t id = 0;
  Config config;  ///< canonical
  std::string why;
  TrialResult result;

  [[nodiscard]] bool ok() const {
    return result.outcome == Outcome::kOk && result.throughput.has_value();
  }
  /// The figure that the search compares: samples/s, or samples/J if that is the objective. The
  /// trial must be ok(), which is asserted.
  [[nodiscard]] const Throughput& score() const {
    assert(ok());
    return result.samples_per_joule ? *result.samples_per_joule : *result.throughput;
  }
  [[nodiscard]] bool confirms() const { return why == kConfirm; }
  /// Whether it ran out of something of which a smaller batch needs less.
  [[nodiscard]] bool out_of_memory() const;
};

/// Whether the number of its ranks is the job's. A trial that failed may have ended before all of
/// them had reported, or had shown which of them read the same samples.
[[nodiscard]] bool tells_ranks(const TrialResult& result);

/// Changes the space by what the trial has shown. Must be called before the trial is added to the
/// history.
void learn_from(const FinishedTrial& trial, Space& space);

/// The time that all trials took. Of N trials that ran side by side, each counts with 1/N of its
/// time.
[[nodiscard]] std::chrono::nanoseconds time_used(const std::vector<FinishedTrial>& trials);

class History {
 public:
  explicit History(const Space& space, Objective objective = Objective::kSamplesPerSecond)
      : space_(&space), objective_(objective) {}

  void add(FinishedTrial trial);
  /// Must be called if the space has changed and no trial is added.
  void refresh();
  [[nodiscard]] const std::vector<FinishedTrial>& trials() const { return trials_; }
  [[nodiscard]] bool empty() const { return trials_.empty(); }
  [[nodiscard]] const Space& space() const { return *space_; }

  /// The knob values that the script itself uses, as the hook saw them; empty if it saw none.
  [[nodiscard]] const Config& defaults() const { return defaults_; }
  [[nodiscard]] Config canonical(const Config& config) const {
    return space_->canonical(config, defaults());
  }
  /// That of the first trial, which is the script's own; needs a trial.
  [[nodiscard]] Config first_config() const { return canonical(trials_.front().config); }
  /// The result of the first trial that ran, or else of the first one. It tells what all trials
  /// have in common, such as ranks and the GPU's memory, which a trial that failed early may not
  /// have seen. Needs a trial.
  [[nodiscard]] const TrialResult& first_to_run() const;
  /// `config` completed with the script's own values.
  [[nodiscard]] Config effective(const Config& config) const;

  /// The trials of one configuration. If a crash was tried again, only the second run is among
  /// them.
  [[nodiscard]] std::vector<const FinishedTrial*> runs_of(const Config& config) const;
  /// Each configuration that ran to an end, once, in the order of its first trial.
  [[nodiscard]] std::vector<Config> configs() const;
  /// The configurations whose runs all succeeded.
  [[nodiscard]] std::vector<Config> configs_that_ran() const;
  /// A failure that deserves one retry and had none yet: the first crash of a configuration that
  /// may be chance, or a NaN loss of the defaults.
  [[nodiscard]] const FinishedTrial* crash_to_retry() const;
  /// How many trials ran out of memory; those that were not even started do not count.
  [[nodiscard]] int64_t out_of_memory_count() const;
  /// How many of them were risks that the search took, because others had run before.
  [[nodiscard]] int64_t failed_risks() const;
  [[nodiscard]] std::chrono::nanoseconds time_used() const { return tuner::time_used(trials_); }
  [[nodiscard]] Objective objective() const { return objective_; }
  /// The unit of TrialResult::throughput; a search for samples per joule still has samples/s there.
  [[nodiscard]] Objective rate() const;
  /// Whether some trials ran beside others. Confirming trials never do.
  [[nodiscard]] bool ran_side_by_side() const;

 private:
  /// What canonical() depends on, besides the defaults.
  struct Cuts {
    std::set<std::string> dropped;
    std::map<std::string, int64_t> most;
    std::optional<int64_t> samples_a_step;
    bool operator==(const Cuts&) const = default;
  };

  /// Whether another run may not have this failure.
  [[nodiscard]] bool may_be_chance(const FinishedTrial& trial) const;

  const Space* space_;
  Objective objective_;
  std::vector<FinishedTrial> trials_;
  Config defaults_;
  std::vector<Config> canonical_;  // by trial; kept because it is asked for again and again
  Cuts cuts_;                      // those that canonical_ has taken into account
};

}  // namespace redline::tuner
