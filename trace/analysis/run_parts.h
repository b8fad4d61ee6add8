// What judge_run() is made of: each function looks for one kind of cause, in ranks whose blocks
// have the same steps.
#pragma once

#include <vector>

#include "trace/analysis/run_verdict.h"

namespace redline::trace {

using RankRuns = std::vector<RankRun>;

constexpr double kLeastChange = 0.05;  // that is worth a finding

/// Mean time of a usual step over ranks, of each block; 0 where too few steps are usual.
[[nodiscard]] std::vector<double> block_levels(const RankRuns& ranks);
[[nodiscard]] std::vector<RunSegment> level_segments(const RankRuns& ranks);

[[nodiscard]] std::vector<RunFinding> find_slowdowns(const RankRuns& ranks,
                                                     const std::vector<RunSegment>& segments);
[[nodiscard]] std::vector<RunFinding> find_uneven_ranks(const RankRuns& ranks,
                                                        const std::vector<RunSegment>& segments);
/// `slow`: one a step, of the rank that it is to be said of.
[[nodiscard]] std::vector<RunFinding> find_part_losses(const RankRuns& ranks,
                                                       const std::vector<SlowStep>& slow);
[[nodiscard]] std::vector<RunFinding> find_spread(const RankRuns& ranks);
[[nodiscard]] std::vector<RunFinding> find_memory_growth(const RankRuns& ranks);
[[nodiscard]] std::vector<RunFinding> find_ends(const RankRuns& ranks, int64_t now_ns);

/// Sums of the usual steps of a rank from one step to another.
[[nodiscard]] StepSums usual_between(const RankRun& rank, int64_t from_step, int64_t to_step);
[[nodiscard]] bool all_see(const RankRuns& ranks, LogPart part);
/// The host of these ranks where they have one in common and others have another.
[[nodiscard]] std::string host_of(const RankRuns& ranks, const std::vector<int>& numbers);
/// Of the time of all ranks.
[[nodiscard]] double total_ns(const RankRuns& ranks);

}  // namespace redline::trace
