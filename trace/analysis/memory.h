// Memory of each device over time, from the allocator's "[memory]" instants (profile_memory=True,
// record --memory).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trace/analysis/host_tree.h"
#include "trace/model/model.h"
#include "trace/read/text_cursor.h"

namespace redline::trace {

/// One allocation (bytes > 0) or release.
struct MemoryEvent {
  int64_t time_ns = 0;
  TrackId track;
  uint64_t text_offset = 0;
  // By read_args:
  int64_t bytes = 0;
  int64_t allocated = -1;  ///< in all, behind this event; -1 where the trace does not say
  int64_t reserved = -1;   ///< by the caching allocator, as above
  uint64_t address = 0;    ///< 0 where the trace does not say
  int32_t device = -1;     ///< -1 for the host
  bool is_gpu = false;
};

/// By time; their args are still to be read.
[[nodiscard]] std::vector<MemoryEvent> find_memory_events(const Trace& trace);

void read_args(TextCursor& text, std::span<MemoryEvent> events);

struct MemoryPoint {
  int64_t time_ns = 0;
  int64_t allocated_bytes = 0;
  int64_t reserved_bytes = 0;
};

/// Bytes that an operator allocated before the peak and that were not released by then.
struct MemoryHolder {
  std::string name;  ///< the innermost operator or annotation around the allocations, or empty
  int64_t bytes = 0;
  int64_t count = 0;
};

struct MemoryPeak {
  bool is_gpu = false;
  int32_t device = 0;  ///< -1 for the host
  int64_t allocated_bytes = 0;
  int64_t reserved_bytes = 0;       ///< held by the caching allocator
  int64_t peak_time_ns = 0;         ///< when most was allocated
  std::vector<MemoryPoint> points;  ///< behind each event, by time
  /// The largest `allocated` of each of up to 256 equal pieces of the recording: no peak is lost.
  std::vector<MemoryPoint> timeline;
  /// Most bytes first, at most 10; empty where the trace has no addresses. What was allocated
  /// before the recording is nobody's.
  std::vector<MemoryHolder> holders;
};

/// One entry a device that has such events, GPUs first. Traces up to 2022 have no totals: what was
/// allocated before the recording is not known then, and sums start at 0.
[[nodiscard]] std::vector<MemoryPeak> memory_peaks(const Trace& trace,
                                                   const std::vector<MemoryEvent>& events,
                                                   const HostTree& tree);

}  // namespace redline::trace
