#include "trace/read/builder.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "base/free_memory.h"
#include "base/integer.h"
#include "base/natural_sort.h"
#include "base/parallel.h"
#include "trace/read/links.h"

namespace redline::trace {
namespace {

constexpr int64_t kLargestBaseNs = INT64_MAX / 4;

uint64_t key_of(StringId first, StringId second) {
  return static_cast<uint64_t>(first.value) << 32 | second.value;
}

uint64_t first_offset_of(const RowRun& run) { return run.rows.front().text_offset; }

// The number at the end of `text`, as in "7" or "stream 7"; -1 if there is none.
int64_t trailing_number(std::string_view text) {
  const size_t last_other = text.find_last_not_of("0123456789");
  const size_t first = last_other == std::string_view::npos ? 0 : last_other + 1;
  return parse_integer(text.substr(first)).value_or(-1);
}

TrackKind kind_of(uint32_t categories) {
  constexpr uint32_t kGpu =
      bit_of(Category::kKernel) | bit_of(Category::kMemcpy) | bit_of(Category::kMemset);
  constexpr uint32_t kGpuAnnotation =
      bit_of(Category::kGpuUserAnnotation) | bit_of(Category::kSync);
  constexpr uint32_t kCpu = bit_of(Category::kCpuOp) | bit_of(Category::kUserAnnotation) |
                            bit_of(Category::kPythonFunction) | bit_of(Category::kRuntime) |
                            bit_of(Category::kDriver);
  const bool cpu = (categories & kCpu) != 0;
  if ((categories & kGpu) != 0 || ((categories & kGpuAnnotation) != 0 && !cpu)) {
    return TrackKind::kGpuStream;
  }
  return cpu ? TrackKind::kCpuThread : TrackKind::kOther;
}

}  // namespace

void TraceBuilder::unite_strings() {
  const auto& collectors = events_.collectors;
  std::vector<std::tuple<uint64_t, uint32_t, uint32_t>> order;  // offset, collector, id
  size_t count = 0;
  for (const EventCollector& collector : collectors) count += collector.first_offsets().size();
  order.reserve(count);
  for (uint32_t collector = 0; collector < collectors.size(); ++collector) {
    const auto& offsets = collectors[collector].first_offsets();
    for (uint32_t id = 0; id < offsets.size(); ++id) order.emplace_back(offsets[id], collector, id);
    string_of_.emplace_back(offsets.size());
  }
  std::ranges::sort(order);
  for (const auto& [offset, collector, id] : order) {
    string_of_[collector][id] = strings_.intern(collectors[collector].strings()[StringId{id}]);
  }
}

void TraceBuilder::unite_tracks() {
  std::vector<Track>& tracks = gathered_.tracks;
  std::vector<GatheredTracks::Order>& orders = gathered_.orders;
  size_t most = 0;
  for (const EventCollector& collector : events_.collectors) most += collector.tracks().size();
  tracks.reserve(most);
  orders.reserve(most);
  IdSlots slots;
  const auto hash_of = [&](uint32_t index) {
    return EventCollector::hash_of(tracks[index].pid, tracks[index].tid);
  };
  for (uint32_t collector = 0; collector < events_.collectors.size(); ++collector) {
    const auto& keys = events_.collectors[collector].tracks();
    auto& track_of = track_of_.emplace_back();
    track_of.reserve(keys.size());
    for (const EventCollector::TrackKey& key : keys) {
      const StringId pid = string_of_[collector][key.pid.value];
      const StringId tid = string_of_[collector][key.tid.value];
      const auto is_it = [&](uint32_t index) {
        return tracks[index].pid == pid && tracks[index].tid == tid;
      };
      uint32_t& index =
          slots.slot(EventCollector::hash_of(pid, tid), tracks.size(), is_it, hash_of);
      if (index == IdSlots::kFree) {
        index = static_cast<uint32_t>(tracks.size());
        Track& made = tracks.emplace_back();
        made.pid = pid;
        made.tid = tid;
        orders.push_back({.first_offset = key.first_offset});
      }
      orders[index].first_offset = std::min(orders[index].first_offset, key.first_offset);
      track_of.push_back(index);
    }
  }
  std::vector<uint64_t> first_of_process(strings_.size(), UINT64_MAX);
  for (size_t track = 0; track < tracks.size(); ++track) {
    uint64_t& first = first_of_process[tracks[track].pid.value];
    first = std::min(first, orders[track].first_offset);
  }
  for (size_t track = 0; track < tracks.size(); ++track) {
    orders[track].process_first_offset = first_of_process[tracks[track].pid.value];
  }
}

void TraceBuilder::unite_ids() {
  for (EventCollector& collector : events_.collectors) collector.close();
  unite_strings();
  for (EventCollector& collector : events_.collectors) collector.forget_strings();
  unite_tracks();
  for (EventCollector& collector : events_.collectors) collector.forget_tracks();
  const auto string_of = [&](const EventRows& rows, StringId id) {
    return id ? string_of_[rows.collector][id.value] : id;
  };
  for_each_index(threads_, events_.rows.size(), [&](size_t index, unsigned) {
    EventRows& rows = *events_.rows[index];
    const auto& tracks = track_of_[rows.collector];
    for (EdgeRow& row : rows.edges) {
      row.name = string_of(rows, row.name);
      row.async_id = string_of(rows, row.async_id);
      row.track = tracks[row.track];
    }
    for (FlowEnd& end : rows.flow_ends) end.track = tracks[end.track];
    for (InstantRow& row : rows.instants) {
      row.name = string_of(rows, row.name);
      row.track = tracks[row.track];
    }
    for (CounterRow& row : rows.counters) {
      row.pid = string_of(rows, row.pid);
      row.name = string_of(rows, row.name);
    }
    for (NameRow& row : rows.names) {
      row.pid = string_of(rows, row.pid);
      row.tid = string_of(rows, row.tid);
      row.text = string_of(rows, row.text);
    }
  });
}

// Calls visit(track, run) for each run of the text that belongs to the trace.
template <typename Visit>
void TraceBuilder::for_each_run(const Visit& visit) const {
  std::vector<bool> is_taken(events_.next_chunk);
  for (const auto& rows : events_.rows) is_taken[rows->chunk] = true;
  for (size_t collector = 0; collector < events_.collectors.size(); ++collector) {
    const StringId* const names = string_of_[collector].data();
    events_.collectors[collector].slices().for_each_run(
        [&](uint32_t track, const SliceRows::Run& run) {
          if (is_taken[run.chunk]) {
            visit(track_of_[collector][track], RowRun{run.rows(), names, run.block});
          }
        });
  }
}

// Puts the runs of all threads together, track by track, in the order of the text. Slices that are
// made of edges come behind all others.
void TraceBuilder::find_runs() {
  const size_t tracks = gathered_.tracks.size();
  std::vector<RowRun>& runs = gathered_.runs;
  std::vector<uint32_t>& firsts = gathered_.first_run;
  firsts.resize(tracks + 1);
  for_each_run([&](uint32_t track, const RowRun&) { ++firsts[track + 1]; });
  paired_.for_each_run([&](uint32_t track, const SliceRows::Run&) { ++firsts[track + 1]; });
  std::partial_sum(firsts.begin(), firsts.end(), firsts.begin());

  runs.resize(firsts.back());
  std::vector<uint32_t> ends = firsts;
  for_each_run([&](uint32_t track, const RowRun& run) { runs[ends[track]++] = run; });
  for (size_t track = 0; track < tracks; ++track) {
    const auto of_text = std::span(runs).subspan(firsts[track], ends[track] - firsts[track]);
    std::ranges::sort(of_text, {}, first_offset_of);
  }
  paired_.for_each_run([&](uint32_t track, const SliceRows::Run& run) {
    runs[ends[track]++] = {run.rows(), nullptr, run.block};
  });
  for (const RowRun& run : runs) run.await();
  for (EventCollector& collector : events_.collectors) collector.forget_runs();
  free_memory(track_of_);
}

// When the last slice or edge of each track ends.
std::vector<int64_t> TraceBuilder::ends_of_tracks() const {
  std::vector<int64_t> ends(gathered_.tracks.size(), INT64_MIN);
  for_each_run([&](uint32_t track, const RowRun& run) {
    for (const SliceRow& row : run.rows) ends[track] = std::max(ends[track], row.end_ns);
  });
  for (const auto& rows : events_.rows) {
    for (const EdgeRow& row : rows->edges) ends[row.track] = std::max(ends[row.track], row.time_ns);
  }
  return ends;
}

void TraceBuilder::pair_all_edges(IssueLog& issues) {
  const auto has_edges = [](const auto& rows) { return !rows->edges.empty(); };
  if (std::ranges::none_of(events_.rows, has_edges)) return;
  std::vector<std::vector<EdgeRow>> edges(gathered_.tracks.size());
  std::map<StringId, std::vector<EdgeRow>> async_edges;
  for (const auto& rows : events_.rows) {
    for (const EdgeRow& row : rows->edges) {
      (row.async_id ? async_edges[row.async_id] : edges[row.track]).push_back(row);
    }
  }
  const std::vector<int64_t> ends_ns = ends_of_tracks();
  const auto pair = [&](std::span<EdgeRow> of_one, int64_t last_ns) {
    for (const auto& [track, row] : pair_edges(of_one, last_ns, issues)) paired_.push(track, row);
  };
  for (size_t track = 0; track < edges.size(); ++track) pair(edges[track], ends_ns[track]);
  for (auto& [id, of_id] : async_edges) pair(of_id, ends_ns[of_id.front().track]);
}

void TraceBuilder::name_tracks() {
  const auto named = [](const auto& names, const auto& key) {
    const auto found = names.find(key);
    return found == names.end() ? RowNames() : found->second;
  };
  for (const auto& rows : events_.rows) {
    for (const NameRow& row : rows->names) {
      RowNames& names = row.tid ? thread_names_[key_of(row.pid, row.tid)] : processes_[row.pid];
      if (row.what == NameRow::What::kName) names.name = row.text;
      if (row.what == NameRow::What::kLabel) names.label = row.text;
      if (row.what == NameRow::What::kSortIndex) names.sort_index = row.sort_index;
    }
  }
  for (size_t i = 0; i < gathered_.tracks.size(); ++i) {
    Track& track = gathered_.tracks[i];
    const RowNames process = named(processes_, track.pid);
    const RowNames thread = named(thread_names_, key_of(track.pid, track.tid));
    const int64_t pid_number = trailing_number(strings_[track.pid]);
    track.process_name = process.name;
    track.process_label = process.label;
    track.thread_name = thread.name;
    track.sort_index = thread.sort_index.value_or(trailing_number(strings_[track.tid]));
    gathered_.orders[i].process_sort_index = process.sort_index.value_or(pid_number);
  }
}

void TraceBuilder::classify_tracks(PlacedTracks& placed) const {
  for (size_t i = 0; i < placed.tracks.size(); ++i) {
    Track& track = placed.tracks[i];
    track.kind = kind_of(placed.categories[i]);
    if (track.kind != TrackKind::kGpuStream) continue;
    const int64_t pid_number = trailing_number(strings_[track.pid]);
    track.device = pid_number > INT32_MAX ? -1 : static_cast<int32_t>(pid_number);
    track.stream = trailing_number(strings_[track.tid]);
  }
}

// Their tracks are still those that were gathered.
std::vector<Instant> TraceBuilder::gather_instants(int64_t base_ns) {
  std::vector<Instant> instants;
  size_t count = 0;
  for (const auto& rows : events_.rows) count += rows->instants.size();
  instants.reserve(count);
  for (const auto& rows : events_.rows) {
    for (const InstantRow& row : rows->instants) {
      const Track& track = gathered_.tracks[row.track];
      instants.push_back({row.time_ns + base_ns, row.name, TrackId{row.track}, track.pid, track.tid,
                          row.text_offset});
    }
    free_memory(rows->instants);
  }
  natural_sort(std::span(instants), [](const Instant& left, const Instant& right) {
    return left.time_ns < right.time_ns;
  });
  return instants;
}

std::vector<Counter> TraceBuilder::gather_counters(int64_t base_ns) {
  std::vector<Counter> counters;
  std::unordered_map<uint64_t, size_t> index;  // by pid and name
  for (const auto& rows : events_.rows) {
    for (const CounterRow& row : rows->counters) {
      const auto [found, is_new] = index.try_emplace(key_of(row.pid, row.name), counters.size());
      if (is_new) counters.push_back({row.pid, row.name, {}, {}});
      counters[found->second].time_ns.push_back(row.time_ns + base_ns);
      counters[found->second].value.push_back(row.value);
    }
  }
  return counters;
}

void TraceBuilder::count_events(Trace& trace) const {
  std::array<uint64_t, 128> counts{};
  for (const auto& rows : events_.rows) {
    for (size_t phase = 0; phase < counts.size(); ++phase) {
      counts[phase] += rows->events_by_phase[phase];
    }
  }
  for (size_t phase = 0; phase < counts.size(); ++phase) {
    if (counts[phase] == 0) continue;
    const std::string text = phase == 0 ? "" : std::string(1, static_cast<char>(phase));
    trace.phase_counts_.push_back({text, counts[phase]});
    trace.event_count_ += counts[phase];
  }
}

std::shared_ptr<const Trace> TraceBuilder::without_events(const Trace& trace) {
  auto result = std::make_shared<Trace>();
  result->path_ = trace.path_;
  result->metadata_ = trace.metadata_;
  result->text_ = Text::of("");
  return result;
}

std::shared_ptr<const Trace> TraceBuilder::build(TraceFrame frame, IssueLog issues) {
  auto trace = std::make_shared<Trace>();
  count_events(*trace);
  for (const auto& rows : events_.rows) issues.add(rows->issues);
  int64_t base_ns = frame.base_ns;
  if (base_ns > kLargestBaseNs || base_ns < -kLargestBaseNs) {
    issues.add(Issue::kBaseTimeOutOfRange, 0);
    base_ns = 0;
  }
  unite_ids();
  pair_all_edges(issues);
  find_runs();
  name_tracks();
  std::vector<Instant> instants = gather_instants(base_ns);
  PlacedTracks placed = place_tracks(std::move(gathered_), base_ns, threads_);
  classify_tracks(placed);
  events_.collectors.clear();
  free_memory(paired_);

  trace->path_ = std::move(frame.path);
  trace->metadata_ = std::move(frame.metadata);
  trace->flows_ = link_flows(placed, events_.rows, base_ns, threads_);
  for (Instant& instant : instants) instant.track = placed.track_of_rows[instant.track.value];
  trace->instants_ = std::move(instants);
  trace->slices_ = placed.slices;
  trace->columns_ = std::move(placed.memory);
  trace->tracks_ = std::move(placed.tracks);
  trace->lanes_ = std::move(placed.lanes);
  trace->counters_ = gather_counters(base_ns);
  trace->issues_ = issues.take();
  trace->strings_ = std::move(strings_);
  trace->begin_ns_ = placed.begin_ns;
  trace->end_ns_ = placed.end_ns;
  trace->text_ = std::move(frame.text);
  return trace;
}

}  // namespace redline::trace
