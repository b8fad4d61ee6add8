// The tables under the timeline. All figures come from the report; nothing is computed here.
#pragma once

#include <algorithm>
#include <string>

#include "trace/report/report.h"
#include "viewer/models/kernel_origins.h"
#include "viewer/models/table.h"

namespace redline::viewer {

/// What the tables under the timeline show, of a whole recording or of one step.
struct ReportTables {
  Table compare;  ///< only filled in a comparison
  Table tree;     ///< the same
  Table kernels;
  Table operators;
  Table collectives;
  Table steps;
  Table ranks;
  Table hang;  ///< only filled where a job hung
  Table gaps;
  Table memory;
  Table roofline;
  Table modules;
  Table copies;
  Table path;
};

/// As its tracks are called: "rank 1".
[[nodiscard]] std::string rank_name(const Session& session, const trace::Analysis& analysis);
/// Without, a trace counts as one step, from its first to its last operator.
[[nodiscard]] bool has_marked_steps(const trace::Report& report);
[[nodiscard]] inline int64_t mean_ns(int64_t total_ns, int64_t count) {
  return total_ns / std::max<int64_t>(count, 1);
}

/// Kernels by name, summed over the traces of the report, the largest share first.
[[nodiscard]] Table kernel_rows(const trace::Report& report, const KernelOrigins& origins = {});
/// Operators, the largest self time first. Without kernels there is no column for GPU time.
[[nodiscard]] Table operator_rows(const trace::Report& report);
/// Copies and memsets by kind.
[[nodiscard]] Table copy_rows(const trace::Report& report);
/// One row for each rank: steps, own work, waiting, clock; the last columns say who waits how long
/// for whom. A row leads to the rank's longest step.
[[nodiscard]] Table rank_rows(const Session& session, const trace::Report& report);
/// Who holds the memory of each device at its peak, also what was there before the recording: the
/// rows of a device sum to its first one. A row leads to the peak.
[[nodiscard]] Table memory_rows(const Session& session, const trace::Report& report);

}  // namespace redline::viewer
