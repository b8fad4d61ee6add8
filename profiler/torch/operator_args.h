// What a trace says of an operator, in Kineto's and torch.profiler's words: its inputs ("Input
// Dims" …), its estimated operations, the collective that it starts, and where it was called from.
#pragma once

#include <ATen/record_function.h>
#include <cstddef>
#include <cstdint>
#include <string>

#include "profiler/log/record.h"

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

/// A training step gives most operators the inputs that the step before gave them, so describing
/// these once is enough: a hash of the operator's name and of all that describe_inputs() and
/// describe_flops() look at; 0 where it takes those to tell. Allocates nothing. May throw.
[[nodiscard]] uint64_t key_of_inputs(const at::RecordFunction& function);

/// Members of "args": "Call stack" and "Module Hierarchy", as asked for; "" outside TorchScript.
/// May throw.
[[nodiscard]] std::string describe_script(const at::RecordFunction& function, bool with_stack,
                                          bool with_modules);

/// The innermost 64 callers, interned by content. LibTorch's unwinder remembers how it passed each
/// address, and so takes a third of libgcc's time; it knows x86 and Arm, elsewhere there is none.
[[nodiscard]] TextId capture_native_stack() noexcept;

}  // namespace redline::profiler
