// Computes the offsets between the clocks of ranks from the collectives that they did together.
// Ranks of one host have one clock.
//
// No rank leaves an all-reduce before all have entered it, and all leave it within the time that
// the last piece of data needs: so the differences of its ends on two ranks scatter around the
// offset of their clocks. They are averaged robustly, and those with the one and the other rank
// last count alike, because who waits leaves later. The estimate is kept within what cause and
// effect allow: no rank ends a collective before another begins it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/intervals.h"
#include "trace/analysis/matched_collectives.h"

namespace redline::trace {

/// What to add to the stamps of one rank to have them on the clock of the reference, which is the
/// first rank that has one in common with another.
struct ClockOffset {
  int64_t offset_ns = 0;  ///< at `at_ns`
  /// 95 % bound of the scatter of `pairs` ends and of what may be common to all: half of what the
  /// two orders of arrival differ by, or, if nearly always the same rank came last, 100 us or the
  /// time of the shortest call. Never less than the resolution of the time stamps.
  int64_t uncertainty_ns = 0;
  double drift = 0;   ///< further ns per ns of the rank's own clock; 0 unless it is significant
  int64_t at_ns = 0;  ///< on the rank's own clock
  int64_t pairs = 0;  ///< collectives that were used; 0 for the reference and those of its host
  int64_t outliers = 0;

  [[nodiscard]] bool is_reference() const { return pairs == 0 && uncertainty_ns == 0; }

  /// What to add to `time_ns`, a time on the rank's own clock.
  [[nodiscard]] int64_t at(int64_t time_ns) const;
};

/// For a table: "0" of the reference, "same host", or "-123.0 us ± 1.0 us".
[[nodiscard]] std::string offset_text(const ClockOffset& clock);

/// When the same collective ran, as two ranks recorded it.
struct CollectiveEnds {
  Interval reference;
  Interval rank;
};

/// Estimates the offset of one rank's clock; nullopt without pairs.
[[nodiscard]] std::optional<ClockOffset> estimate_offset(std::span<const CollectiveEnds> pairs);

/// What to add to times of `rank` to have them on the clock of `reference`; nullopt if the two are
/// not known to be of one host.
[[nodiscard]] std::optional<ClockOffset> offset_on_one_host(const HostClock& reference,
                                                            const HostClock& rank);

/// Returns one offset a rank. A rank that shares neither a host nor a group with the reference is
/// aligned through other ranks; nullopt if no such chain exists.
[[nodiscard]] std::vector<std::optional<ClockOffset>> align_clocks(
    std::span<const RankCollectives* const> ranks, const MatchedCollectives& matched);

}  // namespace redline::trace
