// What only the traces of several ranks together tell.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "trace/analysis.h"

namespace redline::trace {

/// One rank's mean step, parted into its own work and the time in which nothing but communication
/// went on. Ranks of a synchronous job have equal steps; the one that the others wait for is the
/// one with the longest own work.
struct RankTime {
  int rank = 0;
  int64_t step_ns = 0;
  int64_t own_work_ns = 0;
  int64_t exposed_communication_ns = 0;
};

struct RankComparison {
  std::vector<RankTime> times;   ///< in the order of the analyses
  std::optional<int> straggler;  ///< the rank with the longest own work; none if all are equal
  int64_t skew_ns = 0;           ///< longest minus shortest own work of a step
  /// What to add to each rank's clock so that all leave the collectives at the time of the first
  /// rank; none where the ranks' collectives do not match.
  std::vector<std::optional<int64_t>> clock_offsets_ns;
};

/// None for fewer than two ranks.
[[nodiscard]] std::optional<RankComparison> compare_ranks(std::span<const Analysis* const> ranks);

}  // namespace redline::trace
