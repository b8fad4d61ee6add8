// The tables of several ranks as one: rows of the same name summed.
#pragma once

#include <vector>

#include "trace/analysis/analysis.h"

namespace redline::trace {

[[nodiscard]] std::vector<KernelRow> merged_kernels(const std::vector<Analysis>& traces);
[[nodiscard]] std::vector<OperatorRow> merged_operators(const std::vector<Analysis>& traces);
[[nodiscard]] std::vector<CopyRow> merged_copies(const std::vector<Analysis>& traces);
/// By name, group and message size.
[[nodiscard]] std::vector<Collective> merged_collectives(const std::vector<Analysis>& traces);

}  // namespace redline::trace
