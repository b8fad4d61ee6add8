#include "trace/analysis/operator_inputs.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/integer.h"

namespace redline::trace {
namespace {

using nlohmann::json;

json list_in(std::string_view text) {
  json list = json::parse(text, nullptr, false);
  return list.is_array() ? list : json::array();
}

// nullopt where an element is no whole number.
std::optional<std::vector<int64_t>> numbers_in(const json& list) {
  if (!list.is_array()) return std::nullopt;
  std::vector<int64_t> numbers;
  for (const json& each : list) {
    if (!each.is_number_integer()) return std::nullopt;
    numbers.push_back(each.get<int64_t>());
  }
  return numbers;
}

std::optional<TensorInput> tensor_of(ElementType type, const json& sizes, const json& strides) {
  auto numbers = numbers_in(sizes);
  if (!numbers) return std::nullopt;
  TensorInput tensor{type, std::move(*numbers),
                     numbers_in(strides).value_or(std::vector<int64_t>())};
  if (tensor.strides.size() != tensor.sizes.size()) tensor.strides.clear();
  return tensor;
}

const json& element(const json& list, size_t index) {
  static const json kNothing;
  return index < list.size() ? list[index] : kNothing;
}

// Splits "[2, 2]" at its commas.
std::optional<std::vector<std::string_view>> words_of(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view word = text.substr(0, comma);
    word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
    words.push_back(word);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return words;
}

std::optional<bool> truth(std::string_view text) {
  if (text == "True") return true;
  return text == "False" ? std::optional(false) : std::nullopt;
}

// The values of all words, by `read`; nullopt where one of them has none.
template <typename Value, typename Read>
std::optional<std::vector<Value>> values_of(std::string_view text, Read read) {
  const auto words = words_of(text);
  if (!words) return std::nullopt;
  std::vector<Value> values;
  for (const std::string_view word : *words) {
    const auto value = read(word);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

}  // namespace

ElementType element_type(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, ElementType>, 20> kTypes = {{
      {"float", ElementType::kFp32},
      {"c10::BFloat16", ElementType::kBf16},
      {"c10::Half", ElementType::kFp16},
      {"double", ElementType::kFp64},
      {"long int", ElementType::kInt64},
      {"long", ElementType::kInt64},
      {"unsigned long", ElementType::kInt64},
      {"int", ElementType::kInt32},
      {"unsigned int", ElementType::kInt32},
      {"bool", ElementType::kBool},
      {"short", ElementType::kInt16},
      {"short int", ElementType::kInt16},
      {"unsigned short", ElementType::kInt16},
      {"unsigned char", ElementType::kInt8},
      {"signed char", ElementType::kInt8},
      {"char", ElementType::kInt8},
      {"c10::Float8_e4m3fn", ElementType::kFp8},
      {"c10::Float8_e5m2", ElementType::kFp8},
      {"c10::Float8_e4m3fnuz", ElementType::kFp8},
      {"c10::Float8_e5m2fnuz", ElementType::kFp8},
  }};
  for (const auto& [known, type] : kTypes) {
    if (known == name) return type;
  }
  return ElementType::kUnknown;
}

int64_t bytes_of(ElementType type) {
  constexpr auto kBytes = std::to_array<int64_t>({0, 1, 1, 2, 4, 8, 1, 2, 2, 4, 8});
  return kBytes[static_cast<size_t>(type)];
}

ElementType promoted(ElementType left, ElementType right) {
  const ElementType larger = std::max(left, right);
  // Neither of the two 16-bit types holds the other's numbers.
  const bool differ = larger == ElementType::kBf16 && std::min(left, right) == ElementType::kFp16;
  return differ ? ElementType::kFp32 : larger;
}

Count times(Count left, Count right) {
  int64_t product = 0;
  if (!left || !right || __builtin_mul_overflow(*left, *right, &product)) return std::nullopt;
  return product;
}

Count plus(Count left, Count right) {
  int64_t sum = 0;
  if (!left || !right || __builtin_add_overflow(*left, *right, &sum)) return std::nullopt;
  return sum;
}

Count TensorInput::elements() const {
  Count count = 1;
  for (const int64_t size : sizes) count = size < 0 ? std::nullopt : times(count, size);
  return count;
}

Count TensorInput::distinct() const {
  Count count = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0) return std::nullopt;
    const bool is_expanded = !strides.empty() && strides[i] == 0 && sizes[i] > 0;
    if (!is_expanded) count = times(count, sizes[i]);
  }
  return count;
}

Count TensorInput::bytes() const {
  if (type == ElementType::kUnknown) return std::nullopt;
  return times(distinct(), bytes_of(type));
}

std::optional<bool> OperatorInput::flag() const { return truth(value); }
Count OperatorInput::integer() const { return parse_integer(value); }
std::optional<std::vector<int64_t>> OperatorInput::integers() const {
  return values_of<int64_t>(value, parse_integer<int64_t>);
}
std::optional<std::vector<bool>> OperatorInput::flags() const {
  return values_of<bool>(value, truth);
}

OperatorInputs OperatorInputs::parse(std::string_view sizes, std::string_view types,
                                     std::string_view strides, std::string_view values) {
  const json all_sizes = list_in(sizes), all_types = list_in(types);
  const json all_strides = list_in(strides), all_values = list_in(values);
  OperatorInputs inputs;
  inputs.has_values = !values.empty();
  for (size_t i = 0; i < all_sizes.size(); ++i) {
    OperatorInput& input = inputs.all.emplace_back();
    const json& type = element(all_types, i);
    const std::string name = type.is_string() ? type.get<std::string>() : "";
    if (const ElementType known = element_type(name); known != ElementType::kUnknown) {
      input.tensor = tensor_of(known, all_sizes[i], element(all_strides, i));
    } else if (all_sizes[i].is_array()) {
      for (const json& each : all_sizes[i]) {
        if (auto tensor = tensor_of(ElementType::kUnknown, each, {})) {
          input.list.push_back(std::move(*tensor));
        }
      }
    }
    const json& value = element(all_values, i);
    if (value.is_string()) input.value = value.get<std::string>();
  }
  return inputs;
}

const TensorInput* OperatorInputs::tensor(size_t index) const {
  return index < all.size() && all[index].tensor ? &*all[index].tensor : nullptr;
}

const OperatorInput& OperatorInputs::operator[](size_t index) const {
  static const OperatorInput kNothing;
  return index < all.size() ? all[index] : kNothing;
}

}  // namespace redline::trace
