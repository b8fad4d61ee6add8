// What the HTML report's timeline shows: one step of one rank, its threads and streams, and for
// each rank a lane that says when its GPUs computed, communicated, or idled.
#pragma once

#include <string>
#include <vector>

#include "trace/analysis/device_states.h"
#include "trace/report/report.h"

namespace redline::trace {

/// Slices that the page draws at most; the shortest are left out where a step has more.
constexpr size_t kMostDrawnSlices = 12'000;

struct DrawnSlice {
  SliceId slice;
  Interval interval;
};

struct DrawnLane {
  std::string title;  ///< "thread 24722", "stream 7"
  std::string note;   ///< "python", "GPU 0"
  uint32_t depth = 0;
  std::vector<DrawnSlice> slices;  ///< by begin
};

struct RankLane {
  std::string title;  ///< "rank 3"
  std::vector<DeviceSpan> spans;
};

struct PageTimeline {
  size_t trace = 0;  ///< of Report::traces
  std::string title;
  Interval window;
  std::vector<DrawnLane> lanes;
  std::vector<RankLane> ranks;
  size_t slice_count = 0;  ///< in the window
  size_t drawn_count = 0;
  /// Of each finding, an event inside the window; none where it has none there.
  std::vector<std::optional<EvidenceEvent>> evidence;
};

/// The step that shows most of the findings.
[[nodiscard]] PageTimeline page_timeline(const Report& report);

/// As JSON that may stand inside a script element, whatever the names.
[[nodiscard]] std::string timeline_json(const Report& report, const PageTimeline& timeline);

}  // namespace redline::trace
