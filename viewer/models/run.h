// The step logs of a whole job as the Run page shows them: the verdict, the chart over the job, and
// the windows that were recorded meanwhile.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "trace/report/run_chart.h"
#include "viewer/models/slice_class.h"
#include "viewer/models/table.h"

namespace redline::viewer {

/// Steps of the job that were recorded with their operators, and can be opened.
struct RunWindow {
  int64_t time_ns = 0;
  std::string path;  ///< a folder of ranks or, if it holds several windows, the first rank's trace
};

struct RunFindingText {
  std::string headline;
  std::string detail;
  std::string cost;  ///< "3.1 min of each hour"; empty: not known

  bool operator==(const RunFindingText&) const = default;
};

struct RunPartShare {
  std::string name;
  double share = 0;  ///< of the time
  SliceClass colour = SliceClass::kOther;
};

struct WholeRun {
  std::vector<std::string> paths;
  std::string name;      ///< of its folder
  std::string rate;      ///< "698 samples/s (10.9 steps/s)"
  std::string subtitle;  ///< "2 ranks · 300 steps · 27.3 s"
  std::string spread;    ///< between which rates it usually went
  std::string left_out;  ///< what of the logs could not be read; usually empty
  bool is_running = false;
  trace::RunChart chart;
  std::vector<RunFindingText> findings;
  std::string nothing_found;  ///< stands in their place where there are none
  std::vector<RunPartShare> parts;
  std::vector<RunWindow> windows;  ///< by time
  Table ranks;

  /// The index in `windows`; nullopt if there are none.
  [[nodiscard]] std::optional<size_t> nearest_window(int64_t time_ns) const;
};

/// Whether step logs lie in these paths.
[[nodiscard]] bool has_run(const std::vector<std::string>& paths);
/// Whether they hold step logs and no traces.
[[nodiscard]] bool is_run(const std::vector<std::string>& paths);

/// The error is a sentence for the user. Works while the job runs.
[[nodiscard]] tl::expected<WholeRun, std::string> load_run(const std::vector<std::string>& paths);

}  // namespace redline::viewer
