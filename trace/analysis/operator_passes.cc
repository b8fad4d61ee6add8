// Operators that go over their elements once or a few times: what limits them is memory.
#include <algorithm>

#include "trace/analysis/operator_work.h"

namespace redline::trace {
namespace {

using Sizes = std::vector<int64_t>;

Count elements_of(const Sizes& sizes) {
  return TensorInput{ElementType::kBool, sizes, {}}.elements();
}

OperatorWork pass(Count flops, Count bytes, ElementType type) {
  return {flops, flops, bytes, type, false, std::nullopt};
}

// Broadcasts `sizes` to what both have, as PyTorch does; false where they do not fit.
bool broadcast(Sizes& sizes, const Sizes& other) {
  if (other.size() > sizes.size()) sizes.insert(sizes.begin(), other.size() - sizes.size(), 1);
  const size_t behind = sizes.size() - other.size();
  for (size_t i = 0; i < other.size(); ++i) {
    int64_t& size = sizes[behind + i];
    if (size == 1) size = other[i];
    if (size != other[i] && other[i] != 1) return false;
  }
  return true;
}

Count bytes_of_all(const OperatorInputs& inputs) {
  Count bytes = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (const TensorInput* tensor = inputs.tensor(i)) bytes = plus(bytes, tensor->bytes());
  }
  return bytes;
}

// Bytes of a result of a reduction or comparison, for each of its elements.
int64_t result_bytes(int kind, ElementType type) {
  constexpr int64_t kIndexBytes = 8;
  if (kind == kIsBool) return 1;
  if (kind == kIsIndex) return kIndexBytes;
  return bytes_of(type) + (kind == kWithIndex ? kIndexBytes : 0);
}

// The elements that are left when the dimensions of input `index` are gone.
Count reduced(const TensorInput& input, const OperatorInputs& inputs, size_t index) {
  // sum(x) and sum(x, dtype) are of all elements; a third input comes with dimensions only.
  if (inputs.size() <= 1 || (index == 1 && inputs.size() == 2)) return 1;
  const OperatorInput& argument = inputs[index];
  auto gone = argument.integers();
  if (!gone && argument.integer()) gone = Sizes{*argument.integer()};
  if (!gone) return inputs.has_values && argument.value.empty() ? Count(1) : std::nullopt;
  if (gone->empty()) return 1;
  Count left = 1;
  const auto rank = static_cast<int64_t>(input.sizes.size());
  for (int64_t i = 0; i < rank; ++i) {
    const bool is_gone =
        std::ranges::any_of(*gone, [&](int64_t each) { return each == i || each + rank == i; });
    if (!is_gone) left = times(left, input.sizes[static_cast<size_t>(i)]);
  }
  return left;
}

int64_t pooled_size(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                    bool round_up) {
  const int64_t room = size + 2 * padding - dilation * (kernel - 1) - 1;
  int64_t count = (room + (round_up ? stride - 1 : 0)) / stride + 1;
  // A window that begins in the padding behind is left out.
  if (round_up && (count - 1) * stride >= size + padding) --count;
  return count;
}

}  // namespace

OperatorWork element_wise(const OperatorInputs& inputs, const FormulaNumbers& numbers) {
  Sizes sizes;
  ElementType type = ElementType::kUnknown, scalar = ElementType::kUnknown;
  Count bytes = 0;
  const auto operands = std::min(inputs.size(), static_cast<size_t>(numbers[0]));
  for (size_t i = 0; i < operands; ++i) {
    const TensorInput* tensor = inputs.tensor(i);
    if (!tensor) continue;
    if (!broadcast(sizes, tensor->sizes)) return {};
    // A tensor without dimensions does not make the others wider.
    ElementType& widest = tensor->sizes.empty() ? scalar : type;
    widest = promoted(widest, tensor->type);
    bytes = plus(bytes, tensor->bytes());
  }
  if (type == ElementType::kUnknown) type = scalar;
  if (type == ElementType::kUnknown) return {};
  const Count count = elements_of(sizes);
  bytes = plus(bytes, times(count, result_bytes(numbers[2], type)));
  return pass(times(count, numbers[1]), bytes, type);
}

OperatorWork reduction(const OperatorInputs& inputs, const FormulaNumbers& numbers) {
  const TensorInput* input = inputs.tensor(0);
  if (!input) return {};
  const Count results = reduced(*input, inputs, static_cast<size_t>(numbers[0]));
  const Count bytes = plus(input->bytes(), times(results, result_bytes(numbers[2], input->type)));
  return pass(times(input->elements(), numbers[1]), bytes, input->type);
}

OperatorWork whole_pass(const OperatorInputs& inputs, const FormulaNumbers& numbers) {
  const TensorInput* input = inputs.tensor(0);
  if (!input) return {};
  const Count count = input->elements();
  const Count bytes = plus(bytes_of_all(inputs), times(count, bytes_of(input->type)));
  const auto training = static_cast<size_t>(numbers[1]);
  const bool is_fixed = training > 0 && !inputs[training].flag().value_or(true);
  return pass(times(count, is_fixed ? 2 : numbers[0]), bytes, input->type);
}

OperatorWork copy(const OperatorInputs& inputs, const FormulaNumbers& numbers) {
  const TensorInput* target = inputs.tensor(0);
  if (!target) return {};
  Count bytes = times(target->elements(), bytes_of(target->type));
  if (numbers[0] != kAbsent) {
    const TensorInput* source = inputs.tensor(static_cast<size_t>(numbers[0]));
    bytes = source ? plus(bytes, source->bytes()) : std::nullopt;
  }
  return pass(0, bytes, target->type);
}

OperatorWork lookup(const OperatorInputs& inputs, const FormulaNumbers& numbers) {
  const TensorInput* table = inputs.tensor(static_cast<size_t>(numbers[0]));
  const TensorInput* indices = inputs.tensor(static_cast<size_t>(numbers[1]));
  if (!table || !indices || table->sizes.empty()) return {};
  const auto rank = static_cast<int64_t>(table->sizes.size());
  Count dimension = 0;
  if (numbers[2] != kAbsent) dimension = inputs[static_cast<size_t>(numbers[2])].integer();
  if (dimension && *dimension < 0) dimension = *dimension + rank;
  Count results = indices->elements();
  for (int64_t i = 0; i < rank; ++i) {
    if (dimension != i) results = times(results, table->sizes[static_cast<size_t>(i)]);
  }
  if (!dimension || *dimension < 0 || *dimension >= rank) results = std::nullopt;
  const Count moved = times(results, 2 * bytes_of(table->type));
  return pass(0, plus(indices->bytes(), moved), table->type);
}

// aten::embedding_dense_backward(grad_output, indices, num_weights, …)
OperatorWork embedding_backward(const OperatorInputs& inputs, const FormulaNumbers&) {
  const TensorInput* gradient = inputs.tensor(0);
  const TensorInput* indices = inputs.tensor(1);
  if (!gradient || !indices || gradient->sizes.empty()) return {};
  const Count table = times(inputs[2].integer(), gradient->sizes.back());
  const Count table_bytes = times(table, bytes_of(gradient->type));
  const Count bytes = plus(plus(gradient->bytes(), indices->bytes()), table_bytes);
  OperatorWork work = pass(gradient->elements(), bytes, gradient->type);
  work.weight_bytes = table_bytes.value_or(0);
  return work;
}

// (self, kernel_size, stride, padding, dilation, ceil_mode), some without dilation
OperatorWork pooling(const OperatorInputs& inputs, const FormulaNumbers& numbers) {
  const TensorInput* input = inputs.tensor(0);
  const auto kernel = inputs[1].integers(), padding = inputs[3].integers();
  auto stride = inputs[2].integers();
  const bool dilates = numbers[1] == 0;
  const auto dilation = dilates ? inputs[4].integers() : std::optional(Sizes{1});
  const auto round_up = inputs[dilates ? 5 : 4].flag();
  if (!input || !kernel || !stride || !padding || !dilation || !round_up) return {};
  if (stride->empty()) stride = kernel;
  const size_t dimensions = kernel->size();
  if (input->sizes.size() < dimensions) return {};
  Count results = 1, window = 1;
  const size_t leading = input->sizes.size() - dimensions;
  for (size_t i = 0; i < leading; ++i) results = times(results, input->sizes[i]);
  for (size_t i = 0; i < dimensions; ++i) {
    constexpr int64_t kMost = int64_t{1} << 30;
    const auto number = [&](const Sizes& list) { return list[list.size() == 1 ? 0 : i]; };
    for (const Sizes& list : {*kernel, *stride, *padding, *dilation}) {
      if (list.size() != 1 && list.size() != dimensions) return {};
      if (number(list) < 0 || number(list) > kMost) return {};
    }
    const int64_t size = input->sizes[leading + i];
    if (number(*stride) == 0 || size < 0 || size > kMost) return {};
    results = times(results, pooled_size(size, (*kernel)[i], number(*stride), number(*padding),
                                         number(*dilation), *round_up));
    window = times(window, (*kernel)[i]);
  }
  const int kind = numbers[0] == 1 ? kWithIndex : kLikeInput;
  const Count bytes = plus(input->bytes(), times(results, result_bytes(kind, input->type)));
  return pass(times(results, window), bytes, input->type);
}

// The input itself is not read: its size alone, and the indices of what was chosen.
OperatorWork pooling_backward(const OperatorInputs& inputs, const FormulaNumbers& numbers) {
  const auto like = static_cast<size_t>(numbers[0]);
  const TensorInput* gradient = inputs.tensor(0);
  const TensorInput* result = inputs.tensor(like);
  if (!gradient || !result) return {};
  Count bytes = times(result->elements(), bytes_of(gradient->type));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorInput* tensor = i == like ? nullptr : inputs.tensor(i);
    if (tensor) bytes = plus(bytes, tensor->bytes());
  }
  return pass(gradient->elements(), bytes, gradient->type);
}

OperatorWork elements_at(const OperatorInputs& inputs, const FormulaNumbers& numbers) {
  const TensorInput* table = inputs.tensor(0);
  const TensorInput* indices = inputs.tensor(static_cast<size_t>(numbers[0]));
  if (!table || !indices) return {};
  const Count count = indices->elements();
  const bool adds = numbers[1] == 1;
  // Read and written once; what is added is read, too.
  const Count moved = times(count, (adds ? 3 : 2) * bytes_of(table->type));
  return pass(adds ? count : Count(0), plus(indices->bytes(), moved), table->type);
}

OperatorWork fused_kernel(const OperatorInputs& inputs, const FormulaNumbers&) {
  const TensorInput* first = nullptr;
  for (size_t i = 0; i < inputs.size() && !first; ++i) first = inputs.tensor(i);
  if (!first) return {};
  return pass(std::nullopt, bytes_of_all(inputs), first->type);
}

OperatorWork dropout(const OperatorInputs& inputs, const FormulaNumbers& numbers) {
  const TensorInput* input = inputs.tensor(0);
  if (!input) return {};
  const Count count = input->elements();
  // The mask has a byte an element.
  const Count bytes = plus(input->bytes(), times(count, bytes_of(input->type) + 1));
  return pass(times(count, numbers[0]), bytes, input->type);
}

OperatorWork of_lists(const OperatorInputs& inputs, const FormulaNumbers& numbers) {
  const auto& list = inputs[0].list;
  if (list.empty()) return {};
  Count count = 0;
  for (const TensorInput& each : list) count = plus(count, each.elements());
  OperatorWork work = pass(times(count, numbers[0]), std::nullopt, ElementType::kUnknown);
  work.moved_elements = numbers[1] == 1 ? times(count, 2) : std::nullopt;
  return work;
}

}  // namespace redline::trace
