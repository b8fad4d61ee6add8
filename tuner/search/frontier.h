// The batch sizes that fit in memory, as far as the trials so far tell, and where to look next.
//
// Memory depends on the batch size and on what makes a stratum (precision, layout, anything
// unknown), not on how data is loaded; so trials with other worker counts count as well.
//
// Within a stratum peak memory is close to a line in the batch size, m(b) = a + k b: weights,
// gradients and optimizer states are a, activations are k b. It holds as long as nothing grows in
// steps (cuDNN workspaces, allocator fragments). So the line says where to jump, and no more: that
// a batch size runs out of memory is only known from a trial. Bisection alone was rejected: from
// 32 to a limit of 3000 it needs five trials and more, the line two.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "tuner/search/history.h"

namespace redline::tuner {

struct MemoryReading {
  int64_t batch_size = 0;
  uint64_t peak_bytes = 0;
};

struct MemoryLine {
  double fixed_bytes = 0;       ///< a
  double bytes_per_sample = 0;  ///< k, > 0

  /// Largest batch size within `share` of `limit_bytes`.
  [[nodiscard]] double batch_within(uint64_t limit_bytes, double share) const;
  /// Largest batch size that takes `share` of the room which the fixed part leaves.
  [[nodiscard]] double batch_in_room(uint64_t limit_bytes, double share) const {
    return share * batch_within(limit_bytes, 1);
  }
};

/// Through one reading, with the weights of another stratum (`fixed_bytes`).
[[nodiscard]] std::optional<MemoryLine> borrow_memory_line(double fixed_bytes,
                                                           const MemoryReading& reading);

/// Through the two readings with the largest batch sizes (a secant: the far end matters). Nothing
/// with fewer than two batch sizes, or where memory does not grow by enough to tell it from noise.
[[nodiscard]] std::optional<MemoryLine> fit_memory_line(std::vector<MemoryReading> readings);

struct Frontier {
  std::optional<int64_t> largest_ok;
  std::optional<int64_t> smallest_failed;   ///< out of memory, or no step in time
  std::optional<int64_t> failed_elsewhere;  ///< the same over all strata: here it may fit
  /// The smallest peak that a line predicted for a batch size which then failed. The real limit is
  /// no higher than that.
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

/// The knobs of `config` that change a rank's peak memory, except the batch size.
[[nodiscard]] Config memory_stratum(const History& history, const Config& config);

/// Of the stratum that `config` lies in.
[[nodiscard]] Frontier find_frontier(const History& history, const Config& config);

/// Nothing where too little is known, or where as much ran already.
[[nodiscard]] std::optional<HostUse> predict_host_use(const History& history, const Config& config);

/// Workers x prefetch: batches that wait in /dev/shm; nothing where the workers are not known.
[[nodiscard]] std::optional<double> batches_in_flight(const History& history, const Config& config);

}  // namespace redline::tuner
