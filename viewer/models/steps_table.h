// Each step with its time, what it went into, and which one was slow.
#pragma once

#include "trace/report/report.h"
#include "viewer/models/derived_tracks.h"
#include "viewer/models/table.h"

namespace redline::viewer {

/// One row for each marked step of each trace; a row leads to the step's time. What GPUs did is the
/// mean over those of the trace. It looks at every kernel, so it is computed with the report and
/// not in the window.
[[nodiscard]] Table step_rows(const Session& session, const trace::Report& report,
                              const DerivedTracks& derived);

}  // namespace redline::viewer
