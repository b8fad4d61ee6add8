// Runs a study to its end: asks the plan, runs the trial, keeps the result, tells who watches.
#pragma once

#include <atomic>

#include "tuner/search/plan.h"
#include "tuner/study/study.h"
#include "tuner/trial/trial.h"

namespace redline::tuner {

/// Whoever shows the search to people. Every call comes from the thread that runs the study.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void trial_started(int64_t id, const Proposal& proposal) = 0;
  virtual void trial_progress(int64_t id, const TrialProgress& progress) = 0;
  /// `history` holds the trial as its last.
  virtual void trial_finished(const History& history) = 0;
};

enum class StudyEnd { kFinished, kStopped };

/// Goes on from `history` (what the study holds already) until the plan has no more trials or
/// `stop` is set. An error is the study's: without a record of its result no further trial is run.
/// `prototype` is the trial without its id, configuration and directory. One trial runs in each of
/// `shares`; other processes may run more of the same study. `space` is the plan's and history's:
/// trials tell what to leave out of it.
[[nodiscard]] Result<StudyEnd> run_study(const Plan& plan, Study& study, History& history,
                                         Space& space, const TrialSpec& prototype,
                                         const TrialRunner& run_trial,
                                         const std::atomic<StopRequest>& stop, Observer& observer,
                                         const std::vector<Share>& shares = {Share()});

}  // namespace redline::tuner
