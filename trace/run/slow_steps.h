// Slow steps take at least half as long again as the 128 or so steps around them usually do, and
// there are few of them (at most a tenth).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "trace/model/step_log.h"

namespace redline::trace {

using PartTimes = std::array<double, kLogParts>;

/// 0 for what no hook saw.
[[nodiscard]] inline double or_zero(int64_t value) {
  return value == kUnseen ? 0 : static_cast<double>(value);
}

[[nodiscard]] PartTimes part_times(const LoggedStep& step);

struct SlowStep {
  int64_t step = 0;
  int64_t begin_ns = 0;
  int64_t length_ns = 0;
  int64_t excess_ns = 0;        ///< time beyond its neighbours' median
  int64_t own_excess_ns = 0;    ///< the excess without waiting for collectives
  std::optional<LogPart> part;  ///< the part that has at least half of the excess
  int64_t part_excess_ns = 0;   ///< what that part has of it; all of it where none has half
  int64_t caught_up_ns = 0;     ///< by which the steps right after it were shorter than usual
  int rank = 0;
  std::array<float, kLogParts> longer_ns{};  ///< by LogPart: time beyond its usual time, or 0

  /// No part has half of the excess, but all together have more than that.
  [[nodiscard]] bool is_in_several_parts() const;
};

/// Those of the entries from `warm_up` on, by step: at most 4,096, those that lost most. Behind
/// them, for each entry of the log whether it is slow. A step in which Redline wrote a trace is
/// slow, but not among the first.
[[nodiscard]] std::pair<std::vector<SlowStep>, std::vector<bool>> find_slow_steps(
    const StepLog& log, size_t warm_up);

}  // namespace redline::trace
