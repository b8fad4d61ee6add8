// The table of a job that hung: where each rank was in each group of ranks.
#pragma once

#include "trace/report/report.h"
#include "viewer/models/table.h"

namespace redline::viewer {

/// One row for each rank and each group in which somebody waits, those who hold the others up
/// first, with their open frames. A row leads to the rank's last step. No rows if nothing hung.
[[nodiscard]] Table hang_rows(const Session& session, const trace::Report& report);

}  // namespace redline::viewer
