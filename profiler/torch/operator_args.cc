#include "profiler/torch/operator_args.h"

#include <ATen/core/Tensor.h>
#include <torch/csrc/profiler/util.h>

#include <algorithm>
#include <sstream>
#include <string_view>

#include "trace/emit/text_buffer.h"

namespace redline::profiler {
namespace {

using trace::json_string;

/// The four parallel lists, with one element for each input.
struct InputLists {
  std::string values, types, strides, sizes;
  bool first = true;

  void add(std::string_view value, std::string_view type, std::string_view stride = "[]",
           std::string_view size = "[]") {
    const char* comma = first ? "" : ", ";
    first = false;
    values.append(comma).append(json_string(value));
    types.append(comma).append(json_string(type));
    strides.append(comma).append(stride);
    sizes.append(comma).append(size);
  }
};

std::string list_of(c10::IntArrayRef numbers) {
  std::string text = "[";
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(numbers[i]);
  }
  return text + "]";
}

/// Whether the tensor's sizes are plain numbers, and not symbolic or nested.
bool has_sizes(const at::Tensor& tensor) {
  return tensor.defined() && !tensor.is_nested() &&
         !tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides();
}

std::string sizes_of(const at::Tensor& tensor) {
  return has_sizes(tensor) ? list_of(tensor.sizes()) : "[]";
}

std::string strides_of(const at::Tensor& tensor) {
  const bool has_strides = has_sizes(tensor) && tensor.layout() == at::kStrided;
  return has_strides ? list_of(tensor.strides()) : "[]";
}

std::string type_of(const at::Tensor& tensor) {
  return tensor.defined() ? std::string(tensor.dtype().name()) : "";
}

void add_tensor(const at::Tensor& tensor, InputLists& lists) {
  lists.add("", type_of(tensor), strides_of(tensor), sizes_of(tensor));
}

void add_tensor_list(const c10::IValue& value, InputLists& lists) {
  const auto tensors = value.toListRef();
  if (tensors.size() > kLongestList) return lists.add("", "TensorList");
  std::string strides = "[", sizes = "[";
  bool first = true;
  for (const c10::IValue& each : tensors) {
    const at::Tensor& tensor = each.toTensor();
    const char* comma = first ? "" : ", ";
    first = false;
    strides.append(comma).append(strides_of(tensor));
    sizes.append(comma).append(sizes_of(tensor));
  }
  lists.add("", "TensorList", strides + "]", sizes + "]");
}

bool is_scalar_list(const c10::IValue& value) {
  if (!value.isList()) return false;
  const auto elements = value.toListRef();
  return elements.size() <= kLongestList && (elements.empty() || elements[0].isScalar());
}

std::string printed(const c10::IValue& value) {
  if (value.isInt()) return std::to_string(value.toInt());
  if (value.isBool()) return value.toBool() ? "True" : "False";
  std::ostringstream text;
  text << value;
  return text.str();
}

void add_input(const c10::IValue& value, InputLists& lists) {
  if (value.isTensor()) {
    add_tensor(value.toTensor(), lists);
  } else if (value.isScalar()) {
    lists.add(printed(value), "Scalar");
  } else if (value.isTensorList()) {
    add_tensor_list(value, lists);
  } else if (is_scalar_list(value)) {
    lists.add(printed(value), "ScalarList");
  } else {
    lists.add("", "");
  }
}

/// LibTorch gives numbers without quotes and texts with quotes, but does not escape the texts.
std::string valid_json(std::string_view value) {
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
    return json_string(value.substr(1, value.size() - 2));
  }
  const bool is_number = !value.empty() && value.find_first_not_of("0123456789", value[0] == '-') ==
                                               std::string_view::npos;
  return is_number ? std::string(value) : json_string(value);
}

}  // namespace

std::string describe_inputs(const at::RecordFunction& function) {
  const auto inputs = function.inputs();
  if (inputs.empty()) return "";
  InputLists lists;
  for (const auto& input : inputs) add_input(input, lists);
  return "\"Concrete Inputs\": [" + lists.values + "], \"Input type\": [" + lists.types +
         "], \"Input Strides\": [" + lists.strides + "], \"Input Dims\": [" + lists.sizes + "]";
}

std::string describe_flops(const at::RecordFunction& function) {
  if (function.scope() != at::RecordScope::FUNCTION) return "";
  const auto inputs = torch::profiler::impl::saveExtraArgs(function);
  if (inputs.empty()) return "";
  const uint64_t flops = torch::profiler::impl::computeFlops(function.name(), inputs);
  return flops > 0 ? "\"flops\": " + std::to_string(flops) : "";
}

std::string describe_collective(const at::RecordFunction& function) {
  std::string members;
  const auto described = torch::profiler::impl::saveNcclMeta(function);
  std::vector<std::pair<std::string, std::string>> sorted(described.begin(), described.end());
  std::ranges::sort(sorted);
  for (const auto& [key, value] : sorted) {
    if (!members.empty()) members += ", ";
    members += json_string(key) + ": " + valid_json(value);
  }
  return members;
}

}  // namespace redline::profiler
