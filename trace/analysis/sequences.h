// Runs of GPU work that a stream does again and again: what a CUDA graph could launch at once, or
// one fused kernel could do.
//
// Windows of 2, 4, 8, 16 and 32 neighbours get numbers, those of one length made of two of half of
// it, so that equal windows have equal numbers after one hash lookup each: linear in the trace. Of
// each length the windows with the most idle time inside are then grown to both sides as long as
// all their occurrences agree. (A suffix array finds every repeat, at ten times the time.)
#pragma once

#include <cstdint>
#include <vector>

#include "trace/analysis/device_work.h"
#include "trace/model/model.h"

namespace redline::trace {

struct KernelSequence {
  std::vector<StringId> names;  ///< in order; as many as the sequence is long
  SliceId first;                ///< the first piece of work of its first occurrence
  int64_t count = 0;            ///< occurrences, none overlapping another
  int64_t total_ns = 0;         ///< of the work, over all occurrences
  int64_t gap_ns = 0;           ///< idle between the pieces, over all occurrences

  [[nodiscard]] int64_t mean_gap_ns() const {
    const int64_t gaps = count * (static_cast<int64_t>(names.size()) - 1);
    return gaps == 0 ? 0 : gap_ns / gaps;
  }
};

/// At most ten, those with the most idle time inside first. Collectives end a sequence.
[[nodiscard]] std::vector<KernelSequence> kernel_sequences(const DeviceTable& device);

}  // namespace redline::trace
