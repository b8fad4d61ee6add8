// Where GPUs had nothing to do: each gap with what the host did meanwhile and what ended it. It is
// computed with the report, not in the window.
#pragma once

#include <optional>

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
/// The row of any gap; nullopt if no GPU has it. Of a run before it says when and where alone.
[[nodiscard]] std::optional<TableRow> gap_row(const Session& session, const trace::Report& report,
                                              const DerivedTracks& derived, TimeRef gap);

}  // namespace redline::viewer
