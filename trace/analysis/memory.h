// Memory of each device over time, from the allocator's "[memory]" instants (profile_memory=True,
// record --memory).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/intervals.h"
#include "trace/analysis/host_tree.h"
#include "trace/model/model.h"
#include "trace/read/text_cursor.h"

namespace redline::trace {

/// One allocation (bytes > 0) or release.
struct MemoryEvent {
  int64_t time_ns = 0;
  TrackId track;
  uint64_t text_offset = 0;
  // Set by read_args():
  int64_t bytes = 0;
  int64_t allocated = -1;  ///< total after this event; -1 if the trace does not say
  /// Total that the caching allocator holds after this event; -1 if unknown.
  int64_t reserved = -1;
  uint64_t address = 0;  ///< 0 if the trace does not say
  int32_t device = -1;   ///< -1 for the host
  bool is_gpu = false;
};

/// Sorted by time. The events' args must still be read, by read_args().
[[nodiscard]] std::vector<MemoryEvent> find_memory_events(const Trace& trace);

void read_args(TextCursor& text, std::span<MemoryEvent> events);

struct MemoryPoint {
  int64_t time_ns = 0;
  int64_t allocated_bytes = 0;
  int64_t reserved_bytes = 0;  ///< 0 also if the trace does not say
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
  /// Held by the caching allocator; nullopt if the trace does not say.
  std::optional<int64_t> reserved_bytes;
  int64_t peak_time_ns = 0;         ///< when most was allocated
  std::vector<MemoryPoint> points;  ///< the state after each event, by time
  /// The largest `allocated` of each of up to 256 equal pieces of the recording: no peak is lost.
  std::vector<MemoryPoint> timeline;
  /// Most bytes first, at most 10; empty if the trace has no addresses. With the three sums below
  /// they come to `allocated_bytes`.
  std::vector<MemoryHolder> holders;
  MemoryHolder other_holders;  ///< the sum over the holders that are not among the first ten
  /// Of memory that was allocated before the recording, what was not released before the peak. Less
  /// than 0 if the totals begin with the recording: then it is what was released.
  int64_t earlier_bytes = 0;
  int64_t unknown_bytes = 0;  ///< what the events do not explain: they lack addresses, or were lost

  [[nodiscard]] std::string device_text() const;  ///< "GPU 0" or "host"
};

/// One entry for each device that has such events, GPUs first. Traces up to 2022 have no totals;
/// then it is unknown what was allocated before the recording, and sums start at 0.
[[nodiscard]] std::vector<MemoryPeak> memory_peaks(const Trace& trace,
                                                   const std::vector<MemoryEvent>& events,
                                                   const HostTree& tree);

/// The most that was allocated within a part of the recording, such as a step, with what lived on
/// from before it. It reads the events' args anew.
[[nodiscard]] std::vector<MemoryPeak> memory_peaks_within(const Trace& trace, const HostTree& tree,
                                                          Interval time);

}  // namespace redline::trace
