// What several rules ask of the host's threads.
#pragma once

#include <string_view>
#include <vector>

#include "trace/analysis/activity.h"
#include "trace/model/category.h"
#include "trace/model/slice_view.h"

namespace redline::trace {

/// For each lane, whether its thread launches kernels. Others, such as one that saves a checkpoint,
/// do not hold the GPU back. All do in a trace that does not say what launched its kernels.
[[nodiscard]] std::vector<bool> launching_lanes(const Activity& activity);

/// A range is neither: while it lasts, Python may do whatever it likes.
[[nodiscard]] constexpr bool is_operator_or_call(Category category) {
  return category == Category::kCpuOp || is_launch(category);
}

/// Where the program was, if stacks were recorded: the innermost function of the thread that has
/// most of the time and is not torch's, such as "train.py(42): train_epoch". Empty if unknown.
[[nodiscard]] std::string_view place_of(const Trace& trace, const Track& thread, Interval time);

}  // namespace redline::trace
