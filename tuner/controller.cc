#include "tuner/controller.h"

namespace redline::tuner {

Result<StudyEnd> run_study(const Plan& plan, Study& study, History& history,
                           const TrialSpec& prototype, const TrialRunner& run_trial,
                           const std::atomic<StopRequest>& stop, Observer& observer) {
  while (stop.load() == StopRequest::kNone) {
    const std::optional<Proposal> proposal = plan.next(history);
    if (!proposal) return StudyEnd::kFinished;

    const Result<int64_t> id = study.start(*proposal);
    if (!id) return tl::unexpected(id.error());
    observer.trial_started(*id, *proposal);

    TrialSpec spec = prototype;
    spec.id = *id;
    spec.config = proposal->config;
    spec.directory = study.trial_directory(*id);
    TrialResult result = run_trial(
        spec, stop, [&](const TrialProgress& progress) { observer.trial_progress(progress); });

    if (result.outcome == Outcome::kCancelled) {
      if (auto marked = study.interrupt(*id); !marked) return tl::unexpected(marked.error());
      return StudyEnd::kStopped;
    }
    if (auto kept = study.finish(*id, result); !kept) return tl::unexpected(kept.error());
    history.add(
        {.id = *id, .config = proposal->config, .why = proposal->why, .result = std::move(result)});
    observer.trial_finished(history);
  }
  return StudyEnd::kStopped;
}

}  // namespace redline::tuner
