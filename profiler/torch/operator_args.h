// What a trace says of an operator's inputs, in Kineto's words (trace format: "Input Dims" …).
#pragma once

#include <ATen/record_function.h>

#include <cstddef>
#include <string>

namespace redline::profiler {

/// Of longer lists Kineto tells nothing.
inline constexpr size_t kLongestList = 30;

/// Members of "args": "Concrete Inputs", "Input type", "Input Strides", "Input Dims"; "" for an
/// operator without inputs. Needs a callback with needsInputs. May throw.
[[nodiscard]] std::string describe_inputs(const at::RecordFunction& function);

/// LibTorch's estimate as a member of "args": "flops"; "" where it has none for this operator.
/// Needs a callback with needsInputs. May throw.
[[nodiscard]] std::string describe_flops(const at::RecordFunction& function);

/// Members of "args" of a collective (record_param_comms): name, elements, group, ranks; "" where
/// LibTorch tells nothing. May throw.
[[nodiscard]] std::string describe_collective(const at::RecordFunction& function);

}  // namespace redline::profiler
