// What the window knows of a rank whose events are not in memory. With many ranks only the first
// ones are loaded. The report reads each of the others once and keeps this, some kilobytes, beside
// the rank's summary; a rank is loaded when it is unfolded.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/model/issues.h"
#include "viewer/models/slice_class.h"
#include "viewer/models/time_axis.h"

namespace redline::viewer {

/// How busy a recording was in one part of its time.
struct OverviewColumn {
  double busy = 0;  ///< 0..1, mean over traces: the GPUs or, without one, the host's operators
  double dataloader = 0;                         ///< 0..1: waiting for the next batch
  SliceClass main_class = SliceClass::kCompute;  ///< the class that keeps it busy
};

struct RankOutline {
  uint64_t events = 0;  ///< of every phase
  uint64_t slices = 0;
  std::vector<trace::LoadIssue> issues;
  TimeRange work;                       ///< unix time: from the first slice to the last
  std::vector<OverviewColumn> columns;  ///< share `work` evenly

  /// The column at a unix time; null where the rank did not record.
  [[nodiscard]] const OverviewColumn* column_at(int64_t time_ns) const;
};

}  // namespace redline::viewer
