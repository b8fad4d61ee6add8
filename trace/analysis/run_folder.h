// The step logs of a run, read and judged.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "trace/analysis/run_verdict.h"
#include "trace/read/reader.h"

namespace redline::trace {

/// The step logs that `paths` stand for: the paths that end in kStepLogSuffix, and those in the
/// paths that are folders. Empty where there is none.
[[nodiscard]] std::vector<std::string> step_logs_of(const std::vector<std::string>& paths);

/// Those of `paths` that traces are to be read of. A folder with step logs may have no traces, but
/// other JSON files; so there only *.pt.trace.json files count.
[[nodiscard]] std::vector<std::string> trace_paths_of(std::vector<std::string> paths);

/// What each of these logs comes to; several threads read them. Fails where one cannot be read.
[[nodiscard]] tl::expected<std::vector<RankRun>, ReadError> read_rank_runs(
    const std::vector<std::string>& logs);

/// The verdict on these logs, as of now. nullopt if none of them has a step.
[[nodiscard]] tl::expected<std::optional<RunVerdict>, ReadError> read_run(
    const std::vector<std::string>& logs);

}  // namespace redline::trace
