// Tells an operator's inputs from others without writing them down: a training step gives most
// operators what the step before gave them, and describing that once is enough.
#pragma once

#include <ATen/record_function.h>

#include <cstdint>

namespace redline::profiler {

/// A hash of the operator's name and of all that describe_inputs() and describe_flops() look at; 0
/// where it takes those to tell. Allocates nothing. May throw.
[[nodiscard]] uint64_t key_of_inputs(const at::RecordFunction& function);

}  // namespace redline::profiler
