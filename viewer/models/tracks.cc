#include "viewer/models/tracks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "trace/analysis/gpus.h"
#include "trace/analysis/tables.h"
#include "trace/emit/name_kinds.h"
#include "trace/model/slice_view.h"
#include "trace/write/merge.h"
#include "viewer/models/format.h"

namespace redline::viewer {
namespace {

using trace::Trace;
using trace::Track;
using trace::TrackKind;

std::string trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return printable(text.substr(first, text.find_last_not_of(' ') - first + 1));
}

// "thread 24722 (python)" repeats the title "thread 24722", so only "python" is kept.
std::string thread_note(std::string_view thread_name, const std::string& title) {
  const std::string name = trimmed(thread_name);
  if (!name.starts_with(title)) return name;
  const size_t open = name.find('(');
  const size_t close = name.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close <= open) return {};
  return name.substr(open + 1, close - open - 1);
}

/// The training loop runs in the threads that have the steps' annotations.
std::set<trace::TrackId> threads_with_steps(const Trace& trace) {
  std::set<trace::TrackId> tracks;
  const trace::Slices& slices = trace.slices();
  for (size_t i = 0; i < trace.slice_count(); ++i) {
    if (slices.category[i] == trace::Category::kUserAnnotation &&
        trace::is_step_name(trace.string(slices.name[i]))) {
      tracks.insert(trace.lanes()[slices.lane[i].value].track);
    }
  }
  return tracks;
}

uint64_t slice_count(const Trace& trace, const Track& track) {
  uint64_t count = 0;
  for (const trace::Lane& lane : trace::lanes_of(trace, track)) count += lane.count;
  return count;
}

// What a side thread is for: by its name where it has one, else by what its first slices are.
std::string_view role_of(const Trace& trace, const Track& track) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"autograd", "autograd"}, {"pin_memory", "loader"}, {"data_pin", "loader"},
      {"dataloader", "loader"}, {"nccl", "NCCL"},         {"gloo", "Gloo"}};
  for (const auto& [part, role] : kNames) {
    if (contains_text(trace.string(track.thread_name), part)) return role;
  }
  constexpr uint32_t kLookedAt = 2000;
  constexpr std::pair<uint8_t, std::string_view> kKinds[] = {
      {trace::kBackwardName, "autograd"},
      {trace::kDataLoaderName, "loader"},
      {trace::kCommunicationOpName, "communication"}};
  const trace::Lane& lane = trace.lanes()[track.first_lane.value];
  uint8_t kinds = 0;
  for (uint32_t i = 0; i < std::min(lane.count, kLookedAt); ++i) {
    kinds |= trace::name_kinds(trace.string(trace.slices().name[lane.first.value + i]));
  }
  for (const auto& [kind, role] : kKinds) {
    if (kinds & kind) return role;
  }
  return {};
}

// "autograd · python"; a name that says the role already stays as it is.
std::string side_note(std::string_view role, const std::string& name) {
  if (name.empty()) return std::string(role);
  return role.empty() || contains_text(name, role) ? name : std::string(role) + " · " + name;
}

TrackItem make_item(const Trace& trace, trace::TrackId id, bool main) {
  const Track& track = trace.tracks()[id.value];
  const std::string tid = trimmed(trace.string(track.tid));
  TrackItem item;
  item.track = id;
  item.lanes = track.lane_count;
  item.main = main || track.kind == TrackKind::kGpuStream;
  switch (track.kind) {
    case TrackKind::kGpuStream:
      item.title = fmt::format("stream {}", track.stream >= 0 ? std::to_string(track.stream) : tid);
      break;
    case TrackKind::kCpuThread:
      item.title = fmt::format("thread {}", tid);
      item.note = thread_note(trace.string(track.thread_name), item.title);
      item.note = side_note(main ? "main" : role_of(trace, track), item.note);
      break;
    case TrackKind::kOther:
      item.title = track.thread_name ? trimmed(trace.string(track.thread_name)) : tid;
      break;
  }
  if (item.title.empty()) item.title = "(no name)";
  return item;
}

// "rank 0 · CPU", or just "CPU" for a lone file without a rank.
std::string joined(const std::string& title, const std::string& part) {
  return title.empty() || part.empty() ? title + part : title + " · " + part;
}

/// A process's name without the rank that `redline merge` puts before it: "rank 1 · python".
struct ProcessName {
  std::string rank;  ///< empty unless the file is a merged one
  std::string own;
};

ProcessName process_name(const SessionTrace& item, const Track& track) {
  constexpr std::string_view kBehindRank = " ·";
  const std::string name = trimmed(item.trace->string(track.process_name));
  if (!item.is_merged) return {"", name};
  const size_t end = name.find(kBehindRank);
  if (end == std::string::npos) return {name, ""};  // a process that had no name
  return {name.substr(0, end), trimmed(name.substr(end + kBehindRank.size()))};
}

bool only_spans(const Trace& trace, const std::vector<trace::TrackId>& ids) {
  for (const trace::TrackId id : ids) {
    const Track& track = trace.tracks()[id.value];
    const trace::Lane& lane = trace.lanes()[track.first_lane.value];
    if (lane.count == 0) continue;
    if (trace.slices().category[lane.first.value] != trace::Category::kSpan) return false;
  }
  return true;
}

void name_group(TrackGroup& group, const Session& session, const Track& track,
                const std::vector<trace::DeviceProperties>& gpus, bool is_amd) {
  const SessionTrace& item = session.traces()[group.trace];
  const ProcessName process = process_name(item, track);
  const std::string rank = joined(item.title, process.rank);
  std::string pid = trimmed(item.trace->string(track.pid));
  if (track.kind == TrackKind::kCpuThread) {
    group.title = joined(rank, "CPU");
    group.note = "pid " + pid;
  } else if (track.kind == TrackKind::kGpuStream) {
    group.device = track.device;
    group.title = gpu_title(session, group.trace, track.device);
    const auto* known = trace::properties_of(gpus, track.device, is_amd);
    if (known != nullptr) group.note = printable(known->name);
  } else {
    // The second rank's "Spans" is "rank 1 Spans" there.
    if (pid.starts_with(process.rank + " ")) pid.erase(0, process.rank.size() + 1);
    group.title = joined(rank, process.own.empty() ? pid : process.own);
    if (!process.own.empty() && process.own != pid) group.note = "pid " + pid;
  }
}

TrackGroup group_not_loaded(const SessionTrace& item, uint32_t trace) {
  TrackGroup group;
  group.trace = trace;
  group.title = item.title;
  group.busy = "not loaded";
  group.slices = item.outline ? item.outline->slices : 0;
  group.is_loaded = false;
  return group;
}

using GroupKey = std::tuple<int, int32_t, uint32_t>;  // kind, GPU, pid

// Streams belong to their GPU; a host process is known by its pid.
GroupKey group_key(const Track& track) {
  if (track.kind == TrackKind::kGpuStream) return {static_cast<int>(track.kind), track.device, 0};
  return {static_cast<int>(track.kind), 0, track.pid.value};
}

}  // namespace

std::string gpu_title(const Session& session, uint32_t trace, int32_t device) {
  const SessionTrace& item = session.traces()[trace];
  const std::string name = fmt::format("GPU {}", device);
  const auto tracks = item.trace->tracks();
  const auto found = std::ranges::find_if(tracks, [device](const Track& track) {
    return track.kind == TrackKind::kGpuStream && track.device == device;
  });
  if (!item.is_merged || found == tracks.end()) return joined(item.title, name);
  // Of two ranks' GPU 0 one has a pid, and so a number, that is not its own.
  const std::string label = trimmed(item.trace->string(found->process_label));
  return joined(joined(item.title, process_name(item, *found).rank), label.empty() ? name : label);
}

CounterOwner counter_owner(const Session& session, uint32_t trace, trace::StringId pid,
                           int32_t device) {
  const SessionTrace& item = session.traces()[trace];
  if (!item.is_merged) return {"", device};
  const auto tracks = item.trace->tracks();
  const auto own = std::ranges::find(tracks, pid, &Track::pid);
  if (own == tracks.end()) return {};
  CounterOwner owner{process_name(item, *own).rank, -1};
  if (device < 0) return owner;
  const std::string name = fmt::format("GPU {}", device);
  const auto is_it = [&](const Track& track) {
    if (track.kind != TrackKind::kGpuStream) return false;
    if (process_name(item, track).rank != owner.rank) return false;
    const std::string label = trimmed(item.trace->string(track.process_label));
    return label.empty() ? track.device % trace::kMergedPidStride == device : label == name;
  };
  const auto gpu = std::ranges::find_if(tracks, is_it);
  if (gpu != tracks.end()) owner.device = gpu->device;
  return owner;
}

std::string contents_of(const TrackGroup& group) {
  if (!group.is_loaded) {
    return group.slices == 0 ? "not loaded"
                             : "not loaded · " + format_plural(group.slices, "slice");
  }
  const std::string tracks = format_plural(group.tracks.size(), "track");
  return group.slices == 0 ? tracks : tracks + " · " + format_plural(group.slices, "slice");
}

std::vector<TrackGroup> track_groups(const Session& session) {
  // The place of the trace in its run, then kind, which of its GPUs, trace and pid. The trace comes
  // before the pid because another run has other pids; it may have used other GPUs, too.
  using Place = std::tuple<uint32_t, int, int32_t, uint32_t, uint32_t>;
  std::map<Place, TrackGroup> groups;
  for (uint32_t t = 0; t < session.traces().size(); ++t) {
    const SessionTrace& item = session.traces()[t];
    const Trace& trace = *item.trace;
    if (!item.is_loaded) {
      groups.emplace(Place{session.place_of(t), 0, 0, t, 0}, group_not_loaded(item, t));
      continue;
    }
    const std::set<trace::TrackId> main_threads = threads_with_steps(trace);
    const std::vector<trace::DeviceProperties> gpus = trace::device_properties(trace);
    const bool is_amd = trace::is_amd(trace);
    const auto is_main = [&](trace::TrackId id) {
      const Track& track = trace.tracks()[id.value];
      if (!main_threads.empty()) return main_threads.contains(id);
      return track.kind == TrackKind::kCpuThread && track.tid == track.pid;
    };

    std::map<GroupKey, std::vector<trace::TrackId>> by_group;
    for (uint32_t i = 0; i < trace.tracks().size(); ++i) {
      const Track& track = trace.tracks()[i];
      if (slice_count(trace, track) > 0) by_group[group_key(track)].push_back({i});
    }
    int32_t gpus_seen = 0;
    for (auto& [key, ids] : by_group) {
      std::stable_sort(ids.begin(), ids.end(), [&](trace::TrackId a, trace::TrackId b) {
        const Track& left = trace.tracks()[a.value];
        const Track& right = trace.tracks()[b.value];
        return std::tuple(!is_main(a), left.sort_index, left.stream) <
               std::tuple(!is_main(b), right.sort_index, right.stream);
      });
      TrackGroup group;
      group.trace = t;
      group.background = only_spans(trace, ids);
      name_group(group, session, trace.tracks()[ids.front().value], gpus, is_amd);
      for (const trace::TrackId id : ids) {
        group.tracks.push_back(make_item(trace, id, is_main(id)));
        group.slices += slice_count(trace, trace.tracks()[id.value]);
      }
      const auto [kind, device, pid] = key;
      const int32_t gpu = group.device < 0 ? 0 : gpus_seen++;
      groups.emplace(Place{session.place_of(t), kind, gpu, t, pid}, std::move(group));
    }
  }
  std::vector<TrackGroup> in_order;
  for (auto& [place, group] : groups) in_order.push_back(std::move(group));
  return in_order;
}

}  // namespace redline::viewer
