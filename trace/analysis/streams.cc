#include "trace/analysis/streams.h"

#include <algorithm>
#include <string_view>

#include "base/natural_sort.h"
#include "trace/model/slice_view.h"

namespace redline::trace {
namespace {

constexpr int64_t kSchedulingGapNs = 30'000;
constexpr size_t kFullQueue = 1024;  // so many launches may wait in a stream; then CUDA blocks

bool launches_graphs(std::string_view call) {
  return call.find("GraphLaunch") != std::string_view::npos;  // cudaGraphLaunch, hipGraphLaunch…
}

// The state of one stream's queue, moved from change to change.
class Queue {
 public:
  void begin_at(int64_t time_ns) { at_ns_ = time_ns; }

  /// `launches`: as `by`, but a graph counts as one, however many kernels it has.
  void change(int64_t time_ns, int by, int launches) {
    const int64_t passed_ns = time_ns - at_ns_;
    at_ns_ = time_ns;
    span_ns_ += passed_ns;
    area_ += static_cast<double>(length_) * static_cast<double>(passed_ns);
    if (launched_ >= static_cast<int64_t>(kFullQueue)) full_ns_ += passed_ns;
    length_ += by;
    launched_ += launches;
    const auto index = static_cast<size_t>(std::max<int64_t>(0, length_));
    if (index >= samples_.size()) samples_.resize(index + 1);
    ++samples_[index];
  }

  [[nodiscard]] QueueLength summary(const DeviceStream& stream) const {
    return {stream.device, stream.stream, distribution_of_counts(samples_),
            span_ns_ == 0 ? 0 : area_ / static_cast<double>(span_ns_), full_ns_};
  }

 private:
  int64_t at_ns_ = 0;
  int64_t span_ns_ = 0;
  int64_t full_ns_ = 0;
  int64_t length_ = 0;
  int64_t launched_ = 0;
  double area_ = 0;
  std::vector<int64_t> samples_;  // by length
};

struct QueueTime {
  int64_t ns;
  int launches;  // 0: a graph's work behind its first
};

constexpr auto kBefore = [](const QueueTime& left, const QueueTime& right) {
  return left.ns < right.ns;
};

// When work was launched and when it began, each by time.
struct QueueTimes {
  std::vector<QueueTime> launches;
  std::vector<QueueTime> begins;

  void clear() {
    launches.clear();
    begins.clear();
  }
  void add(const Trace& trace, std::span<const DeviceWork> rows) {
    SliceId last = SliceId::none();
    for (const DeviceWork& work : rows) {
      if (!work.launch) continue;
      const int is_first = work.launch == last ? 0 : 1;
      last = work.launch;
      launches.push_back({trace.slices().begin_ns[work.launch.value], is_first});
      begins.push_back({work.interval.begin_ns, is_first});
    }
  }
  // Work that begins at the moment of a launch was launched earlier.
  template <typename Change>
  void for_each_change(const Change& change) const {
    auto begin = begins.begin();
    for (const QueueTime& launch : launches) {
      for (; begin != begins.end() && begin->ns < launch.ns; ++begin) {
        change(begin->ns, -1, -begin->launches);
      }
      change(launch.ns, 1, launch.launches);
    }
    for (; begin != begins.end(); ++begin) change(begin->ns, -1, -begin->launches);
  }
};

}  // namespace

std::optional<LaunchStatistics> launch_statistics(const Trace& trace,
                                                  const DeviceWorkTable& table) {
  LaunchStatistics statistics;
  std::vector<int64_t> host_ns, device_ns, delay_ns;
  for (auto* values : {&host_ns, &device_ns, &delay_ns}) values->reserve(table.rows.size());
  std::vector<bool> is_counted(trace.slice_count(), false);
  for (const DeviceWork& work : table.rows) {
    if (!work.launch) continue;
    const Interval call = interval_of(trace, work.launch);
    host_ns.push_back(call.length_ns());
    device_ns.push_back(work.interval.length_ns());
    delay_ns.push_back(std::max<int64_t>(0, work.interval.begin_ns - call.end_ns));
    if (device_ns.back() < host_ns.back()) ++statistics.short_count;
    const bool is_graph = launches_graphs(name_of(trace, work.launch));
    if (is_graph) ++statistics.graph_count;
    if (is_counted[work.launch.value]) continue;
    is_counted[work.launch.value] = true;
    ++statistics.calls;
    if (is_graph) ++statistics.graph_launches;
  }
  if (host_ns.empty()) return std::nullopt;
  statistics.count = static_cast<int64_t>(host_ns.size());
  statistics.host_ns = distribution_of(host_ns);
  statistics.device_ns = distribution_of(device_ns);
  statistics.delay_ns = distribution_of(delay_ns);
  return statistics;
}

std::vector<QueueLength> queue_lengths(const Trace& trace, const DeviceWorkTable& table) {
  std::vector<QueueLength> queues;
  QueueTimes times;
  for (const DeviceStream& stream : table.streams) {
    times.clear();
    times.add(trace, table.of(stream));
    if (times.launches.empty()) continue;
    natural_sort(std::span(times.launches), kBefore);
    Queue queue;
    queue.begin_at(std::min(times.launches.front().ns, times.begins.front().ns));
    times.for_each_change(
        [&](int64_t time_ns, int by, int launched) { queue.change(time_ns, by, launched); });
    queues.push_back(queue.summary(stream));
  }
  return queues;
}

std::vector<QueuePoint> queue_changes(const Trace& trace, const DeviceWorkTable& table,
                                      int32_t device) {
  QueueTimes times;
  for (const DeviceStream& stream : table.streams) {
    if (stream.device == device) times.add(trace, table.of(stream));
  }
  natural_sort(std::span(times.launches), kBefore);
  natural_sort(std::span(times.begins), kBefore);
  std::vector<QueuePoint> points;
  points.reserve(2 * times.launches.size());
  int64_t length = 0;
  times.for_each_change([&](int64_t time_ns, int by, int) {
    length += by;
    points.push_back({time_ns, std::max<int64_t>(0, length)});
  });
  return points;
}

std::vector<StreamIdle> idle_gaps(const Trace& trace, const DeviceWorkTable& table) {
  std::vector<StreamIdle> streams;
  for (const DeviceStream& stream : table.streams) {
    IdleGaps gaps;
    const std::span<const DeviceWork> works = table.of(stream);
    int64_t busy_until_ns = works.empty() ? 0 : works.front().interval.begin_ns;
    for (const DeviceWork& work : works) {
      const int64_t gap_ns = work.interval.begin_ns - busy_until_ns;
      const int64_t gap_begin_ns = busy_until_ns;
      busy_until_ns = std::max(busy_until_ns, work.interval.end_ns);
      if (gap_ns <= 0) continue;
      if (work.launch && trace.slices().begin_ns[work.launch.value] > gap_begin_ns) {
        gaps.host_wait_ns += gap_ns;
      } else if (gap_ns < kSchedulingGapNs) {
        gaps.kernel_wait_ns += gap_ns;
      } else {
        gaps.other_ns += gap_ns;
      }
    }
    streams.push_back({stream.device, stream.stream, gaps});
  }
  return streams;
}

std::optional<IdleGaps> sum_of(const std::vector<StreamIdle>& streams) {
  if (streams.empty()) return std::nullopt;
  IdleGaps sum;
  for (const StreamIdle& stream : streams) {
    sum.host_wait_ns += stream.gaps.host_wait_ns;
    sum.kernel_wait_ns += stream.gaps.kernel_wait_ns;
    sum.other_ns += stream.gaps.other_ns;
  }
  return sum;
}

}  // namespace redline::trace
