#include "trace/streams.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "trace/slice_view.h"

namespace redline::trace {
namespace {

constexpr int64_t kSchedulingGapNs = 30'000;

// Launches of kernels, copies and memsets.
template <typename Visit>
void for_each_launch(const Trace& trace, Visit visit) {
  for (const Flow& flow : trace.flows()) {
    if (flow.kind == FlowKind::kLaunch && is_device_work(trace.slices().category[flow.to.value])) {
      visit(flow.from, flow.to);
    }
  }
}

struct DeviceSlice {
  Interval interval;
  int64_t launch_begin_ns = INT64_MIN;  // unknown
};

}  // namespace

std::optional<LaunchStatistics> launch_statistics(const Trace& trace) {
  LaunchStatistics sums;
  for_each_launch(trace, [&](SliceId from, SliceId to) {
    const Interval host = interval_of(trace, from), device = interval_of(trace, to);
    ++sums.count;
    sums.host_mean_ns += host.length_ns();
    sums.device_mean_ns += device.length_ns();
    sums.delay_mean_ns += std::max<int64_t>(0, device.begin_ns - host.end_ns);
    if (device.length_ns() < host.length_ns()) ++sums.short_count;
  });
  if (sums.count == 0) return std::nullopt;
  sums.host_mean_ns /= sums.count;
  sums.device_mean_ns /= sums.count;
  sums.delay_mean_ns /= sums.count;
  return sums;
}

std::map<int64_t, QueueLength> queue_lengths(const Trace& trace) {
  std::map<int64_t, std::vector<std::pair<int64_t, int>>> changes;  // by stream: time, +1 or -1
  for_each_launch(trace, [&](SliceId from, SliceId to) {
    auto& stream = changes[track_of(trace, to).stream];
    stream.emplace_back(interval_of(trace, from).begin_ns, 1);
    stream.emplace_back(interval_of(trace, to).begin_ns, -1);
  });
  std::map<int64_t, QueueLength> queues;
  for (auto& [stream, events] : changes) {
    std::sort(events.begin(), events.end(), [](const auto& left, const auto& right) {
      return std::pair(left.first, -left.second) < std::pair(right.first, -right.second);
    });
    QueueLength& queue = queues[stream];
    int64_t length = 0, sum = 0;
    for (const auto& [time_ns, change] : events) {
      length += change;
      sum += length;
      queue.max = std::max(queue.max, length);
    }
    queue.mean = static_cast<double>(sum) / static_cast<double>(events.size());
  }
  return queues;
}

std::optional<IdleGaps> idle_gaps(const Trace& trace) {
  std::map<std::pair<int32_t, int64_t>, std::vector<DeviceSlice>> streams;
  std::vector<int64_t> launch_begin_ns(trace.slice_count(), INT64_MIN);
  for_each_launch(trace, [&](SliceId from, SliceId to) {
    launch_begin_ns[to.value] = interval_of(trace, from).begin_ns;
  });
  for_each_slice(trace, [&](SliceId slice, Category category) {
    if (!is_device_work(category)) return;
    const Track& track = track_of(trace, slice);
    streams[{track.device, track.stream}].push_back(
        {interval_of(trace, slice), launch_begin_ns[slice.value]});
  });
  if (streams.empty()) return std::nullopt;
  IdleGaps gaps;
  for (auto& [key, slices] : streams) {
    std::sort(slices.begin(), slices.end(), [](const DeviceSlice& left, const DeviceSlice& right) {
      return left.interval.begin_ns < right.interval.begin_ns;
    });
    for (size_t i = 1; i < slices.size(); ++i) {
      const int64_t previous_end_ns = slices[i - 1].interval.end_ns;
      const int64_t gap_ns = slices[i].interval.begin_ns - previous_end_ns;
      if (gap_ns <= 0) continue;
      if (slices[i].launch_begin_ns > previous_end_ns) {
        gaps.host_wait_ns += gap_ns;
      } else if (gap_ns < kSchedulingGapNs) {
        gaps.kernel_wait_ns += gap_ns;
      } else {
        gaps.other_ns += gap_ns;
      }
    }
  }
  return gaps;
}

}  // namespace redline::trace
