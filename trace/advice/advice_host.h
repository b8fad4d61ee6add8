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

/// Whether the slice is an operator, a range or a call. Steps, which contain everything, are none.
[[nodiscard]] inline bool is_host_work(const Trace& trace, SliceId slice) {
  const Category category = trace.slices().category[slice.value];
  return is_launch(category) ||
         (is_host_node(category) && !is_any_step_name(name_of(trace, slice)));
}

/// Where the program was, if stacks were recorded: the innermost function of the thread that has
/// most of the time and is not torch's, such as "train.py(42): train_epoch". Empty if unknown.
[[nodiscard]] std::string_view place_of(const Trace& trace, const Track& thread, Interval time);

}  // namespace redline::trace
