// What the "cat" of an event means, in every dialect that Kineto has written.
#pragma once

#include <string_view>

#include "trace/model/model.h"

namespace redline::trace {

[[nodiscard]] Category category_of(std::string_view cat);

/// Traces up to 2021 put annotations among the operators ("Operator"), told by their names alone.
[[nodiscard]] bool is_annotation_name(std::string_view name);

/// What Kineto of today calls it; "other" for kOther.
[[nodiscard]] std::string_view category_name(Category category);

[[nodiscard]] FlowKind flow_kind_of(std::string_view cat);

/// A call that may start work on a GPU.
[[nodiscard]] constexpr bool is_launch(Category category) {
  return category == Category::kRuntime || category == Category::kDriver;
}

/// What a launch may start on a GPU, waits included.
[[nodiscard]] constexpr bool is_launched(Category category) {
  return category == Category::kKernel || category == Category::kMemcpy ||
         category == Category::kMemset || category == Category::kSync;
}

/// The categories whose args carry a correlation number.
[[nodiscard]] constexpr bool has_correlation(Category category) {
  return is_launch(category) || is_launched(category);
}

}  // namespace redline::trace
