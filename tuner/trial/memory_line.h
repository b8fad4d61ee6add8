// Peak memory as a line in the batch size: m(b) = a + k b.
//
// Weights, gradients and optimizer states are a, activations are k b. It holds within one stratum
// (one precision, one layout) as long as nothing has a step in it (cuDNN workspaces, allocator
// fragments); so the line is used to jump, never to conclude: what runs out of memory is only known
// from a trial.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

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

}  // namespace redline::tuner
