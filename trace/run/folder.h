// Finds the step logs of a run, reads them and judges the run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "trace/read/reader.h"
#include "trace/run/compare.h"
#include "trace/run/recent.h"
#include "trace/run/verdict.h"

namespace redline::trace {

/// The step logs that `paths` stand for: the paths that end in kStepLogSuffix, and those in the
/// paths that are folders. Empty if there are none.
[[nodiscard]] std::vector<std::string> step_logs_of(const std::vector<std::string>& paths);

/// Those of `paths` that hold traces. A folder with step logs need not have traces, and may have
/// other JSON files, so only *.pt.trace.json files count as traces in such a folder.
[[nodiscard]] std::vector<std::string> trace_paths_of(std::vector<std::string> paths);

/// The figures of these runs. Fails also if a run has too few steps. If some of the runs wrote
/// `traces`, the others do not count: `redline record` logs steps beside its traces, and of several
/// recordings in a folder only the traces of the latest count, too.
[[nodiscard]] tl::expected<std::vector<RunFigures>, ReadError> read_run_figures(
    const std::vector<std::string>& logs, const std::vector<std::string>& traces = {});

/// The verdict on the latest job of these logs, as of now. Logs that cannot be read are left out
/// and named in RunVerdict::unreadable_logs. nullopt if none of the others has a step. Fails if
/// there are logs and none of them can be read. `ended_run`: the command that gave its logs this
/// name is over. Then the verdict is on its job, and a rank of that name whose log has no end has
/// died, however short ago.
[[nodiscard]] tl::expected<std::optional<RunVerdict>, ReadError> read_run(
    const std::vector<std::string>& logs, const std::string& ended_run = "");

/// Completes the logs of `run` in `folder`, whose command ended with `exit_status` by a signal that
/// gave its processes no time to say so. Leaves out those that live, or that another machine has.
void note_end(const std::string& folder, const std::string& run, int exit_status);

/// Whether a step of this rank of `run` ended after `time_ns`, in any of its logs in `folder`.
[[nodiscard]] bool has_step_after(const std::string& folder, const std::string& run, int rank,
                                  int64_t time_ns);

/// What the job whose step logs are in `folder` and have the name `run` does right now.
[[nodiscard]] RunningJob read_running_job(const std::string& folder, const std::string& run);

}  // namespace redline::trace
