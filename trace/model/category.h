// What the "cat" of an event means, in all the spellings that Kineto has used over the years.
#pragma once

#include <string_view>

#include "trace/model/model.h"

namespace redline::trace {

[[nodiscard]] Category category_of(std::string_view cat);

/// Traces up to 2021 give annotations the operators' category: only their names tell them apart.
[[nodiscard]] bool is_annotation_name(std::string_view name);

/// The "cat" that Kineto writes today; "other" for kOther.
[[nodiscard]] std::string_view category_name(Category category);

[[nodiscard]] FlowKind flow_kind_of(std::string_view cat);

/// A call that may start work on a GPU.
[[nodiscard]] constexpr bool is_launch(Category category) {
  return category == Category::kRuntime || category == Category::kDriver;
}

/// What such a call may start on a GPU, including waits for an event.
[[nodiscard]] constexpr bool is_launched(Category category) {
  return category == Category::kKernel || category == Category::kMemcpy ||
         category == Category::kMemset || category == Category::kSync;
}

/// The categories whose args carry a correlation number.
[[nodiscard]] constexpr bool has_correlation(Category category) {
  return is_launch(category) || is_launched(category);
}

}  // namespace redline::trace
