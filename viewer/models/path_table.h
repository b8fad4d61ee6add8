// The critical path as a table: what a step's length is made of, and what of it would have to be
// shorter for the step to be shorter.
#pragma once

#include "trace/report/report.h"
#include "viewer/models/table.h"

namespace redline::viewer {

/// The names that take most of the path of each trace, and the rest by kind, the longest first: the
/// rows of a trace sum to its average step. A row leads to its longest part, or to the longest
/// slice of its name.
[[nodiscard]] Table critical_path_rows(const Session& session, const trace::Report& report);

}  // namespace redline::viewer
