// What streams wait for (launches, queues and idle gaps, as HolisticTraceAnalysis defines them),
// and which runs of work they repeat.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/statistics.h"
#include "trace/analysis/device_work.h"
#include "trace/model/model.h"

namespace redline::trace {

/// Statistics of the GPU work whose launch is in the trace. One graph launch starts many kernels:
/// each of them counts, with the length of that one call, and the delay of all but the first is
/// mostly the time of the work before them.
struct LaunchStatistics {
  int64_t count = 0;           ///< kernels, copies and memsets
  int64_t calls = 0;           ///< runtime calls that launched them
  int64_t graph_launches = 0;  ///< those of `calls` that are cudaGraphLaunch and the like
  int64_t graph_count = 0;     ///< work that graphs launched
  int64_t short_count = 0;     ///< work that is shorter than the call that launched it
  Distribution host_ns;        ///< the runtime call
  Distribution device_ns;      ///< the kernel or copy
  Distribution delay_ns;       ///< from the call's end to the work's begin, 0 where they overlap
};

/// How many pieces of a stream's work were launched and had not begun.
struct QueueLength {
  int32_t device = -1;
  int64_t stream = -1;
  Distribution length;   ///< sampled at each launch and each begin
  double time_mean = 0;  ///< over the time from the first launch to the last begin
  int64_t full_ns = 0;   ///< time with 1024 or more, when launches block
};

/// From `time_ns` on, `length` launched pieces of work had not begun.
struct QueuePoint {
  int64_t time_ns = 0;
  int64_t length = 0;
};

/// Gaps between successive pieces of a stream's work, by reason. host_wait: the host launched the
/// next work after the gap had begun. kernel_wait: none of that, and the gap is shorter than 30 us
/// (scheduling). other: all the rest. HTA means 30 ns but computes with 30 us; gaps between queued
/// kernels last microseconds, so 30 us is used here, too.
struct IdleGaps {
  int64_t host_wait_ns = 0;
  int64_t kernel_wait_ns = 0;
  int64_t other_ns = 0;
};

struct StreamIdle {
  int32_t device = -1;
  int64_t stream = -1;
  IdleGaps gaps;
};

[[nodiscard]] std::optional<LaunchStatistics> launch_statistics(const Trace& trace,
                                                                const DeviceWorkTable& table);
/// One entry for each stream that has launches, sorted by device and stream.
[[nodiscard]] std::vector<QueueLength> queue_lengths(const Trace& trace,
                                                     const DeviceWorkTable& table);
/// The queues of all streams of the device together, by time.
[[nodiscard]] std::vector<QueuePoint> queue_changes(const Trace& trace,
                                                    const DeviceWorkTable& table, int32_t device);
/// One entry for each stream, sorted by device and stream.
[[nodiscard]] std::vector<StreamIdle> idle_gaps(const Trace& trace, const DeviceWorkTable& table);
/// The sum over the streams; nullopt without GPU work.
[[nodiscard]] std::optional<IdleGaps> sum_of(const std::vector<StreamIdle>& streams);

struct KernelSequence {
  std::vector<StringId> names;  ///< of the pieces of work, in order
  SliceId first;                ///< the first piece of work of its first occurrence
  int64_t count = 0;            ///< occurrences that do not overlap
  int64_t total_ns = 0;         ///< time of the work, over all occurrences
  int64_t gap_ns = 0;           ///< idle time between the pieces, over all occurrences

  [[nodiscard]] int64_t mean_gap_ns() const {
    const int64_t gaps = count * (static_cast<int64_t>(names.size()) - 1);
    return gaps == 0 ? 0 : gap_ns / gaps;
  }
};

/// The repeated sequences with the most idle time inside first, at most ten. A collective ends a
/// sequence.
[[nodiscard]] std::vector<KernelSequence> kernel_sequences(const DeviceWorkTable& device);

}  // namespace redline::trace
