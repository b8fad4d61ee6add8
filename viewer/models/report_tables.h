// The tables under the timeline. All figures come from the report or the comparison of two runs;
// nothing is computed here.
#pragma once

#include <functional>

#include "trace/report/diff.h"
#include "trace/report/report.h"
#include "viewer/models/kernel_origins.h"
#include "viewer/models/table.h"

namespace redline::viewer {

/// Kernels by name, summed over the traces of the report, the largest share first.
[[nodiscard]] Table kernel_rows(const trace::Report& report, const KernelOrigins& origins = {});
/// Operators, the largest self time first. Without kernels there is no column for GPU time.
[[nodiscard]] Table operator_rows(const trace::Report& report);
/// The collectives of each trace, by kind, group and size. A row leads to its longest call.
[[nodiscard]] Table collective_rows(const Session& session, const trace::Report& report);
/// Which row of collective_rows() counts the call; none if the slice is no call.
[[nodiscard]] std::function<bool(const TableRow& row)> row_of_call(const Session& session,
                                                                   const trace::Report& report,
                                                                   SliceRef slice);
/// One row for each rank: steps, own work, waiting, clock; the last columns say who waits how long
/// for whom. A row leads to the rank's longest step.
[[nodiscard]] Table rank_rows(const Session& session, const trace::Report& report);
/// Who holds the memory of each device at its peak, also what was there before the recording: the
/// rows of a device sum to its first one. A row leads to the peak.
[[nodiscard]] Table memory_rows(const Session& session, const trace::Report& report);

/// Parts of the step first, then kernels, collectives, copies and operators, each by its change; a
/// row leads to the slices of its name.
[[nodiscard]] Table diff_rows(const trace::Diff& diff);

/// "1.50 × faster: 177.6 ms → 118.2 ms a step (-59.4 ms)". The verdict is that of `redline diff`.
[[nodiscard]] std::string diff_headline(const trace::Diff& diff);
/// What one must know to read the comparison: what it compares, how certain it is, and why it may
/// mislead.
[[nodiscard]] std::vector<std::string> diff_notes(const trace::Diff& diff);

}  // namespace redline::viewer
