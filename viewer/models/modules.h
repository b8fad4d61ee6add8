// A model's modules for the viewer: as a table, and as boxes that are as wide as the time that they
// took, each below the one that it is in. The figures are those of `redline report`
// (trace/analysis/module_rows.h).
#pragma once

#include "trace/report/report.h"
#include "viewer/models/flame.h"
#include "viewer/models/table.h"

namespace redline::viewer {

/// A row stands behind the one that it is in, and leads to the longest call of its first module.
[[nodiscard]] Table module_table(const trace::Report& report);

/// Modules of one class have one colour. A node is a row of module_table(); the first stands for
/// all.
[[nodiscard]] Flame module_icicle(const trace::Report& report);

/// What must be known to read them: what the widths are, and what belongs to no module.
[[nodiscard]] std::vector<std::string> module_words(const trace::Report& report);

}  // namespace redline::viewer
