#include "trace/analysis/memory.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/statistics.h"
#include "trace/read/args.h"

namespace redline::trace {
namespace {

constexpr int64_t kDeviceTypeCpu = 0;  // c10::DeviceType
constexpr int64_t kTimelinePoints = 256;
constexpr size_t kHolders = 10;

int64_t minus(int64_t left, int64_t right) {
  return saturating_sum(left, right == INT64_MIN ? INT64_MAX : -right);
}

// Finds the operator around each of a track's moments, given in order of time.
class TrackCursor {
 public:
  TrackCursor(const Trace& trace, const HostTree& tree, TrackId track)
      : trace_(trace),
        tree_(tree),
        first_lane_(trace.tracks()[track.value].first_lane.value),
        begun_(trace.tracks()[track.value].lane_count, 0) {}

  SliceId operator_at(int64_t time_ns) {
    SliceId innermost;
    for (uint32_t depth = 0; depth < begun_.size(); ++depth) {
      const Lane& lane = trace_.lanes()[first_lane_ + depth];
      uint32_t& next = begun_[depth];
      const auto& slices = trace_.slices();
      while (next < lane.count && slices.begin_ns[lane.first.value + next] <= time_ns) ++next;
      if (next == 0) continue;
      const uint32_t last = lane.first.value + next - 1;
      if (slices.end_ns[last] < time_ns) continue;
      innermost = is_host_node(slices.category[last]) ? SliceId{last} : tree_.parent[last];
    }
    return innermost;
  }

 private:
  const Trace& trace_;
  const HostTree& tree_;
  uint32_t first_lane_;
  std::vector<uint32_t> begun_;  // by depth: how many slices have begun
};

// The memory of one device, moved from event to event.
class DeviceMemory {
 public:
  /// The peak is looked for within `time`, the pieces are those of all events.
  DeviceMemory(MemoryPeak& peak, Interval time, Interval all)
      : peak_(peak),
        time_(time),
        begin_ns_(all.begin_ns),
        piece_ns_(all.length_ns() / kTimelinePoints + 1) {}

  void add(const MemoryEvent& event) {
    if (peak_.points.empty() && event.allocated >= 0) {
      peak_.earlier_bytes = minus(event.allocated, event.bytes);
    }
    growth_ = saturating_sum(growth_, event.bytes);
    const MemoryPoint point{event.time_ns, event.allocated >= 0 ? event.allocated : growth_,
                            std::max<int64_t>(0, event.reserved)};
    peak_.points.push_back(point);
    if (event.reserved >= 0 && !peak_.reserved_bytes) peak_.reserved_bytes = 0;
    look_for_peak(point);
    const int64_t piece = (point.time_ns - begin_ns_) / piece_ns_;
    if (peak_.timeline.empty() || piece != last_piece_) {
      peak_.timeline.push_back(point);
    } else if (point.allocated_bytes > peak_.timeline.back().allocated_bytes) {
      peak_.timeline.back() = point;
    }
    last_piece_ = piece;
  }
  [[nodiscard]] size_t events_to_peak() const { return events_to_peak_; }

 private:
  // What is allocated when the time begins counts, too.
  void look_for_peak(const MemoryPoint& point) {
    if (point.time_ns >= time_.end_ns) return;
    const bool is_before = point.time_ns < time_.begin_ns;
    if (is_before || point.allocated_bytes > peak_.allocated_bytes) {
      peak_.allocated_bytes = point.allocated_bytes;
      peak_.peak_time_ns = std::max(point.time_ns, time_.begin_ns);
      events_to_peak_ = peak_.points.size();
    }
    if (!peak_.reserved_bytes) return;
    peak_.reserved_bytes =
        is_before ? point.reserved_bytes : std::max(*peak_.reserved_bytes, point.reserved_bytes);
  }

  MemoryPeak& peak_;
  Interval time_;
  size_t events_to_peak_ = 0;
  int64_t begin_ns_;
  int64_t piece_ns_;
  int64_t last_piece_ = 0;
  int64_t growth_ = 0;
};

using DeviceKey = std::pair<bool, int32_t>;                       // GPUs (not CPU) first
using Living = std::unordered_map<uint64_t, const MemoryEvent*>;  // by address

DeviceKey key_of(const MemoryEvent& event) { return {!event.is_gpu, event.device}; }

// The allocations that live at the peak of a device; what is released without having been allocated
// here is older than the recording.
class LivingAtPeak {
 public:
  LivingAtPeak(MemoryPeak& peak, size_t events_to_peak)
      : peak_(peak), events_left_(events_to_peak) {}

  void add(const MemoryEvent& event) {
    if (events_left_ == 0) return;
    --events_left_;
    if (event.address == 0) is_whole_ = false;
    if (event.address == 0) return;
    if (event.bytes > 0) living_[event.address] = &event;
    if (event.bytes < 0 && living_.erase(event.address) == 0) {
      peak_.earlier_bytes = saturating_sum(peak_.earlier_bytes, event.bytes);
    }
  }
  [[nodiscard]] const Living& living() const { return living_; }
  /// Whether all events have addresses; else nobody knows what was released.
  [[nodiscard]] bool is_whole() const { return is_whole_; }

 private:
  MemoryPeak& peak_;
  size_t events_left_;
  bool is_whole_ = true;
  Living living_;
};

// Sums up the living allocations by the operator that made them.
void add_holders(MemoryPeak& peak, const Trace& trace, const Living& living, const HostTree& tree) {
  std::vector<const MemoryEvent*> held;
  held.reserve(living.size());
  for (const auto& [address, event] : living) held.push_back(event);
  std::ranges::sort(held);  // events lie in order of time, so this sorts by time

  std::map<TrackId, TrackCursor> cursors;
  std::map<StringId, MemoryHolder> by_name;
  for (const MemoryEvent* event : held) {
    SliceId around;
    if (event->track) {
      around = cursors.try_emplace(event->track, trace, tree, event->track)
                   .first->second.operator_at(event->time_ns);
    }
    const StringId name = around ? trace.slices().name[around.value] : StringId::none();
    MemoryHolder& holder = by_name[name];
    holder.name = std::string(trace.string(name));
    holder.bytes = saturating_sum(holder.bytes, event->bytes);
    ++holder.count;
  }
  std::vector<MemoryHolder>& holders = peak.holders;
  peak.unknown_bytes = minus(peak.allocated_bytes, peak.earlier_bytes);
  for (auto& [name, holder] : by_name) {
    peak.unknown_bytes = minus(peak.unknown_bytes, holder.bytes);
    holders.push_back(std::move(holder));
  }
  std::ranges::stable_sort(holders, std::greater(), &MemoryHolder::bytes);
  for (size_t i = kHolders; i < holders.size(); ++i) {
    peak.other_holders.bytes = saturating_sum(peak.other_holders.bytes, holders[i].bytes);
    peak.other_holders.count += holders[i].count;
  }
  if (holders.size() > kHolders) holders.resize(kHolders);
}

}  // namespace

std::vector<MemoryEvent> find_memory_events(const Trace& trace) {
  const StringId name = trace.find_string("[memory]");
  std::vector<MemoryEvent> events;
  if (!name) return events;
  events.reserve(trace.instants().size());
  for (const Instant& instant : trace.instants()) {
    if (instant.name != name) continue;
    MemoryEvent& event = events.emplace_back();
    event.time_ns = instant.time_ns;
    event.track = instant.track;
    event.text_offset = instant.text_offset;
  }
  return events;
}

void read_args(TextCursor& text, std::span<MemoryEvent> events) {
  constexpr auto kKeys = std::to_array<std::string_view>(
      {"Device Type", "Device Id", "Bytes", "Total Allocated", "Total Reserved", "Addr"});
  std::array<std::string_view, kKeys.size()> values;
  for (MemoryEvent& event : events) {
    find_args(text.text_from(event.text_offset), kKeys, values);
    event.is_gpu = to_integer(values[0]).value_or(kDeviceTypeCpu) != kDeviceTypeCpu;
    event.device = static_cast<int32_t>(to_integer(values[1]).value_or(-1));
    event.bytes = to_integer(values[2]).value_or(0);
    event.allocated = to_integer(values[3]).value_or(-1);
    event.reserved = to_integer(values[4]).value_or(-1);
    event.address = static_cast<uint64_t>(to_integer(values[5]).value_or(0));
  }
}

namespace {

std::vector<MemoryPeak> peaks_of(const Trace& trace, const std::vector<MemoryEvent>& events,
                                 const HostTree& tree, Interval time) {
  if (events.empty()) return {};
  const Interval all{events.front().time_ns, events.back().time_ns};
  std::map<DeviceKey, MemoryPeak> peaks;
  std::map<DeviceKey, DeviceMemory> devices;
  for (const MemoryEvent& event : events) {
    const DeviceKey key = key_of(event);
    auto device = devices.find(key);
    if (device == devices.end()) {
      MemoryPeak& peak = peaks[key];
      peak.is_gpu = event.is_gpu;
      peak.device = event.device;
      device = devices.try_emplace(key, peak, time, all).first;
    }
    device->second.add(event);
  }
  std::map<DeviceKey, LivingAtPeak> living;
  for (auto& [key, peak] : peaks) {
    living.try_emplace(key, peak, devices.at(key).events_to_peak());
  }
  for (const MemoryEvent& event : events) living.at(key_of(event)).add(event);
  std::vector<MemoryPeak> list;
  for (auto& [key, peak] : peaks) {
    if (peak.allocated_bytes <= 0) continue;
    if (!living.at(key).is_whole()) peak.earlier_bytes = 0;
    add_holders(peak, trace, living.at(key).living(), tree);
    list.push_back(std::move(peak));
  }
  return list;
}

constexpr Interval kAllTime{INT64_MIN, INT64_MAX};

}  // namespace

std::string MemoryPeak::device_text() const {
  return is_gpu ? "GPU " + std::to_string(device) : "host";
}

std::vector<MemoryPeak> memory_peaks(const Trace& trace, const std::vector<MemoryEvent>& events,
                                     const HostTree& tree) {
  return peaks_of(trace, events, tree, kAllTime);
}

std::vector<MemoryPeak> memory_peaks_within(const Trace& trace, const HostTree& tree,
                                            Interval time) {
  std::vector<MemoryEvent> events = find_memory_events(trace);
  TextCursor text(trace);
  read_args(text, events);
  return peaks_of(trace, events, tree, time);
}

}  // namespace redline::trace
