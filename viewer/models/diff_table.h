// Two runs as the tab Compare shows them: what became faster or slower, and how sure that is.
#pragma once

#include <string>
#include <vector>

#include "trace/report/diff.h"
#include "trace/report/report.h"
#include "viewer/models/table.h"

namespace redline::viewer {

/// Parts of the step first, then kernels, collectives, copies and operators, each by its change; a
/// row leads to the slices that it sums up. `after` is the report of the run after.
[[nodiscard]] Table diff_rows(const Session& session, const trace::Report& after,
                              const trace::Diff& diff);

/// "1.50 × faster: 177.6 ms → 118.2 ms a step (-59.4 ms)". The verdict is that of `redline diff`.
[[nodiscard]] std::string diff_headline(const trace::Diff& diff);
/// What one must know to read the comparison: what it compares, how certain it is, and why it may
/// mislead.
[[nodiscard]] std::vector<std::string> diff_notes(const trace::Diff& diff);

}  // namespace redline::viewer
