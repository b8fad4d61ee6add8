#include "viewer/models/derived_tracks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "trace/analysis/gpus.h"
#include "trace/analysis/tables.h"
#include "viewer/models/format.h"
#include "viewer/models/session_report.h"
#include "viewer/models/slice_class.h"

namespace redline::viewer {
namespace {

using trace::Analysis;
using trace::DeviceState;

SliceClass class_of(DeviceState state) {
  switch (state) {
    case DeviceState::kExposedCommunication:
      return SliceClass::kCommunication;
    case DeviceState::kOverlapped:
      return SliceClass::kOverlapped;
    case DeviceState::kCopy:
      return SliceClass::kCopy;
    case DeviceState::kCompute:
    case DeviceState::kIdle:
      break;
  }
  return SliceClass::kCompute;
}

const char* name_of(SliceClass slice_class) {
  switch (slice_class) {
    case SliceClass::kCommunication:
      return "communication alone";
    case SliceClass::kOverlapped:
      return "computation and communication";
    case SliceClass::kCopy:
      return "copy";
    default:
      return "computation";
  }
}

void add_memory(DerivedTracks& derived, uint32_t trace, const trace::MemoryPeak& memory) {
  const auto add = [&](const char* what, int64_t trace::MemoryPoint::*bytes, int64_t peak) {
    if (peak <= 0) return;
    std::vector<Graph::Point> points;
    points.reserve(memory.points.size());
    for (const trace::MemoryPoint& point : memory.points) {
      points.push_back({point.time_ns, static_cast<double>(point.*bytes)});
    }
    derived.graphs.push_back(
        {trace, memory.is_gpu ? memory.device : -1, memory.is_gpu ? "GPU memory" : "Host memory",
         fmt::format("{}, peak {}", what, format_bytes(static_cast<uint64_t>(peak))),
         Graph(std::move(points), "B")});
  };
  add("allocated", &trace::MemoryPoint::allocated_bytes, memory.allocated_bytes);
  add("reserved", &trace::MemoryPoint::reserved_bytes, memory.reserved_bytes.value_or(0));
}

void add_queue(DerivedTracks& derived, uint32_t trace, const Analysis& analysis, int32_t device) {
  std::vector<Graph::Point> points;
  for (const trace::QueuePoint& point :
       trace::queue_changes(*analysis.trace, analysis.device_work, device)) {
    points.push_back({point.time_ns, static_cast<double>(point.length)});
  }
  if (points.empty()) return;
  derived.graphs.push_back(
      {trace, device, "Queue length", "launched, not started", Graph(std::move(points), "")});
}

// The GPU of a counter: the name of its process is "GPU 0", or its own name begins with that.
int32_t device_of(std::string_view text) {
  constexpr std::string_view kPrefix = "GPU ";
  int32_t device = -1;
  if (text.starts_with(kPrefix)) {
    std::from_chars(text.data() + kPrefix.size(), text.data() + text.size(), device);
  }
  return device;
}

// In "CPU: busy %" the first part names the track, and the second the series and its unit.
void add_counter(DerivedTracks& derived, const Session& session, uint32_t index,
                 const trace::Counter& counter) {
  const trace::Trace& trace = *session.traces()[index].trace;
  std::string title = printable(trace.string(counter.name));
  std::string unit;
  if (const size_t colon = title.rfind(": "); colon != std::string::npos) {
    unit = title.substr(colon + 2);
    title.resize(colon);
  }
  std::vector<Graph::Point> points;
  for (size_t i = 0; i < counter.time_ns.size(); ++i) {
    points.push_back({counter.time_ns[i], counter.value[i]});
  }
  Graph graph(std::move(points), unit == "value" ? "" : unit);
  if (graph.points().empty()) return;
  const int32_t named = std::max(device_of(trace.string(counter.pid)), device_of(title));
  const CounterOwner owner = counter_owner(session, index, counter.pid, named);
  // It stands among the counters of all ranks.
  if (owner.device < 0 && !owner.rank.empty()) title.insert(0, owner.rank + " · ");
  std::string note = "peak " + graph.text(graph.high());
  derived.graphs.push_back(
      {index, owner.device, std::move(title), std::move(note), std::move(graph)});
}

}  // namespace

DeviceLane::DeviceLane(uint32_t trace, const trace::GpuUse& gpu,
                       const trace::DeviceWorkTable& table, Interval window)
    : trace_(trace), device_(gpu.device), busy_(gpu.utilization) {
  for (const trace::DeviceSpan& span : trace::device_states(table, device_, window)) {
    begin_ns_.push_back(span.interval.begin_ns);
    end_ns_.push_back(span.interval.end_ns);
    classes_.push_back(static_cast<uint8_t>(class_of(span.state)));
  }
  pyramid_ = LanePyramid(columns());
}

std::optional<Interval> DeviceLane::gap_at(int64_t time_ns) const {
  const auto after = std::upper_bound(end_ns_.begin(), end_ns_.end(), time_ns);
  const auto i = static_cast<size_t>(after - end_ns_.begin());
  if (i == 0 || i == end_ns_.size() || begin_ns_[i] <= time_ns) return std::nullopt;
  return Interval{end_ns_[i - 1], begin_ns_[i]};
}

std::string DeviceLane::text_at(int64_t time_ns) const {
  if (const auto gap = gap_at(time_ns)) return "idle " + format_duration(gap->length_ns());
  const auto after = std::upper_bound(end_ns_.begin(), end_ns_.end(), time_ns);
  const auto i = static_cast<size_t>(after - end_ns_.begin());
  if (i == end_ns_.size() || begin_ns_[i] > time_ns) return {};
  return fmt::format("{} {}", name_of(static_cast<SliceClass>(classes_[i])),
                     format_duration(end_ns_[i] - begin_ns_[i]));
}

std::string runtime_name(const trace::Trace& trace) {
  if (trace::is_amd(trace)) return "HIP runtime";
  return trace::may_have_tensor_cores(trace) ? "CUDA runtime" : "runtime";
}

DerivedTracks derive_tracks(const Session& session, const trace::Report& report) {
  DerivedTracks derived;
  for (const Analysis& analysis : report.analyses) {
    const auto index = trace_of(session, analysis);
    if (!index) continue;
    const trace::Trace& trace = *analysis.trace;
    const Interval window{trace.begin_ns(), trace.end_ns()};
    for (RuntimeLane& lane : runtime_lanes(session, *index)) {
      derived.runtimes.push_back(std::move(lane));
    }
    for (MarksLane& lane : marks_lanes(session, *index)) derived.marks.push_back(std::move(lane));
    for (const trace::GpuUse& gpu : analysis.gpus) {
      derived.devices.emplace_back(*index, gpu, analysis.device_work, window);
    }
    for (const trace::MemoryPeak& memory : analysis.memory) add_memory(derived, *index, memory);
    for (const trace::GpuUse& gpu : analysis.gpus) {
      add_queue(derived, *index, analysis, gpu.device);
    }
    for (const trace::Counter& counter : trace.counters()) {
      add_counter(derived, session, *index, counter);
    }
  }
  return derived;
}

namespace {

TrackItem derived_item(TrackItem::Kind kind, size_t index, std::string title, std::string note) {
  TrackItem item;
  item.kind = kind;
  item.index = static_cast<uint32_t>(index);
  item.title = std::move(title);
  item.note = std::move(note);
  return item;
}

/// The groups with threads of the process that `lane` is of; if it has none, those with its other
/// tracks: a GPU has a pid, too.
template <typename Lane>
std::vector<TrackGroup*> groups_of(std::vector<TrackGroup>& groups, const Session& session,
                                   const Lane& lane) {
  const trace::Trace& trace = *session.traces()[lane.trace()].trace;
  std::vector<TrackGroup*> with_threads, others;
  for (TrackGroup& group : groups) {
    if (group.trace != lane.trace()) continue;
    bool has_threads = false, has_tracks = false;
    for (const TrackItem& item : group.tracks) {
      if (item.kind != TrackItem::Kind::kSlices) continue;
      const trace::Track& track = trace.tracks()[item.track.value];
      if (track.pid != lane.pid()) continue;
      (track.kind == trace::TrackKind::kCpuThread ? has_threads : has_tracks) = true;
    }
    if (has_threads) with_threads.push_back(&group);
    if (has_tracks) others.push_back(&group);
  }
  return with_threads.empty() ? others : with_threads;
}

}  // namespace

void add_derived(std::vector<TrackGroup>& groups, const Session& session,
                 const DerivedTracks& derived) {
  const auto group_of = [&](uint32_t trace, int32_t device) -> TrackGroup& {
    size_t end = 0;
    for (size_t g = 0; g < groups.size(); ++g) {
      if (groups[g].trace == trace && groups[g].device == device &&
          (device >= 0 || groups[g].only_graphs)) {
        return groups[g];
      }
      const bool beside = session.place_of(groups[g].trace) == session.place_of(trace);
      if (beside && !groups[g].background) end = g + 1;
    }
    TrackGroup group;
    group.trace = trace;
    group.device = device;
    group.only_graphs = true;
    const std::string& rank = session.traces()[trace].title;
    const std::string counters = rank.empty() ? "Counters" : rank + " · Counters";
    group.title = device < 0 ? counters : gpu_title(session, trace, device);
    return *groups.insert(groups.begin() + static_cast<std::ptrdiff_t>(end), std::move(group));
  };
  for (size_t i = 0; i < derived.marks.size(); ++i) {
    const MarksLane& lane = derived.marks[i];
    for (TrackGroup* group : groups_of(groups, session, lane)) {
      // First, as a ruler of what the program says about itself.
      group->tracks.insert(group->tracks.begin(), derived_item(TrackItem::Kind::kMarks, i, "marks",
                                                               format_count(lane.size())));
    }
  }
  for (size_t i = 0; i < derived.runtimes.size(); ++i) {
    const RuntimeLane& lane = derived.runtimes[i];
    for (TrackGroup* group : groups_of(groups, session, lane)) {
      group->tracks.push_back(derived_item(TrackItem::Kind::kRuntime, i,
                                           runtime_name(*session.traces()[lane.trace()].trace),
                                           format_plural(lane.call_count(), "call")));
    }
  }
  for (size_t i = 0; i < derived.devices.size(); ++i) {
    const DeviceLane& lane = derived.devices[i];
    TrackGroup& group = group_of(lane.trace(), lane.device());
    group.busy = "busy " + format_percent(lane.busy());
    group.tracks.push_back(derived_item(TrackItem::Kind::kDevice, i, "busy / idle", ""));
  }
  for (size_t i = 0; i < derived.graphs.size(); ++i) {
    const GraphTrack& graph = derived.graphs[i];
    group_of(graph.trace, graph.device)
        .tracks.push_back(derived_item(TrackItem::Kind::kGraph, i, graph.title, graph.note));
  }
}

}  // namespace redline::viewer
