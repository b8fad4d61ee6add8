// All traces of a run as one: how much each rank counts in a mean, tables in which rows of the same
// name are summed, and what each name took in each step (the samples that tell noise from change).
//
// A job that recorded several times left several traces a rank; a rank whose recording holds no
// step says nothing of steps.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "trace/analysis/analysis.h"

namespace redline::trace {

/// The traces of each rank, in their order; a trace without a rank stands for one of its own. Those
/// without a step are left out.
[[nodiscard]] std::vector<std::vector<size_t>> recordings_of_ranks(
    const std::vector<Analysis>& traces);

/// Each rank counts the same, and in a rank each step. Their sum is 1; 0 where no trace has steps.
[[nodiscard]] std::vector<double> rank_weights(const std::vector<Analysis>& traces);

[[nodiscard]] std::vector<KernelRow> merged_kernels(const std::vector<Analysis>& traces);
[[nodiscard]] std::vector<OperatorRow> merged_operators(const std::vector<Analysis>& traces);
[[nodiscard]] std::vector<CopyRow> merged_copies(const std::vector<Analysis>& traces);
/// By name, group and message size.
[[nodiscard]] std::vector<Collective> merged_collectives(const std::vector<Analysis>& traces);

/// One entry a step, means over the ranks; `mean_ns` and `mean_count` of all steps.
struct NameSamples {
  std::vector<double> ns;
  double mean_ns = 0;
  double mean_count = 0;
};
using SamplesByName = std::map<std::string, NameSamples>;

struct RunSamples {
  std::vector<double> step_ns;
  SamplesByName kernels;
  SamplesByName operators;    ///< own time on the host
  SamplesByName collectives;  ///< by kind
  SamplesByName copies;       ///< by kind, memsets too
};

/// The last steps, as many as all ranks have; a rank's recordings follow each other. Work counts
/// for the step in whose window it begins; what lies outside all steps does not count.
[[nodiscard]] RunSamples sample_steps(const std::vector<Analysis>& traces);

}  // namespace redline::trace
