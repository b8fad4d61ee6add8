// The kinds of formulas of operator_formulas.cc, one function a kind. Their numbers come from the
// table there: mostly indices of inputs.
#pragma once

#include <array>

#include "trace/analysis/operator_formulas.h"

namespace redline::trace {

constexpr int kAbsent = -1;
using FormulaNumbers = std::array<int, 7>;

/// {index of the left operand, of the result's type}: the right one follows the left one; before
/// them stands what is added, if any. Type 0: that of the operands; kAbsent: int32.
OperatorWork matrix_product(const OperatorInputs& inputs, const FormulaNumbers& numbers);

/// Indices of {stride, padding, dilation, transposed, output padding, groups, bias}, or kAbsent.
OperatorWork convolution(const OperatorInputs& inputs, const FormulaNumbers& numbers);
OperatorWork convolution_backward(const OperatorInputs& inputs, const FormulaNumbers& numbers);

/// {index of the query, of is_causal or custom_mask_type, 1 where heads come after the sequence, 1
/// if backward}
OperatorWork attention(const OperatorInputs& inputs, const FormulaNumbers& numbers);

/// An LSTM, GRU or plain RNN. {index of its list of weights or kAbsent: the two weights of a layer
/// follow the input, 1 if backward}
OperatorWork recurrence(const OperatorInputs& inputs, const FormulaNumbers& numbers);

enum OutputKind : int { kLikeInput, kIsBool, kIsIndex, kWithIndex };
/// {inputs that may be tensors, operations an element, OutputKind}
OperatorWork element_wise(const OperatorInputs& inputs, const FormulaNumbers& numbers);
/// {index of the dimensions, operations an element of the input, OutputKind}
OperatorWork reduction(const OperatorInputs& inputs, const FormulaNumbers& numbers);
/// {operations an element of the first input, index of "training" or 0: 2 operations without}; the
/// result is of the first input's size, all other tensors are read once
OperatorWork whole_pass(const OperatorInputs& inputs, const FormulaNumbers& numbers);
/// {index of the source or kAbsent}
OperatorWork copy(const OperatorInputs& inputs, const FormulaNumbers& numbers);
/// {index of the table, of the indices, of the dimension or kAbsent: rows}
OperatorWork lookup(const OperatorInputs& inputs, const FormulaNumbers& numbers);
OperatorWork embedding_backward(const OperatorInputs& inputs, const FormulaNumbers& numbers);
/// {1 if it also gives indices, 1 if it has no dilation}
OperatorWork pooling(const OperatorInputs& inputs, const FormulaNumbers& numbers);
/// {index of the tensor with the result's size}: the gradient comes first, all others are read
OperatorWork pooling_backward(const OperatorInputs& inputs, const FormulaNumbers& numbers);
/// {index of the indices, 1 where rows of another tensor are added at them}
OperatorWork elements_at(const OperatorInputs& inputs, const FormulaNumbers& numbers);
/// A kernel that torch.compile made: it reads or writes each of its tensors.
OperatorWork fused_kernel(const OperatorInputs& inputs, const FormulaNumbers& numbers);
/// {operations an element}
OperatorWork dropout(const OperatorInputs& inputs, const FormulaNumbers& numbers);
/// {operations an element of the first list, 1 where all of it is copied}; the types of lists are
/// not recorded
OperatorWork of_lists(const OperatorInputs& inputs, const FormulaNumbers& numbers);

}  // namespace redline::trace
