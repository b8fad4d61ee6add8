// Which logs are of one run, and of its last start.
#pragma once

#include <vector>

#include "trace/run/rank_run.h"

namespace redline::trace {

/// Whether the job was started again without the rank of `log`, as torchrun does with fewer nodes,
/// or whether the rank has made no step since. `newest` is the log of the run that began last. Both
/// are a RankRun or a StepLog. The clocks of two hosts may differ, so alone they do not tell
/// whether it was started again: `has_restarted` does, that a rank has an earlier log.
template <typename Log>
[[nodiscard]] bool is_of_another_start(const Log& log, const Log& newest, bool has_restarted) {
  return log.begin_ns < newest.begin_ns && log.last_sign_ns < newest.begin_ns &&
         (has_restarted || log.world_size != newest.world_size);
}

/// The ranks of each run, by number; the latest run comes last. Commands on two nodes may log one
/// run (trace/model/recorded_jobs.h). Of a rank that was started again, the last log counts, or, if
/// several ended well, the longest: a training, and not the test behind it. With it count only
/// ranks of the same start.
[[nodiscard]] std::vector<RankRuns> runs_of(RankRuns ranks);

}  // namespace redline::trace
