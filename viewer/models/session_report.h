// Where a report's traces stand in a session, and what it says of their clocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/report/report.h"
#include "viewer/models/session.h"

namespace redline::viewer {

/// The session's trace that was analysed; nullopt if the analysis is of another session.
[[nodiscard]] std::optional<uint32_t> trace_of(const Session& session,
                                               const trace::Analysis& analysis);
/// The session's trace that Report::traces has at `index`, loaded or not.
[[nodiscard]] std::optional<uint32_t> trace_at(const Session& session, const trace::Report& report,
                                               size_t index);
/// The analysis of the trace that Report::traces has at `index`; null if it is not loaded.
[[nodiscard]] const trace::Analysis* analysis_at(const trace::Report& report, size_t index);

/// How to correct the ranks' clocks by the collectives that they ended together.
struct ClockShifts {
  std::vector<int64_t> shift_ns;  ///< by trace of the session: to be added to its times
  std::string text;               ///< "rank 1 by +12.3 µs ± 1.2 µs"
};

/// nullopt if no rank's clock is known to differ, or if the traces do not stand on unix time.
[[nodiscard]] std::optional<ClockShifts> clock_shifts(const Session& session,
                                                      const trace::Report& report);

}  // namespace redline::viewer
