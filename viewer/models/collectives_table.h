// The table of collectives, with the bandwidth of each size and of all sizes together.
#pragma once

#include <functional>
#include <string_view>

#include "trace/report/report.h"
#include "viewer/models/table.h"

namespace redline::viewer {

/// The collectives of each trace, by kind, group and size. A row leads to its longest call.
[[nodiscard]] Table collective_rows(const Session& session, const trace::Report& report);
/// Which row of collective_rows() counts the call; none if the slice is no call.
[[nodiscard]] std::function<bool(const TableRow& row)> row_of_call(const Session& session,
                                                                   const trace::Report& report,
                                                                   SliceRef slice);

/// The longest call of a kind ("all_reduce"), whatever its rank, group and size.
[[nodiscard]] SliceRef longest_of_kind(const Session& session, const trace::Report& report,
                                       std::string_view kind);

}  // namespace redline::viewer
