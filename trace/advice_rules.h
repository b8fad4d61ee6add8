// The rules of advice.h, one function each; none where the rule's condition is not in the data.
#pragma once

#include <optional>

#include "trace/advice.h"

namespace redline::trace {

using Rule = std::optional<Finding> (*)(const Analysis& analysis);

// advice_host.cc
[[nodiscard]] std::optional<Finding> dataloader_wait(const Analysis& analysis);
[[nodiscard]] std::optional<Finding> communication(const Analysis& analysis);
[[nodiscard]] std::optional<Finding> tiny_operators(const Analysis& analysis);
[[nodiscard]] std::optional<Finding> float32_on_cpu(const Analysis& analysis);
[[nodiscard]] std::optional<Finding> optimizer_per_parameter(const Analysis& analysis);

// advice_gpu.cc
[[nodiscard]] std::optional<Finding> low_gpu_utilization(const Analysis& analysis);
[[nodiscard]] std::optional<Finding> tensor_cores_unused(const Analysis& analysis);
[[nodiscard]] std::optional<Finding> pageable_copies(const Analysis& analysis);
[[nodiscard]] std::optional<Finding> device_memory_full(const Analysis& analysis);

// advice_ranks.cc
[[nodiscard]] std::optional<Finding> straggler(const RankComparison& comparison);

/// Matrix products and convolutions, the operators that autocast runs in 16 bits.
[[nodiscard]] bool is_matrix_operator(std::string_view name);

/// True where autocast left its traces: casts in the backward graph, or a gradient scaler.
[[nodiscard]] bool uses_autocast(const Analysis& analysis);

/// Speed-up if `removed_ns` of `whole_ns` went away; none if that is not less than the whole.
[[nodiscard]] std::optional<double> speedup_without(int64_t removed_ns, int64_t whole_ns);

}  // namespace redline::trace
