// Two runs by their call trees, as the tab Call tree shows them: what was fused, split, new or
// gone. The rows are those of `redline diff --tree` (trace/report/tree_diff.h).
#pragma once

#include <string>

#include "trace/report/tree_diff.h"
#include "viewer/models/table.h"

namespace redline::viewer {

/// The largest change first. A row leads to a kernel of the run after or, if that has none, of the
/// run before.
[[nodiscard]] Table tree_rows(const trace::TreeDiff& diff);

/// "GPU time of a step by module and operator: fused -3.1 ms, same +0.2 ms"
[[nodiscard]] std::string tree_note(const trace::TreeDiff& diff);

}  // namespace redline::viewer
