// Memory peaks, from the allocator's "[memory]" instants (profile_memory=True, record --memory).
#pragma once

#include <cstdint>
#include <vector>

#include "trace/model.h"

namespace redline::trace {

struct MemoryPeak {
  bool is_gpu = false;
  int32_t device = 0;  ///< -1 for the host
  int64_t allocated_bytes = 0;
  int64_t reserved_bytes = 0;  ///< held by the caching allocator
};

/// One entry a device that has such instants, GPUs first.
[[nodiscard]] std::vector<MemoryPeak> memory_peaks(const Trace& trace);

}  // namespace redline::trace
