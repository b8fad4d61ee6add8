// How busy a recording is in each part of its time: the strip over the lanes, and what is kept of a
// rank that is not loaded.
#pragma once

#include <memory>
#include <vector>

#include "viewer/models/rank_outline.h"
#include "viewer/models/session.h"

namespace redline::viewer {

/// The strip over the lanes: `width` columns that share session.range() evenly. In each only the
/// traces count that hold its time.
[[nodiscard]] std::vector<OverviewColumn> overview_columns(const Session& session, int width);

/// Of a trace that is loaded, and may then be dropped.
[[nodiscard]] std::shared_ptr<const RankOutline> outline_of(
    const std::shared_ptr<const trace::Trace>& trace);

}  // namespace redline::viewer
