// Each step with its time, what it went into, and which one was slow.
#pragma once

#include <string>
#include <vector>

#include "trace/report/report.h"
#include "viewer/models/derived_tracks.h"
#include "viewer/models/table.h"

namespace redline::viewer {

/// One row for each marked step of each trace; a row leads to the step's time. What GPUs did is the
/// mean over those of the trace. It looks at every kernel, so it is computed with the report and
/// not in the window.
[[nodiscard]] Table step_rows(const Session& session, const trace::Report& report,
                              const DerivedTracks& derived);

/// A step as a bar of a chart: as high as it took long, its parts stacked.
struct StepBar {
  TimeRef time;
  std::string name;       ///< as in the table: "rank 0 · step 5"
  std::string note = {};  ///< as in the table: that it was slow; else empty
  trace::StepParts parts_ns{};

  [[nodiscard]] int64_t length_ns() const { return time.end_ns - time.begin_ns; }
};

/// A bar for each row of step_rows(), in its order. The parts are those that the report's average
/// step has.
[[nodiscard]] std::vector<StepBar> step_bars(const Session& session, const trace::Report& report);

/// Which bars to draw if there is room for `most`: the longest one of each of so many groups, so
/// that a slow step is never left out.
[[nodiscard]] std::vector<size_t> bars_to_draw(const std::vector<StepBar>& bars, size_t most);

/// "step 5: 12.3 ms, slow, +20.0 %", then its parts, one a line.
[[nodiscard]] std::string text_of(const StepBar& bar);

}  // namespace redline::viewer
