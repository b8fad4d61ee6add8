// How many operations and bytes one call of an operator takes, from its inputs: one table for all
// operators that are known.
//
// Matrix products, convolutions and attention count as torch.utils.flop_counter counts them, to the
// last operation, because that is what people compare with. Where it counts work that no kernel
// does, `needed_flops` has what is left. All other operators are bound by memory; their operations
// are counted by element, and the sources stand in the table.
#pragma once

#include <cstdint>
#include <string_view>

#include "trace/analysis/operator_inputs.h"

namespace redline::trace {

/// Of one call. What the inputs do not tell is nullopt.
struct OperatorWork {
  Count flops;
  /// The operations that the result cannot do without. Fewer than `flops` where attention is causal
  /// (half of the scores are masked), and for the weights of a grouped convolution (flop_counter
  /// takes all pairs of channels).
  Count needed_flops;
  /// Each input is read once and each output written once.
  Count bytes;
  ElementType type = ElementType::kUnknown;  ///< that the operator computes in
  /// A matrix product, a convolution or attention: flop_counter counts it, Tensor Cores can do it.
  bool is_product = false;
  /// Read and written, of a list of tensors: only the kernels' names tell how large an element is.
  Count moved_elements;
  /// Of `bytes` those of a product's weights or of the gradient of a table, at the least: a larger
  /// batch reads or writes them once, too.
  int64_t weight_bytes = 0;

  /// Whether it is known how many operations of products it has: without a product, none.
  [[nodiscard]] bool is_modelled() const { return flops || (bytes && !is_product); }
};

struct Formula;

/// The formula for operators of this name; nullptr where there is none.
[[nodiscard]] const Formula* find_formula(std::string_view operator_name);
[[nodiscard]] OperatorWork work_of(const Formula& formula, const OperatorInputs& inputs);

}  // namespace redline::trace
