// The strip over the lanes: how busy the whole recording was, in one row of columns.
#pragma once

#include <vector>

#include "viewer/models/session.h"
#include "viewer/models/slice_class.h"

namespace redline::viewer {

struct OverviewColumn {
  double busy = 0;        ///< 0..1: GPUs, or without one the host's operators; mean over traces
  double dataloader = 0;  ///< 0..1: waiting for the next batch
  SliceClass main_class = SliceClass::kCompute;  ///< of what keeps it busy
};

/// `width` columns over session.range().
[[nodiscard]] std::vector<OverviewColumn> overview_columns(const Session& session, int width);

}  // namespace redline::viewer
