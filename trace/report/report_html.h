// The HTML report: its timeline (one step of one rank with its threads and streams, and for each
// rank a lane that says when its GPUs computed, communicated or idled) and its other sections, each
// empty where it has nothing to say.
#pragma once

#include <string>
#include <vector>

#include "trace/analysis/gpus.h"
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
  size_t index = 0;                    ///< of Report::traces
  std::shared_ptr<const Trace> trace;  ///< null if it cannot be drawn; then all else is empty
  std::string title;
  Interval window;
  std::vector<DrawnLane> lanes;
  std::vector<RankLane> ranks;
  /// Python's functions enclose all else, so they are drawn only where there is nothing else.
  bool draws_python = false, lacks_python = false;
  bool lacks_inner = false;  ///< slices inside of as many others as there are lanes of a thread
  size_t slice_count = 0;    ///< in the lanes
  size_t drawn_count = 0;
  /// For each finding, one of its events inside the window; nullopt if it has none there.
  std::vector<std::optional<EvidenceEvent>> evidence;
};

/// The step that shows most of the findings.
[[nodiscard]] PageTimeline page_timeline(const Report& report, const TraceOf& trace_of);

/// The timeline as JSON that may stand inside a script element, whatever the names contain.
[[nodiscard]] std::string timeline_json(const PageTimeline& timeline);

// report_html_overview.cc
[[nodiscard]] std::string steps_html(const Report& report);
[[nodiscard]] std::string findings_html(const Report& report, const PageTimeline& timeline);
[[nodiscard]] std::string phases_html(const Report& report);
[[nodiscard]] std::string timeline_html(const PageTimeline& timeline);

// report_html_memory.cc
[[nodiscard]] std::string memory_html(const Report& report);

// report_html_roofline.cc
[[nodiscard]] std::string roofline_html(const Report& report);

// report_html_modules.cc
[[nodiscard]] std::string modules_html(const Report& report);

// report_html_path.cc
[[nodiscard]] std::string paths_html(const Report& report);

// report_html_tables.cc
[[nodiscard]] std::string ranks_html(const Report& report);
[[nodiscard]] std::string gpus_html(const Report& report);
[[nodiscard]] std::string tables_html(const Report& report);
[[nodiscard]] std::string files_html(const Report& report);

}  // namespace redline::trace
