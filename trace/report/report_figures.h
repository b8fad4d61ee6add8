// Figures that all forms of a report share.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "trace/report/report.h"

namespace redline::trace {

/// The average step of a run: the mean over ranks (rank_weights) of each rank's mean step.
struct MeanStep {
  int64_t mean_ns = 0;
  int64_t deviation_ns = 0;  ///< of all steps: within recordings and between them
  std::array<int64_t, kBreakdownPartCount> part_ns{};
};

[[nodiscard]] MeanStep mean_step(const Report& report);

/// How many GPUs the ranks compute on. Each rank's count as other ones, unless the traces of ranks
/// that use one each tell them apart; a rank without GPU work counts as one.
[[nodiscard]] int64_t count_gpus(const Report& report);

/// How well the GPUs are used: a mean over those that compute.
struct GpuGauge {
  const char* name;             ///< "GPU busy"
  std::optional<double> share;  ///< nullopt: not known
};

/// Empty without a GPU.
[[nodiscard]] std::vector<GpuGauge> gpu_gauges(const Report& report);

/// The index of the trace that the first finding is about; without findings, of the first trace.
[[nodiscard]] size_t advised_trace(const Report& report);

/// Of the rank that has most, in all its recordings.
[[nodiscard]] int64_t recorded_steps(const Report& report);

/// The first trace with work of a GPU; nullptr if none has any.
[[nodiscard]] const RankSummary* first_with_gpus(const std::vector<RankSummary>& traces);

/// The names of all GPUs that did some work, as far as they are known.
[[nodiscard]] std::set<std::string> gpu_names(const Report& report);

/// The first trace that count_in_means, the first of all if none does.
[[nodiscard]] const RankSummary& first_in_means(const Report& report);

/// Samples or tokens of a step over all ranks: each rank that knows says its own times the number
/// of ranks, so the mean of what they say. nullopt if none knows.
[[nodiscard]] std::optional<double> mean_count(const Report& report,
                                               std::optional<double> TraceFacts::*count);

/// Ranks whose traces are of several processes that do not say that they are of one recording.
[[nodiscard]] std::vector<int> ranks_of_several_processes(const Report& report);

/// Means over the traces in which phases can be told apart.
[[nodiscard]] std::optional<PhaseTimes> mean_phases(const Report& report);

}  // namespace redline::trace
