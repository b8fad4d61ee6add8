// What the device could do, for the viewer: operators by shape as a table, and the roofline
// picture. Both are those of the HTML page (trace/report/roofline_plot.h).
#pragma once

#include <atomic>
#include <vector>

#include "trace/report/report.h"
#include "trace/report/roofline_plot.h"
#include "viewer/models/table.h"

namespace redline::viewer {

/// Operators by shape, the most time lost against the roof first. A row leads to a call. Setting
/// `cancel` makes it stop soon; the table is then cut off.
[[nodiscard]] Table roofline_table(const Session& session, const trace::Report& report,
                                   const std::atomic<bool>* cancel = nullptr);

struct RooflinePicture {
  trace::RooflinePlot plot;        ///< its circles' rows are those of roofline_table()
  std::vector<std::string> hints;  ///< one a circle
};
[[nodiscard]] RooflinePicture roofline_picture(const trace::Report& report);

}  // namespace redline::viewer
