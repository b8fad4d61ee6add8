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

/// GPU work whose launch is in the trace. One graph launch starts many kernels: each counts, with
/// the length of the one call; the delay of all but the first is mostly the work before them.
struct LaunchStatistics {
  int64_t count = 0;           ///< of kernels, copies and memsets
  int64_t calls = 0;           ///< of runtime calls that launched them
  int64_t graph_launches = 0;  ///< of these, cudaGraphLaunch and the like
  int64_t graph_count = 0;     ///< work that graphs launched
  int64_t short_count = 0;     ///< work that is shorter than the call that launched it
  Distribution host_ns;        ///< the runtime call
  Distribution device_ns;      ///< the kernel or copy
  Distribution delay_ns;       ///< from the call's end to the work's begin, 0 where they overlap
};

/// How many launched pieces of work of a stream had not begun.
struct QueueLength {
  int32_t device = -1;
  int64_t stream = -1;
  Distribution length;   ///< sampled at each launch and each begin
  double time_mean = 0;  ///< over the time from the first launch to the last begin
  int64_t full_ns = 0;   ///< time with 1024 and more, where launches block
};

/// From `time_ns` on, `length` launched pieces of work had not begun.
struct QueuePoint {
  int64_t time_ns = 0;
  int64_t length = 0;
};

/// Gaps between neighbours of a stream, by reason: the host launched the next work after the gap
/// had begun; or the gap is shorter than 30 us (scheduling); or else. HTA means 30 ns and computes
/// 30 us; gaps between queued kernels are of microseconds, so this keeps to us.
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
/// Of streams with launches, by device and stream.
[[nodiscard]] std::vector<QueueLength> queue_lengths(const Trace& trace,
                                                     const DeviceWorkTable& table);
/// The queues of all streams of the device together, by time.
[[nodiscard]] std::vector<QueuePoint> queue_changes(const Trace& trace,
                                                    const DeviceWorkTable& table, int32_t device);
/// Of all streams, by device and stream.
[[nodiscard]] std::vector<StreamIdle> idle_gaps(const Trace& trace, const DeviceWorkTable& table);
/// Over streams; none without GPU work.
[[nodiscard]] std::optional<IdleGaps> sum_of(const std::vector<StreamIdle>& streams);

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
[[nodiscard]] std::vector<KernelSequence> kernel_sequences(const DeviceWorkTable& device);

}  // namespace redline::trace
