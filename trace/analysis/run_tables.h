// Treats all traces of a run as one: how much each rank counts in a mean, tables in which rows of
// the same name are summed, and how long each name took in each step (the samples that tell noise
// from change).
//
// A job that recorded several times left several traces for each rank.
#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "trace/analysis/analysis.h"

namespace redline::trace {

/// The indices of the traces of each rank (rank_numbers), in order, of those that count_in_means.
[[nodiscard]] std::vector<std::vector<size_t>> recordings_of_ranks(
    std::span<const RankSummary* const> traces);

/// The weight of each trace in a mean: each rank counts the same, and within a rank each step does.
/// The weights sum to 1; if no trace has steps, all are 0.
[[nodiscard]] std::vector<double> rank_weights(const std::vector<RankSummary>& traces);

[[nodiscard]] std::vector<KernelRow> merged_kernels(const std::vector<RankSummary>& traces);
[[nodiscard]] std::vector<OperatorRow> merged_operators(const std::vector<RankSummary>& traces);
[[nodiscard]] std::vector<CopyRow> merged_copies(const std::vector<RankSummary>& traces);
/// Sums rows of the same name, group, kind and message size.
[[nodiscard]] std::vector<Collective> merged_collectives(const std::vector<RankSummary>& traces);

/// nullopt if one of them is not known.
[[nodiscard]] std::optional<int64_t> sum_if_known(std::optional<int64_t> left,
                                                  std::optional<int64_t> right);

/// `ns` and `counts` have one entry a step, each a mean over the ranks. The means are over all
/// steps.
struct NameSamples {
  explicit NameSamples(size_t steps = 0) : ns(steps), counts(steps) {}

  std::vector<double> ns;
  std::vector<double> counts;                                    ///< of calls
  double shortest_ns = std::numeric_limits<double>::infinity();  ///< of the calls
  double mean_ns = 0;
  double mean_count = 0;
  double mean_waiting_ns = 0;  ///< of operators: own time in calls that wait for GPU work
};
using SamplesByName = std::map<std::string, NameSamples>;

struct RunSamples {
  std::vector<double> step_ns;
  SamplesByName kernels;
  SamplesByName operators;    ///< own time on the host
  SamplesByName collectives;  ///< by kind
  SamplesByName copies;       ///< by kind, memsets too
};

/// Takes the last steps of each rank, as many as every rank has; the recordings of a rank are
/// joined. Work counts for the step in whose window it begins; work outside all steps does not
/// count.
[[nodiscard]] RunSamples sample_steps(const std::vector<Analysis>& traces);

}  // namespace redline::trace
