// What judge_run() looks for. Each function finds one kind of cause, in ranks whose blocks have the
// same steps.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trace/run/verdict.h"

namespace redline::trace {

[[nodiscard]] std::vector<RunSegment> level_segments(const RankRuns& ranks);

[[nodiscard]] std::vector<RunFinding> find_slowdowns(const RankRuns& ranks,
                                                     const std::vector<RunSegment>& segments);
[[nodiscard]] std::vector<RunFinding> find_uneven_ranks(const RankRuns& ranks,
                                                        const std::vector<RunSegment>& segments);
/// `slow` has one entry for each slow step, of the rank that caused it.
[[nodiscard]] std::vector<RunFinding> find_part_losses(const RankRuns& ranks,
                                                       const std::vector<SlowStep>& slow);
[[nodiscard]] std::vector<RunFinding> find_spread(const RankRuns& ranks,
                                                  const std::vector<RunSegment>& segments);
[[nodiscard]] std::vector<RunFinding> find_warm_up(const RankRuns& ranks);
[[nodiscard]] std::vector<RunFinding> find_memory_growth(const RankRuns& ranks);
[[nodiscard]] std::vector<RunFinding> find_lack_of_cores(const RankRuns& ranks);
[[nodiscard]] std::vector<RunFinding> find_same_samples(const RankRuns& ranks);
[[nodiscard]] std::vector<RunFinding> find_ends(const RankRuns& ranks, int64_t now_ns);

/// Says of findings whether other processes had the cores, and drops those that
/// find_lack_of_cores() tells already.
void explain_by_cores(std::vector<RunFinding>& findings, const RankRuns& ranks,
                      const std::vector<RunSegment>& segments, const std::vector<SlowStep>& slow);

/// Whether time in the part is the work itself, and so no finding.
[[nodiscard]] bool is_work(LogPart part);
/// The share of the time for which all ranks wait for each other, also those that are late; nullopt
/// if that is not worth a finding.
[[nodiscard]] std::optional<double> common_wait_share(const RankRuns& ranks);
/// Sums of a rank's usual steps in the blocks from `from_step` up to `to_step`.
[[nodiscard]] StepSums usual_between(const RankRun& rank, int64_t from_step, int64_t to_step);
/// The length of a step as it usually was in the warm-up; 0 if that is shorter than a block. Its
/// first steps, which are much longer, do not count.
[[nodiscard]] double warm_up_step_ns(const RankRun& rank);
[[nodiscard]] bool all_see(const RankRuns& ranks, LogPart part);
/// The host of the ranks `numbers`, if all have the same one and other ranks have another; else
/// empty.
[[nodiscard]] std::string host_of(const RankRuns& ranks, const std::vector<int>& numbers);
/// For each rank the share of its samples that count: samples that ranks share count once.
[[nodiscard]] std::vector<double> counted_shares(const RankRuns& ranks);
/// The first rank that trained to the end, or nearly so: others may have died or left long before.
[[nodiscard]] const RankRun& lasting_rank(const RankRuns& ranks);
/// The sum of the time of all ranks.
[[nodiscard]] double total_ns(const RankRuns& ranks);

}  // namespace redline::trace
