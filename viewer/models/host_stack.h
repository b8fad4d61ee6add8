// What stands around a slice of a thread: the operators, modules and steps that it was called in.
#pragma once

#include <vector>

#include "trace/model/model.h"

namespace redline::viewer {

/// The slices of the thread that the slice is inside of, the innermost first. Empty for none().
[[nodiscard]] std::vector<trace::SliceId> host_stack(const trace::Trace& trace,
                                                     trace::SliceId slice);

}  // namespace redline::viewer
