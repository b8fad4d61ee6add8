// What the "cat" of an event means, in every dialect that Kineto has written.
#pragma once

#include <string_view>

#include "trace/model.h"

namespace redline::trace {

[[nodiscard]] Category category_of(std::string_view cat);

/// Traces up to 2021 put annotations among the operators ("Operator"), told by their names alone.
[[nodiscard]] bool is_annotation_name(std::string_view name);

/// What Kineto of today calls it; "other" for kOther.
[[nodiscard]] std::string_view category_name(Category category);

[[nodiscard]] FlowKind flow_kind_of(std::string_view cat);

/// The categories whose args carry a correlation number.
[[nodiscard]] inline bool has_correlation(Category category) {
  switch (category) {
    case Category::kRuntime:
    case Category::kDriver:
    case Category::kKernel:
    case Category::kMemcpy:
    case Category::kMemset:
    case Category::kSync:
      return true;
    default:
      return false;
  }
}

/// The annotation around one training step, "ProfilerStep#5".
[[nodiscard]] inline bool is_step_name(std::string_view name) {
  return name.substr(0, 13) == "ProfilerStep#";
}

}  // namespace redline::trace
