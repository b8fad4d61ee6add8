// What streams wait for: launches, queues and idle gaps, as HolisticTraceAnalysis defines them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "trace/model.h"

namespace redline::trace {

/// GPU work whose launch is in the trace.
struct LaunchStatistics {
  int64_t count = 0;
  int64_t host_mean_ns = 0;    ///< of the runtime call
  int64_t device_mean_ns = 0;  ///< of the kernel or copy
  int64_t delay_mean_ns = 0;   ///< from the call's end to the work's begin
  int64_t short_count = 0;     ///< work that is shorter than the call that launched it
};

/// How many launched pieces of work had not begun, sampled at each launch and each begin.
struct QueueLength {
  double mean = 0;
  int64_t max = 0;
};

/// Gaps between neighbours of a stream, summed over streams, by reason: the host launched the next
/// work after the gap had begun; or the gap is shorter than 30 us (scheduling); or else. HTA means
/// 30 ns and computes 30 us; gaps between queued kernels are of microseconds, so this keeps to us.
struct IdleGaps {
  int64_t host_wait_ns = 0;
  int64_t kernel_wait_ns = 0;
  int64_t other_ns = 0;
};

[[nodiscard]] std::optional<LaunchStatistics> launch_statistics(const Trace& trace);
[[nodiscard]] std::map<int64_t, QueueLength> queue_lengths(const Trace& trace);  ///< by stream
[[nodiscard]] std::optional<IdleGaps> idle_gaps(const Trace& trace);  ///< none without GPU work

}  // namespace redline::trace
