// Chrome's "B" and "E" events, which make a slice two by two.
#pragma once

#include <span>
#include <vector>

#include "trace/event_rows.h"
#include "trace/issues.h"

namespace redline::trace {

/// The slices of one track's edges. An "E" closes the innermost open "B" of its name (or the
/// innermost one, if either has no name); a "B" that stays open ends at `last_ns` or with the last
/// edge, whichever is later.
[[nodiscard]] std::vector<SliceRow> pair_edges(std::span<EdgeRow> edges, int64_t last_ns,
                                               IssueLog& issues);

}  // namespace redline::trace
