// The "args" of an operator in a trace, with the names of Kineto and torch.profiler: its inputs
// ("Input Dims" …), its estimated operations, the collective that it starts, and its callers.
#pragma once

#include <ATen/record_function.h>
#include <cstddef>
#include <cstdint>
#include <string>

#include "profiler/log/record.h"

namespace redline::profiler {

/// Kineto leaves out the values of longer lists.
inline constexpr size_t kLongestList = 30;

/// Members of "args": "Concrete Inputs", "Input type", "Input Strides", "Input Dims"; "" for an
/// operator without inputs. Needs a callback with needsInputs. May throw.
[[nodiscard]] std::string describe_inputs(const at::RecordFunction& function);

/// Members of "args" that were given for the call that begins on this thread, such as "kernel_file"
/// and "num_warps" of a Triton kernel (redline_torch_begin_call); "" for all others.
[[nodiscard]] std::string_view named_inputs() noexcept;

/// LibTorch's estimate of operations as the member "flops" of "args"; "" if LibTorch has no
/// estimate for this operator. Needs a callback with needsInputs. May throw.
[[nodiscard]] std::string describe_flops(const at::RecordFunction& function);

/// Members of "args" of a collective (record_param_comms): name, elements, group, ranks; "" if
/// LibTorch tells nothing. May throw.
[[nodiscard]] std::string describe_collective(const at::RecordFunction& function);

/// A hash of the operator's name and of everything that describe_inputs(), named_inputs() and
/// describe_flops() look at. Most operators get the same inputs in each training step, so with this
/// key they need to be described only once. 0 if an input is of a kind that the hash does not know.
/// Allocates nothing. May throw.
[[nodiscard]] uint64_t key_of_inputs(const at::RecordFunction& function);

/// The members "Call stack" and "Module Hierarchy" of "args", if asked for; "" outside TorchScript.
/// May throw.
[[nodiscard]] std::string describe_script(const at::RecordFunction& function, bool with_stack,
                                          bool with_modules);

/// The innermost 64 callers, interned. LibTorch's unwinder keeps the unwind rule of each address,
/// and so takes a third of libgcc's time. It works on x86 and Arm; elsewhere there is no stack.
[[nodiscard]] TextId capture_native_stack() noexcept;

}  // namespace redline::profiler
