#include "trace/analysis/operator_formulas.h"

#include <array>
#include <unordered_map>

#include "base/text_search.h"
#include "trace/analysis/operator_work.h"

namespace redline::trace {

struct Formula {
  std::string_view name;
  OperatorWork (*work)(const OperatorInputs&, const FormulaNumbers&);
  FormulaNumbers numbers{};
};

namespace {

// Indices of inputs are those of native_functions.yaml of PyTorch 2.11. An operator that calls
// others of the table, such as aten::convolution, counts once, as the outermost.
constexpr std::array kFormulas = {
    // Products: torch/utils/flop_counter.py of PyTorch 2.11; those that it lacks by the same rule,
    // 2 * rows * inner * columns.
    Formula{"aten::mm", matrix_product, {0}},
    Formula{"aten::bmm", matrix_product, {0}},
    Formula{"aten::mv", matrix_product, {0}},
    Formula{"aten::dot", matrix_product, {0}},
    Formula{"aten::_int_mm", matrix_product, {0, kAbsent}},
    Formula{"aten::_scaled_mm", matrix_product, {0, 6}},
    Formula{"aten::addmm", matrix_product, {1}},
    Formula{"aten::addmv", matrix_product, {1}},
    Formula{"aten::baddbmm", matrix_product, {1}},
    Formula{"aten::_addmm_activation", matrix_product, {1}},
    Formula{"aten::convolution", convolution, {3, 4, 5, 6, 7, 8, 2}},
    Formula{"aten::_convolution", convolution, {3, 4, 5, 6, 7, 8, 2}},
    Formula{"aten::cudnn_convolution", convolution, {3, 2, 4, kAbsent, kAbsent, 5, kAbsent}},
    Formula{"aten::cudnn_convolution_relu", convolution, {3, 4, 5, kAbsent, kAbsent, 6, 2}},
    Formula{"aten::miopen_convolution", convolution, {4, 3, 5, kAbsent, kAbsent, 6, 2}},
    Formula{"aten::mkldnn_convolution", convolution, {4, 3, 5, kAbsent, kAbsent, 6, 2}},
    Formula{"aten::convolution_backward", convolution_backward},
    Formula{"aten::_scaled_dot_product_flash_attention", attention, {0, 4, 0, 0}},
    Formula{"aten::_scaled_dot_product_flash_attention_for_cpu", attention, {0, 4, 0, 0}},
    Formula{"aten::_scaled_dot_product_efficient_attention", attention, {0, 6, 0, 0}},
    Formula{"aten::_scaled_dot_product_cudnn_attention", attention, {0, 6, 0, 0}},
    Formula{"aten::_flash_attention_forward", attention, {0, 8, 1, 0}},
    Formula{"aten::_efficient_attention_forward", attention, {0, 9, 1, 0}},
    Formula{"aten::_scaled_dot_product_flash_attention_backward", attention, {1, 11, 0, 1}},
    Formula{"aten::_scaled_dot_product_flash_attention_for_cpu_backward", attention, {1, 7, 0, 1}},
    Formula{"aten::_scaled_dot_product_efficient_attention_backward", attention, {1, 11, 0, 1}},
    Formula{"aten::_scaled_dot_product_cudnn_attention_backward", attention, {1, 14, 0, 1}},
    Formula{"aten::_flash_attention_backward", attention, {1, 11, 1, 1}},
    Formula{"aten::_efficient_attention_backward", attention, {1, 14, 1, 1}},
    // Recurrent layers, by the rule of products: each weight meets each element of the sequence.
    Formula{"aten::mkldnn_rnn_layer", recurrence, {kAbsent, 0}},
    Formula{"aten::mkldnn_rnn_layer_backward", recurrence, {kAbsent, 1}},
    Formula{"aten::_cudnn_rnn", recurrence, {1, 0}},
    Formula{"aten::_cudnn_rnn_backward", recurrence, {1, 1}},
    Formula{"aten::miopen_rnn", recurrence, {1, 0}},
    Formula{"aten::miopen_rnn_backward", recurrence, {1, 1}},

    // Element-wise: one operation for each element of the result and each of its arithmetic steps;
    // a function such as exp or gelu counts as one.
    Formula{"aten::abs", element_wise, {1, 1}},
    Formula{"aten::neg", element_wise, {1, 1}},
    Formula{"aten::exp", element_wise, {1, 1}},
    Formula{"aten::expm1", element_wise, {1, 1}},
    Formula{"aten::log", element_wise, {1, 1}},
    Formula{"aten::log1p", element_wise, {1, 1}},
    Formula{"aten::log2", element_wise, {1, 1}},
    Formula{"aten::sqrt", element_wise, {1, 1}},
    Formula{"aten::rsqrt", element_wise, {1, 1}},
    Formula{"aten::reciprocal", element_wise, {1, 1}},
    Formula{"aten::square", element_wise, {1, 1}},
    Formula{"aten::sin", element_wise, {1, 1}},
    Formula{"aten::cos", element_wise, {1, 1}},
    Formula{"aten::erf", element_wise, {1, 1}},
    Formula{"aten::tanh", element_wise, {1, 1}},
    Formula{"aten::sigmoid", element_wise, {1, 1}},
    Formula{"aten::relu", element_wise, {1, 1}},
    Formula{"aten::silu", element_wise, {1, 1}},
    Formula{"aten::gelu", element_wise, {1, 1}},
    Formula{"aten::elu", element_wise, {1, 1}},
    Formula{"aten::mish", element_wise, {1, 1}},
    Formula{"aten::leaky_relu", element_wise, {1, 1}},
    Formula{"aten::softplus", element_wise, {1, 1}},
    Formula{"aten::hardtanh", element_wise, {1, 1}},
    Formula{"aten::hardswish", element_wise, {1, 1}},
    Formula{"aten::hardsigmoid", element_wise, {1, 1}},
    Formula{"aten::floor", element_wise, {1, 1}},
    Formula{"aten::ceil", element_wise, {1, 1}},
    Formula{"aten::round", element_wise, {1, 1}},
    Formula{"aten::sign", element_wise, {1, 1}},
    Formula{"aten::nan_to_num", element_wise, {1, 1}},
    Formula{"aten::clamp", element_wise, {3, 1}},
    Formula{"aten::clamp_min", element_wise, {2, 1}},
    Formula{"aten::clamp_max", element_wise, {2, 1}},
    Formula{"aten::threshold", element_wise, {1, 1}},
    Formula{"aten::logical_not", element_wise, {1, 1, kIsBool}},
    Formula{"aten::bitwise_not", element_wise, {1, 1}},
    Formula{"aten::isnan", element_wise, {1, 1, kIsBool}},
    Formula{"aten::isinf", element_wise, {1, 1, kIsBool}},
    Formula{"aten::add", element_wise, {2, 1}},
    Formula{"aten::sub", element_wise, {2, 1}},
    Formula{"aten::rsub", element_wise, {2, 1}},
    Formula{"aten::mul", element_wise, {2, 1}},
    Formula{"aten::div", element_wise, {2, 1}},
    Formula{"aten::pow", element_wise, {2, 1}},
    Formula{"aten::fmod", element_wise, {2, 1}},
    Formula{"aten::remainder", element_wise, {2, 1}},
    Formula{"aten::maximum", element_wise, {2, 1}},
    Formula{"aten::minimum", element_wise, {2, 1}},
    Formula{"aten::lerp", element_wise, {3, 3}},
    Formula{"aten::addcmul", element_wise, {3, 3}},
    Formula{"aten::addcdiv", element_wise, {3, 3}},
    Formula{"aten::where", element_wise, {3, 1}},
    Formula{"aten::masked_fill", element_wise, {2, 1}},
    Formula{"aten::eq", element_wise, {2, 1, kIsBool}},
    Formula{"aten::ne", element_wise, {2, 1, kIsBool}},
    Formula{"aten::lt", element_wise, {2, 1, kIsBool}},
    Formula{"aten::le", element_wise, {2, 1, kIsBool}},
    Formula{"aten::gt", element_wise, {2, 1, kIsBool}},
    Formula{"aten::ge", element_wise, {2, 1, kIsBool}},
    Formula{"aten::logical_and", element_wise, {2, 1, kIsBool}},
    Formula{"aten::logical_or", element_wise, {2, 1, kIsBool}},
    Formula{"aten::bitwise_and", element_wise, {2, 1}},
    Formula{"aten::bitwise_or", element_wise, {2, 1}},
    Formula{"aten::threshold_backward", element_wise, {2, 1}},
    Formula{"aten::sigmoid_backward", element_wise, {2, 3}},
    Formula{"aten::tanh_backward", element_wise, {2, 3}},
    Formula{"aten::silu_backward", element_wise, {2, 1}},
    Formula{"aten::gelu_backward", element_wise, {2, 1}},
    Formula{"aten::elu_backward", element_wise, {6, 1}},  // between its two tensors are numbers
    Formula{"aten::leaky_relu_backward", element_wise, {2, 1}},
    Formula{"aten::hardtanh_backward", element_wise, {2, 1}},
    Formula{"aten::hardswish_backward", element_wise, {2, 1}},
    Formula{"aten::softplus_backward", element_wise, {2, 1}},
    Formula{"aten::mse_loss_backward", element_wise, {3, 3}},

    // Reductions: one operation for each element that goes in.
    Formula{"aten::sum", reduction, {1, 1}},
    Formula{"aten::nansum", reduction, {1, 1}},
    Formula{"aten::mean", reduction, {1, 1}},
    Formula{"aten::prod", reduction, {1, 1}},
    Formula{"aten::amax", reduction, {1, 1}},
    Formula{"aten::amin", reduction, {1, 1}},
    Formula{"aten::all", reduction, {1, 1, kIsBool}},
    Formula{"aten::any", reduction, {1, 1, kIsBool}},
    Formula{"aten::argmax", reduction, {1, 1, kIsIndex}},
    Formula{"aten::argmin", reduction, {1, 1, kIsIndex}},
    Formula{"aten::logsumexp", reduction, {1, 3}},
    Formula{"aten::linalg_vector_norm", reduction, {2, 2}},

    // Softmax: largest, difference, exp, sum, quotient. Normalisations: five passes, as fvcore
    // counts (fvcore/nn/jit_handles.py, norm_flop_counter), and two with known statistics; backward
    // 9: two for the normalised input, three for the gradients of weight and bias, four for that
    // of the input.
    Formula{"aten::_softmax", whole_pass, {5}},
    Formula{"aten::_log_softmax", whole_pass, {5}},
    Formula{"aten::_softmax_backward_data", whole_pass, {4}},
    Formula{"aten::_log_softmax_backward_data", whole_pass, {4}},
    Formula{"aten::native_layer_norm", whole_pass, {5}},
    Formula{"aten::native_group_norm", whole_pass, {5}},
    Formula{"aten::native_batch_norm", whole_pass, {5, 5}},
    Formula{"aten::cudnn_batch_norm", whole_pass, {5, 5}},
    Formula{"aten::miopen_batch_norm", whole_pass, {5, 5}},
    Formula{"aten::_fused_rms_norm", whole_pass, {4}},
    Formula{"aten::native_layer_norm_backward", whole_pass, {9}},
    Formula{"aten::native_group_norm_backward", whole_pass, {9}},
    Formula{"aten::native_batch_norm_backward", whole_pass, {9}},
    Formula{"aten::cudnn_batch_norm_backward", whole_pass, {9}},
    Formula{"aten::miopen_batch_norm_backward", whole_pass, {9}},
    Formula{"aten::cumsum", whole_pass, {1}},
    Formula{"aten::native_dropout", dropout, {2}},
    Formula{"aten::native_dropout_backward", element_wise, {2, 2}},
    Formula{"aten::max_pool2d_with_indices", pooling, {1}},
    Formula{"aten::max_pool2d_with_indices_backward", pooling_backward, {1}},
    Formula{"aten::avg_pool2d", pooling, {0, 1}},
    Formula{"aten::avg_pool2d_backward", pooling_backward, {1}},
    Formula{"aten::_adaptive_avg_pool2d_backward", pooling_backward, {1}},

    // Moving data takes no operations. Of a table only the rows that are asked for are read.
    Formula{"aten::copy_", copy, {1}},
    Formula{"aten::fill_", copy, {kAbsent}},
    Formula{"aten::zero_", copy, {kAbsent}},
    Formula{"aten::embedding", lookup, {0, 1, kAbsent}},
    Formula{"aten::index_select", lookup, {0, 2, 1}},
    Formula{"aten::embedding_dense_backward", embedding_backward},
    Formula{"aten::gather", elements_at, {2}},
    Formula{"aten::scatter_add", elements_at, {2, 1}},
    Formula{"aten::_local_scalar_dense", copy, {kAbsent}},
    Formula{"aten::cat", of_lists, {0, 1}},

    // Optimizers, by the steps of their update (torch/optim): each list is a tensor a parameter.
    Formula{"aten::_foreach_add", of_lists, {1}},
    Formula{"aten::_foreach_sub", of_lists, {1}},
    Formula{"aten::_foreach_mul", of_lists, {1}},
    Formula{"aten::_foreach_div", of_lists, {1}},
    Formula{"aten::_foreach_neg", of_lists, {1}},
    Formula{"aten::_foreach_sqrt", of_lists, {1}},
    Formula{"aten::_foreach_norm", of_lists, {2}},
    Formula{"aten::_foreach_lerp", of_lists, {3}},
    Formula{"aten::_foreach_addcmul", of_lists, {3}},
    Formula{"aten::_foreach_addcdiv", of_lists, {3}},
    Formula{"aten::_foreach_zero_", of_lists, {0}},
    Formula{"aten::_foreach_copy_", of_lists, {0}},
    Formula{"aten::_fused_sgd_", of_lists, {4}},
    Formula{"aten::_fused_adam_", of_lists, {12}},
    Formula{"aten::_fused_adamw_", of_lists, {13}},
};

}  // namespace

const Formula* find_formula(std::string_view operator_name) {
  static const auto kByName = [] {
    std::unordered_map<std::string_view, const Formula*> by_name;
    for (const Formula& formula : kFormulas) by_name[formula.name] = &formula;
    return by_name;
  }();
  auto found = kByName.find(operator_name);
  if (found == kByName.end() && operator_name.ends_with('_')) {  // in place
    operator_name.remove_suffix(1);
    found = kByName.find(operator_name);
  }
  if (found != kByName.end()) return found->second;
  // "triton_poi_fused_add_2": element-wise or a reduction, no product. Of a table that is looked
  // up, not every row is read.
  static constexpr Formula kFused{"triton_", fused_kernel};
  const bool looks_up = contains_any(operator_name, {"embedding", "index", "gather"});
  const bool is_pass = operator_name.starts_with("triton_poi_") ||
                       operator_name.starts_with("triton_red_") ||
                       operator_name.starts_with("triton_per_");
  return is_pass && !looks_up ? &kFused : nullptr;
}

OperatorWork work_of(const Formula& formula, const OperatorInputs& inputs) {
  return formula.work(inputs, formula.numbers);
}

}  // namespace redline::trace
