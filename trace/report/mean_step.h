// The average step of all traces of a report.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "trace/report/report.h"

namespace redline::trace {

/// Means over the ranks (rank_weights.h) of what is a mean over the steps of each.
struct MeanStep {
  int64_t mean_ns = 0;
  int64_t deviation_ns = 0;
  std::array<int64_t, kBreakdownPartCount> part_ns{};
};

[[nodiscard]] MeanStep mean_step(const Report& report);

/// Means over the traces that know their phases.
[[nodiscard]] std::optional<PhaseTimes> mean_phases(const Report& report);

}  // namespace redline::trace
