// Offsets between the clocks of ranks, out of the collectives that they did together.
//
// No rank leaves an all-reduce before all have entered it, and all leave it within the time that
// the last piece of data needs: so the differences of its ends on two ranks scatter around the
// offset of their clocks. What scatters is robustly averaged (median, outliers removed in rounds),
// and the estimate is kept within what cause and effect allow: nobody ends before another begins.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/intervals.h"
#include "trace/analysis/matched_collectives.h"

namespace redline::trace {

/// What to add to the stamps of one rank to have them on the clock of the first rank.
struct ClockOffset {
  int64_t offset_ns = 0;  ///< at `at_ns`
  /// 95 % bound of the median of `pairs` ends, as if each scattered by itself, and no less than the
  /// resolution of the stamps. Ranks that always leave in the same order by the same time cannot be
  /// told from an offset.
  int64_t uncertainty_ns = 0;
  double drift = 0;   ///< further ns per ns of the rank's own clock; 0 unless plainly there
  int64_t at_ns = 0;  ///< on the rank's own clock
  int64_t pairs = 0;  ///< collectives that were used; 0 for the first rank
  int64_t outliers = 0;

  /// What to add to `time_ns`.
  [[nodiscard]] int64_t at(int64_t time_ns) const;
};

/// One pair of ends of the same collective.
struct CollectiveEnds {
  Interval reference;
  Interval rank;
};

/// Offset of one clock; none without pairs.
[[nodiscard]] std::optional<ClockOffset> estimate_offset(std::span<const CollectiveEnds> pairs);

/// One a rank. Ranks that share no group with the first one are aligned over those that do; none
/// where there is no way.
[[nodiscard]] std::vector<std::optional<ClockOffset>> align_clocks(
    size_t rank_count, const MatchedCollectives& matched);

}  // namespace redline::trace
