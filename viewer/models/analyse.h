// What the panes and tables show of a Session, computed when its lanes are already on the screen.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "trace/read/reader.h"
#include "trace/report/diff.h"
#include "trace/report/report.h"
#include "trace/report/tree_diff.h"
#include "viewer/models/colours.h"
#include "viewer/models/derived_tracks.h"
#include "viewer/models/details.h"
#include "viewer/models/flame.h"
#include "viewer/models/kernel_origins.h"
#include "viewer/models/report_tables.h"
#include "viewer/models/roofline.h"
#include "viewer/models/session.h"
#include "viewer/models/steps_table.h"

namespace redline::viewer {

/// What reading all ranks once has given, if some of them are not loaded.
struct RankPass {
  std::shared_ptr<const std::vector<trace::RankSummary>> summaries;
  std::vector<std::shared_ptr<const RankOutline>> outlines;  ///< by trace of the session
  std::vector<trace::ReadError> unreadable;
};

/// What the panes and tables show, and the tracks that follow from it. It takes longer than
/// reading, so it is computed when the lanes are already shown.
struct AnalysedSession {
  std::shared_ptr<const trace::Report> report;  ///< in a comparison: of the run after
  std::shared_ptr<const DerivedTracks> derived = std::make_shared<const DerivedTracks>();
  std::shared_ptr<const CollectiveLinks> collectives = std::make_shared<const CollectiveLinks>();
  std::shared_ptr<const Colours> colours = std::make_shared<const Colours>();
  std::shared_ptr<const trace::Diff> diff;      ///< only set in a comparison
  std::shared_ptr<const trace::TreeDiff> tree;  ///< the same
  std::shared_ptr<const KernelOrigins> origins = std::make_shared<const KernelOrigins>();
  std::shared_ptr<const ReportTables> tables = std::make_shared<const ReportTables>();
  std::vector<StepBar> step_bars;  ///< the table of steps as a chart
  RooflinePicture roofline;        ///< the table of the roofline as a picture
  size_t loaded_count = 0;         ///< so many of the session's traces were loaded
  RankPass pass;                   ///< empty if all ranks were loaded
  std::shared_ptr<const Flame> modules = std::make_shared<const Flame>();
};

/// Setting `cancel` makes it stop soon; the result is then incomplete. If some ranks are not
/// loaded, it reads each of these once, keeps the summary and drops the trace, and `progress` hears
/// how many it has read. It reads none if `known` has the summaries.
[[nodiscard]] AnalysedSession analyse_session(
    const Session& session, const std::atomic<bool>* cancel = nullptr, RankPass known = {},
    const std::function<void(size_t done, size_t total)>& progress = {});

}  // namespace redline::viewer
