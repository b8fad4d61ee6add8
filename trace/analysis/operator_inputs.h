// The inputs of one operator call, as a trace with shapes has them: "Input Dims", "Input type",
// "Input Strides" and "Concrete Inputs", four lists with one element an input.
//
// Calls share their texts: a step of a thousand matrix products has a few dozen different ones. So
// callers parse each text once, and what is parsed may be slow to make.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redline::trace {

/// Number types, each with its size; the larger one is the result's where two of them meet.
enum class ElementType : uint8_t {
  kUnknown,
  kBool,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kFp8,
  kFp16,
  kBf16,
  kFp32,
  kFp64,
};

/// By c10's name: "c10::BFloat16", "long int". kUnknown for anything else, such as "Scalar".
[[nodiscard]] ElementType element_type(std::string_view name);
[[nodiscard]] int64_t bytes_of(ElementType type);  ///< 0 for kUnknown
/// What an operator computes in if its tensors are of these types.
[[nodiscard]] ElementType promoted(ElementType left, ElementType right);

/// A number that may be unknown; unknown, too, where it does not fit into 64 bits.
using Count = std::optional<int64_t>;
[[nodiscard]] Count times(Count left, Count right);
[[nodiscard]] Count plus(Count left, Count right);

struct TensorInput {
  ElementType type = ElementType::kUnknown;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;  ///< empty where the trace has none

  [[nodiscard]] Count elements() const;
  /// The elements in memory: fewer where a dimension is expanded (stride 0).
  [[nodiscard]] Count distinct() const;
  [[nodiscard]] Count bytes() const;  ///< of the distinct elements
};

struct OperatorInput {
  std::optional<TensorInput> tensor;
  std::vector<TensorInput> list;  ///< of a list of tensors, whose types no trace has
  std::string value;              ///< of a number, flag or list of them, as PyTorch prints it

  [[nodiscard]] std::optional<bool> flag() const;                      ///< "True", "False"
  [[nodiscard]] Count integer() const;                                 ///< "1"
  [[nodiscard]] std::optional<std::vector<int64_t>> integers() const;  ///< "[2, 2]"
  [[nodiscard]] std::optional<std::vector<bool>> flags() const;        ///< "[True, False]"
};

struct OperatorInputs {
  std::vector<OperatorInput> all;
  bool has_values = false;  ///< traces before 2023 have no "Concrete Inputs"

  /// The texts are JSON values as they stand in an event; empty where it lacks one.
  [[nodiscard]] static OperatorInputs parse(std::string_view sizes, std::string_view types,
                                            std::string_view strides, std::string_view values);

  [[nodiscard]] size_t size() const { return all.size(); }
  /// nullptr where there is no such input, or where it is no tensor.
  [[nodiscard]] const TensorInput* tensor(size_t index) const;
  /// An empty input where there is none of this index.
  [[nodiscard]] const OperatorInput& operator[](size_t index) const;
};

}  // namespace redline::trace
