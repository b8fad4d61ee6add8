// Setting the ranks' clocks right by the collectives that they ended together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trace/report/report.h"
#include "viewer/models/session.h"

namespace redline::viewer {

struct ClockShifts {
  std::vector<int64_t> shift_ns;  ///< a trace of the session: what its times are to be moved by
  std::string text;               ///< "rank 1 by +12.3 µs ± 1.2 µs"
};

/// None where no rank's clock is known to differ, or the traces do not stand on unix time.
[[nodiscard]] std::optional<ClockShifts> clock_shifts(const Session& session,
                                                      const trace::Report& report);

}  // namespace redline::viewer
