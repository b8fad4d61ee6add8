// The tables of one step alone. They look at every slice of its trace, so they are computed beside
// the window.
#pragma once

#include "trace/report/report.h"
#include "viewer/models/kernel_origins.h"
#include "viewer/models/report_tables.h"

namespace redline::viewer {

/// The kernels and collectives that began in the step's window, as the table of steps counts them;
/// the operators that began between the step's marks on the host; the memory that was held between
/// these at most, with what is older. A row leads to the longest of the calls it counts. `step` is
/// the time of a row of step_rows(); all tables are empty if it is none.
[[nodiscard]] ReportTables tables_of_step(const Session& session, const trace::Report& report,
                                          const KernelOrigins& origins, TimeRef step);

}  // namespace redline::viewer
