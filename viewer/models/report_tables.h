// The tables under the timeline. All figures come from the report or the comparison of two runs;
// nothing is computed here.
#pragma once

#include "trace/report/diff.h"
#include "trace/report/report.h"
#include "viewer/models/table.h"

namespace redline::viewer {

/// Kernels by name, summed over the traces of the report, the largest share first.
[[nodiscard]] Table kernel_rows(const trace::Report& report);
/// Operators, the largest self time first. Without kernels there is no column for GPU time.
[[nodiscard]] Table operator_rows(const trace::Report& report);
/// The collectives of each trace, by kind, group and size. A row leads to its longest call.
[[nodiscard]] Table collective_rows(const Session& session, const trace::Report& report);
/// One row for each rank: steps, own work, waiting, clock; the last columns say who waits how long
/// for whom. A row leads to the rank's longest step.
[[nodiscard]] Table rank_rows(const Session& session, const trace::Report& report);
/// The operators that hold the memory of each device at its peak.
[[nodiscard]] Table memory_rows(const trace::Report& report);

/// Parts of the step first, then kernels, collectives, copies and operators, each by its change; a
/// row leads to the slices of its name.
[[nodiscard]] Table diff_rows(const trace::Diff& diff);

/// "177.6 ms → 118.2 ms a step, 1.50 × faster".
[[nodiscard]] std::string diff_headline(const trace::Diff& diff);

}  // namespace redline::viewer
