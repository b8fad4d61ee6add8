// The batch sizes that fit in memory, as far as the trials so far tell, and where to look next.
//
// Memory depends on the batch size and on what makes a stratum (precision, layout, anything
// unknown), not on how data is loaded; so trials with other worker counts count as well.
#pragma once

#include <cmath>
#include <optional>

#include "tuner/search/history.h"
#include "tuner/trial/memory_line.h"

namespace redline::tuner {

struct Frontier {
  std::optional<int64_t> largest_ok;
  std::optional<int64_t> smallest_failed;   ///< out of memory, or no step in time
  std::optional<int64_t> failed_elsewhere;  ///< the same of all strata: here it may fit
  /// The least that a line promised of what then failed: the limit is no higher than that.
  double failed_bytes = HUGE_VAL;
  std::optional<MemoryLine> line;  ///< of the stratum, or with another one's weights

  /// Halfway, by ratio, between what fits and what does not; nothing before both are known.
  [[nodiscard]] std::optional<double> middle() const;
  /// The next batch size to try, above largest_ok; nothing when what is left to gain is small.
  /// With a memory line: where the line reaches 95 % of the limit. Without one: 16 times what fits,
  /// at most the top of the range; and between what fits and what does not, be it in another
  /// stratum, their geometric mean.
  /// Never above `most`: what a trial has time for.
  [[nodiscard]] std::optional<int64_t> next(const Knob& batch, std::optional<uint64_t> limit_bytes,
                                            double most = HUGE_VAL) const;
};

/// The knobs of `config` that move a rank's peak memory, but for the batch size.
[[nodiscard]] Config memory_stratum(const History& history, const Config& config);

/// Of the stratum that `config` lies in.
[[nodiscard]] Frontier find_frontier(const History& history, const Config& config);

}  // namespace redline::tuner
