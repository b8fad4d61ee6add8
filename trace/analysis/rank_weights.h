// What each recording counts in a mean over ranks: a job that recorded several times left several
// traces a rank, and a rank whose recording holds no step says nothing of steps.
#pragma once

#include <cstddef>
#include <vector>

#include "trace/analysis/analysis.h"

namespace redline::trace {

/// The traces of each rank, in their order; a trace without a rank stands for one of its own. Those
/// without a step are left out.
[[nodiscard]] std::vector<std::vector<size_t>> recordings_of_ranks(
    const std::vector<Analysis>& traces);

/// Each rank counts the same, and in a rank each step. Their sum is 1; 0 where no trace has steps.
[[nodiscard]] std::vector<double> rank_weights(const std::vector<Analysis>& traces);

}  // namespace redline::trace
