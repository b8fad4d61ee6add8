// Sums up by name what lies in an area of the timeline (some lanes over some time), for the
// Selection tab.
#pragma once

#include <atomic>
#include <vector>

#include "viewer/models/layout.h"
#include "viewer/models/table.h"

namespace redline::viewer {

/// Some lanes over some time.
struct Area {
  TimeRange range;
  std::vector<LaneHit> lanes;

  [[nodiscard]] bool empty() const { return lanes.empty() || range.span_ns() <= 0; }
};

/// The lanes between two heights of a view that is scrolled by `scroll`. Lanes that have scrolled
/// behind the pinned tracks are not among them.
[[nodiscard]] std::vector<LaneHit> lanes_between(const Session& session, const Layout& layout,
                                                 int top, int bottom, int scroll = 0);

/// Also those that are folded, hidden or filtered away.
[[nodiscard]] std::vector<LaneHit> all_lanes(const Session& session);

struct AreaSummary {
  uint64_t slices = 0;
  Table table;
};

/// The slices that touch the area, by name. Durations are those of the whole slices; the column "In
/// the area" sums up only the parts inside. Self time is what no slice of the thread's next lane
/// covers. A row leads to its longest slice. Setting `cancel` makes it stop soon; the result is
/// then incomplete.
[[nodiscard]] AreaSummary summarize_area(const Session& session, const Area& area,
                                         const std::atomic<bool>* cancel = nullptr);

}  // namespace redline::viewer
