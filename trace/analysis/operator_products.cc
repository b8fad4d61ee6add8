// Matrix products, convolutions and attention: what torch.utils.flop_counter knows.
#include <algorithm>
#include <span>

#include "trace/analysis/operator_work.h"

namespace redline::trace {
namespace {

Count product_of(std::span<const int64_t> sizes) {
  Count product = 1;
  for (const int64_t size : sizes) product = size < 0 ? std::nullopt : times(product, size);
  return product;
}

std::span<const int64_t> spatial(const std::vector<int64_t>& sizes) {
  return std::span(sizes).subspan(std::min<size_t>(2, sizes.size()));
}

Count bytes_of_tensor(const TensorInput* tensor) { return tensor ? tensor->bytes() : Count(0); }

OperatorWork product_work(Count flops, Count needed, Count bytes, ElementType type) {
  return {flops, needed, bytes, type, true, std::nullopt};
}

// Which of a product's tensors has no dimension of the batch. It is the right one or, of a matrix
// with a vector, the matrix; of a gradient of weights, whose left operand is transposed, the
// result. Where strides do not tell, only what adds a bias is known to be no such gradient.
Count bytes_of_weights(const TensorInput& left, const TensorInput& right, Count result_bytes,
                       bool adds_bias) {
  if (left.sizes.size() != 2 || right.sizes.size() > 2) return 0;
  if (right.sizes.size() == 1) return left.bytes();
  const bool has_strides = !left.strides.empty() && left.strides[0] > 0;
  if (!has_strides && !adds_bias) return std::min(right.bytes(), result_bytes);
  const bool is_transposed =
      has_strides && left.strides[0] == 1 && (left.sizes[1] > 1 || left.strides[1] > 1);
  return is_transposed ? result_bytes : right.bytes();
}

// The sizes of a product of two operands.
struct ProductSizes {
  int64_t batch = 1, rows = 1, inner = 1, columns = 1;
};

// Batched where both have three dimensions; a vector counts as one row or column.
std::optional<ProductSizes> sizes_of(const std::vector<int64_t>& left,
                                     const std::vector<int64_t>& right) {
  ProductSizes sizes;
  int64_t inner = 0;
  const bool batched = left.size() == 3 && right.size() == 3;
  if (batched) {
    if (left[0] != right[0]) return std::nullopt;
    sizes.batch = left[0];
  } else if (left.empty() || left.size() > 2 || right.empty() || right.size() > 2) {
    return std::nullopt;
  }
  sizes.inner = left.back();
  if (left.size() > 1) sizes.rows = left[left.size() - 2];
  if (right.size() > 1) sizes.columns = right.back();
  inner = right.size() > 1 ? right[right.size() - 2] : right.back();
  const int64_t least = std::min({sizes.batch, sizes.rows, sizes.inner, sizes.columns});
  return inner == sizes.inner && least >= 0 ? std::optional(sizes) : std::nullopt;
}

// Bytes of an element of a product's result.
Count product_bytes(const OperatorInputs& inputs, const TensorInput& left, int type_index) {
  if (type_index == 0) return bytes_of(left.type);
  if (type_index == kAbsent) return bytes_of(ElementType::kInt32);
  const Count type = inputs[static_cast<size_t>(type_index)].integer();
  // c10/core/ScalarType.h: Half, BFloat16, Float
  if (type == 5 || type == 15) return 2;
  return type == 6 ? Count(4) : std::nullopt;
}

// The numbers of a convolution's argument for each dimension; one number stands for all.
std::optional<std::vector<int64_t>> per_dimension(const OperatorInputs& inputs, int index,
                                                  size_t dimensions, int64_t otherwise) {
  if (index == kAbsent) return std::vector<int64_t>(dimensions, otherwise);
  auto numbers = inputs[static_cast<size_t>(index)].integers();
  if (numbers && numbers->size() == 1) numbers->resize(dimensions, numbers->front());
  if (!numbers || numbers->size() != dimensions) return std::nullopt;
  return numbers;
}

struct Convolution {
  const TensorInput* input = nullptr;
  const TensorInput* weight = nullptr;
  bool is_transposed = false;
  int64_t groups = 1;
  std::vector<int64_t> output;  ///< spatial sizes
};

int64_t output_size(int64_t size, int64_t kernel, int64_t stride, int64_t padding,
                    int64_t dilation) {
  return (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
}

int64_t transposed_size(int64_t size, int64_t kernel, int64_t stride, int64_t padding,
                        int64_t dilation, int64_t output_padding) {
  return (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1;
}

// Larger numbers are no convolution's, and could overflow.
bool are_sane(std::span<const int64_t> sizes) {
  constexpr int64_t kMost = int64_t{1} << 30;
  return std::ranges::all_of(sizes, [](int64_t size) { return size >= 0 && size < kMost; });
}

std::optional<Convolution> convolution_of(const OperatorInputs& inputs,
                                          const FormulaNumbers& numbers) {
  Convolution found;
  found.input = inputs.tensor(0);
  found.weight = inputs.tensor(1);
  if (!found.input || !found.weight) return std::nullopt;
  const auto& sizes = found.input->sizes;
  const auto& kernel = found.weight->sizes;
  if (sizes.size() < 3 || sizes.size() != kernel.size()) return std::nullopt;
  const size_t dimensions = sizes.size() - 2;
  if (numbers[3] != kAbsent) {
    const auto transposed = inputs[static_cast<size_t>(numbers[3])].flag();
    if (!transposed) return std::nullopt;
    found.is_transposed = *transposed;
  }
  if (numbers[5] != kAbsent) {
    const Count groups = inputs[static_cast<size_t>(numbers[5])].integer();
    if (!groups || *groups < 1) return std::nullopt;
    found.groups = *groups;
  }
  const auto stride = per_dimension(inputs, numbers[0], dimensions, 1);
  const auto padding = per_dimension(inputs, numbers[1], dimensions, 0);
  const auto dilation = per_dimension(inputs, numbers[2], dimensions, 1);
  const auto extra =
      per_dimension(inputs, found.is_transposed ? numbers[4] : kAbsent, dimensions, 0);
  if (!stride || !padding || !dilation || !extra) return std::nullopt;
  for (const std::span<const int64_t> each :
       {std::span<const int64_t>(sizes), std::span<const int64_t>(kernel),
        std::span<const int64_t>(*stride), std::span<const int64_t>(*padding),
        std::span<const int64_t>(*dilation), std::span<const int64_t>(*extra)}) {
    if (!are_sane(each)) return std::nullopt;
  }
  for (size_t i = 0; i < dimensions; ++i) {
    const int64_t size = sizes[i + 2], width = kernel[i + 2];
    if ((*stride)[i] == 0) return std::nullopt;
    found.output.push_back(
        found.is_transposed
            ? transposed_size(size, width, (*stride)[i], (*padding)[i], (*dilation)[i], (*extra)[i])
            : output_size(size, width, (*stride)[i], (*padding)[i], (*dilation)[i]));
    if (found.output.back() < 0) return std::nullopt;
  }
  return found;
}

// How many query positions times key positions a causal mask leaves.
Count causal_pairs(int64_t queries, int64_t keys) {
  const int64_t triangle = std::min(queries, keys);
  const Count below = times(queries - triangle, keys);
  const Count twice = times(triangle, triangle + 1);
  return twice ? plus(*twice / 2, below) : std::nullopt;
}

// Query, key and value as [batch, heads, positions, width].
struct Attention {
  int64_t batch = 0, heads = 0, queries = 0, keys = 0, key_width = 0, value_width = 0;
};

// How many query positions times key positions the mask leaves: is_causal or, of the
// memory-efficient attention, custom_mask_type. A mask that is not known may be causal.
Count pairs_left(const OperatorInput& mask, const Attention& sizes) {
  constexpr int64_t kNoMask = 0, kFromTopLeft = 1, kFromBottomRight = 2;
  const auto causal = mask.flag();
  const Count type = causal ? Count(*causal ? kFromTopLeft : kNoMask) : mask.integer();
  if (type == kNoMask) return times(sizes.queries, sizes.keys);
  if (type == kFromBottomRight) return causal_pairs(sizes.keys, sizes.queries);
  return causal_pairs(sizes.queries, sizes.keys);
}

std::optional<Attention> attention_of(const TensorInput& query, const TensorInput& key,
                                      const TensorInput& value, bool heads_last) {
  const auto& q = query.sizes;
  const auto& k = key.sizes;
  const auto& v = value.sizes;
  if (q.size() != 4 || k.size() != 4 || v.size() != 4) return std::nullopt;
  const size_t head = heads_last ? 2 : 1, position = heads_last ? 1 : 2;
  const bool fit = q[0] == k[0] && q[0] == v[0] && q[3] == k[3] && k[head] == v[head] &&
                   k[position] == v[position] && k[head] > 0 && q[head] % k[head] == 0;
  if (!fit || !are_sane(q) || !are_sane(k) || !are_sane(v)) return std::nullopt;
  return Attention{q[0], q[head], q[position], k[position], q[3], v[3]};
}

// Sequences of different lengths, one behind the other: only a tensor of offsets tells how long
// they are, and no trace has its content.
bool has_offsets(const OperatorInputs& inputs, size_t first) {
  for (size_t i = first; i < inputs.size(); ++i) {
    const TensorInput* tensor = inputs.tensor(i);
    if (tensor && tensor->type == ElementType::kInt32 && tensor->sizes.size() == 1) return true;
  }
  return false;
}

// The mask or bias that is added to the scores.
Count bytes_of_bias(const OperatorInputs& inputs, size_t index) {
  const TensorInput* bias = inputs.tensor(index);
  return bias && bias->sizes.size() == 4 ? bias->bytes() : Count(0);
}

}  // namespace

OperatorWork matrix_product(const OperatorInputs& inputs, const FormulaNumbers& numbers) {
  const auto at = static_cast<size_t>(numbers[0]);
  const TensorInput* left = inputs.tensor(at);
  const TensorInput* right = inputs.tensor(at + 1);
  if (!left || !right) return {};
  const auto sizes = sizes_of(left->sizes, right->sizes);
  if (!sizes) return {};
  const Count results = times(times(sizes->batch, sizes->rows), sizes->columns);
  const Count flops = times(times(results, sizes->inner), 2);
  Count bytes = plus(left->bytes(), right->bytes());
  if (at > 0) bytes = plus(bytes, bytes_of_tensor(inputs.tensor(0)));
  const Count result_bytes = times(results, product_bytes(inputs, *left, numbers[1]));
  OperatorWork work = product_work(flops, flops, plus(bytes, result_bytes), left->type);
  work.weight_bytes = bytes_of_weights(*left, *right, result_bytes, at > 0).value_or(0);
  return work;
}

OperatorWork convolution(const OperatorInputs& inputs, const FormulaNumbers& numbers) {
  const auto found = convolution_of(inputs, numbers);
  if (!found) return {};
  const int64_t batch = found->input->sizes[0];
  const auto& weight = found->weight->sizes;
  const Count positions =
      found->is_transposed ? product_of(spatial(found->input->sizes)) : product_of(found->output);
  const Count flops = times(times(times(positions, product_of(weight)), batch), 2);
  const Count channels = found->is_transposed ? times(weight[1], found->groups) : Count(weight[0]);
  const Count results = times(times(channels, batch), product_of(found->output));
  Count bytes = plus(found->input->bytes(), found->weight->bytes());
  bytes = plus(bytes, times(results, bytes_of(found->input->type)));
  if (numbers[6] != kAbsent) {
    bytes = plus(bytes, bytes_of_tensor(inputs.tensor(static_cast<size_t>(numbers[6]))));
  }
  OperatorWork work = product_work(flops, flops, bytes, found->input->type);
  work.weight_bytes = found->weight->bytes().value_or(0);
  return work;
}

// aten::convolution_backward(grad_output, input, weight, bias_sizes, stride, padding, dilation,
// transposed, output_padding, groups, output_mask)
OperatorWork convolution_backward(const OperatorInputs& inputs, const FormulaNumbers&) {
  constexpr size_t kTransposed = 7, kGroups = 9, kMask = 10;
  const TensorInput* gradient = inputs.tensor(0);
  const TensorInput* input = inputs.tensor(1);
  const TensorInput* weight = inputs.tensor(2);
  const auto transposed = inputs[kTransposed].flag();
  const Count groups = inputs[kGroups].integer();
  const auto mask = inputs[kMask].flags();
  if (!gradient || !input || !weight || !transposed || !mask || mask->size() != 3) return {};
  if (!groups || *groups < 1 || input->sizes.size() < 3) return {};
  if (gradient->sizes.size() != input->sizes.size()) return {};
  if (weight->sizes.size() != input->sizes.size()) return {};
  const Count batch = gradient->sizes[0];
  const Count filter = product_of(spatial(weight->sizes));
  const Count positions = product_of(spatial(*transposed ? input->sizes : gradient->sizes));
  const Count pairs = times(input->sizes[1], gradient->sizes[1]);
  const Count of_input = times(times(times(positions, product_of(weight->sizes)), batch), 2);
  const Count of_weight = times(times(times(times(filter, positions), batch), pairs), 2);
  OperatorWork work = product_work(0, 0, gradient->bytes(), input->type);
  if ((*mask)[0]) {
    work.flops = plus(work.flops, of_input);
    work.needed_flops = plus(work.needed_flops, of_input);
    work.bytes = plus(work.bytes, plus(weight->bytes(), input->bytes()));
    work.weight_bytes = plus(work.weight_bytes, weight->bytes()).value_or(0);
  }
  if ((*mask)[1]) {
    work.flops = plus(work.flops, of_weight);
    work.needed_flops =
        plus(work.needed_flops, of_weight ? Count(*of_weight / *groups) : of_weight);
    work.bytes = plus(work.bytes, plus(weight->bytes(), input->bytes()));
    work.weight_bytes = plus(work.weight_bytes, weight->bytes()).value_or(0);
  }
  return work;
}

OperatorWork attention(const OperatorInputs& inputs, const FormulaNumbers& numbers) {
  const auto at = static_cast<size_t>(numbers[0]);
  const TensorInput* query = inputs.tensor(at);
  const TensorInput* key = inputs.tensor(at + 1);
  const TensorInput* value = inputs.tensor(at + 2);
  if (!query || !key || !value || has_offsets(inputs, at + 3)) return {};
  const auto sizes = attention_of(*query, *key, *value, numbers[2] == 1);
  if (!sizes) return {};
  const bool backward = numbers[3] == 1;
  // Scores and result; backward: scores again, and the gradients of scores, value, query and key.
  const int64_t width = backward ? 3 * sizes->key_width + 2 * sizes->value_width
                                 : sizes->key_width + sizes->value_width;
  const Count heads = times(times(sizes->batch, sizes->heads), 2 * width);
  const Count flops = times(heads, times(sizes->queries, sizes->keys));
  const Count needed = times(heads, pairs_left(inputs[static_cast<size_t>(numbers[1])], *sizes));
  const Count results =
      times(times(times(sizes->batch, sizes->heads), sizes->queries), sizes->value_width);
  const Count result_bytes = times(results, bytes_of(query->type));
  Count bytes = plus(plus(query->bytes(), key->bytes()), value->bytes());
  bytes = plus(bytes, backward ? bytes : bytes_of_bias(inputs, at + 3));
  bytes = plus(bytes, times(result_bytes, backward ? 2 : 1));
  return product_work(flops, needed, bytes, query->type);
}

OperatorWork recurrence(const OperatorInputs& inputs, const FormulaNumbers& numbers) {
  const TensorInput* input = inputs.tensor(0);
  if (!input || input->sizes.size() < 2) return {};
  std::vector<TensorInput> weights;
  if (numbers[0] == kAbsent) {
    for (const size_t index : {1U, 2U}) {
      if (const TensorInput* weight = inputs.tensor(index)) weights.push_back(*weight);
    }
  } else {
    weights = inputs[static_cast<size_t>(numbers[0])].list;
  }
  Count elements = 0;
  for (const TensorInput& weight : weights) {
    if (weight.sizes.size() == 2) elements = plus(elements, weight.elements());
  }
  if (!elements || *elements == 0) return {};
  // The sequence is padded, or packed: all elements of all samples in one dimension.
  const Count places = product_of(std::span(input->sizes).first(input->sizes.size() - 1));
  const int64_t passes = numbers[1] == 1 ? 2 : 1;  // backward: of the input and of the weights
  const Count flops = times(times(times(2, places), elements), passes);
  const int64_t bytes_each = passes * bytes_of(input->type);
  const Count moved = times(plus(input->elements(), elements), bytes_each);
  OperatorWork work = product_work(flops, flops, moved, input->type);
  work.weight_bytes = times(elements, bytes_each).value_or(0);
  return work;
}

}  // namespace redline::trace
