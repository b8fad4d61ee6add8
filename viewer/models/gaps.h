// Where GPUs had nothing to do: each gap with what the host did meanwhile and what ended it. It is
// computed with the report, not in the window.
#pragma once

#include "trace/report/report.h"
#include "viewer/models/derived_tracks.h"
#include "viewer/models/table.h"

namespace redline::viewer {

/// The most gaps of a GPU that are listed.
constexpr size_t kMostGaps = 200;

/// The longest gaps of each GPU, the longest first. "Host meanwhile" is the innermost slice that
/// fills half of the gap or, if there is none, the one that fills most of it, in the thread that
/// launched the work which ended the gap. A row leads to the gap.
[[nodiscard]] Table gap_rows(const Session& session, const trace::Report& report,
                             const DerivedTracks& derived);

}  // namespace redline::viewer
