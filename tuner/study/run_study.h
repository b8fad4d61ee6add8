// Runs a study to its end: asks the plan for a trial, runs it, keeps the result, and tells the
// observer.
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
  /// The trial is the last in `history`.
  virtual void trial_finished(const History& history) = 0;
};

enum class StudyEnd { kFinished, kStopped };

/// What a study runs with.
struct StudyParts {
  const Plan& plan;
  Study& study;
  History& history;  ///< what the study holds already
  Space& space;      ///< that of the plan and of the history: trials show what to leave out of it
  TrialSpec prototype = {};  ///< a trial without its id, configuration and directory
  TrialRunner run_trial;
  const std::atomic<StopRequest>& stop;
  Observer& observer;
  std::vector<Share> shares = {Share()};  ///< one trial runs in each
};

/// Goes on until the plan has no more trials or `stop` is set. An error comes from the study: if a
/// result cannot be recorded, no further trial runs. Other processes may run more trials of the
/// same study.
[[nodiscard]] Result<StudyEnd> run_study(StudyParts parts);

}  // namespace redline::tuner
