#include "trace/builder.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "trace/category.h"
#include "trace/flows.h"
#include "trace/json_scan.h"
#include "trace/lanes.h"

namespace redline::trace {
namespace {

constexpr int kNanosecondsPerMicrosecondPower = 3;

// Times beyond +-146 years would overflow when a base is added or a difference taken.
constexpr int64_t kLargestTimeNs = INT64_MAX / 2;

uint64_t key_of(StringId first, StringId second) {
  return static_cast<uint64_t>(first.value) << 32 | second.value;
}

// The fast way for what Kineto writes: up to 15 digits of microseconds, a point, three digits.
std::optional<int64_t> parse_kineto_time_ns(std::string_view token) {
  int64_t value = 0;
  size_t at = 0;
  for (; at < token.size() && at < 17 && token[at] >= '0' && token[at] <= '9'; ++at) {
    value = value * 10 + (token[at] - '0');
  }
  if (at == 0 || at > 15) return std::nullopt;
  if (at == token.size()) return value * 1000;
  if (token[at] != '.' || token.size() != at + 4) return std::nullopt;
  for (++at; at < token.size(); ++at) {
    if (token[at] < '0' || token[at] > '9') return std::nullopt;
    value = value * 10 + (token[at] - '0');
  }
  return value;
}

// "correlation": 42 in the args; 0 where absent. Searched as text: args are not parsed on load.
uint32_t correlation_of(std::string_view args) {
  if (args.empty()) return 0;
  constexpr std::string_view kKey = "\"correlation\"";
  const void* found = ::memmem(args.data(), args.size(), kKey.data(), kKey.size());
  if (found == nullptr) return 0;
  size_t at = static_cast<size_t>(static_cast<const char*>(found) - args.data()) + kKey.size();
  at = args.find_first_not_of(" :\n\r\t", at);
  if (at == kTextEnds) return 0;
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(args.data() + at, args.data() + args.size(), value);
  return error == std::errc() ? value : 0;
}

// Flow ids are numbers in Kineto's files and may be any string in others'.
uint64_t flow_id_of(std::string_view token) {
  uint64_t value = 0;
  const std::string_view digits = unquote(token);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc() && end == digits.data() + digits.size()) return value;
  return std::hash<std::string_view>()(digits);
}

// The number at the end of "7" or "stream 7", -1 if there is none.
int64_t trailing_number(std::string_view text) {
  const size_t last_other = text.find_last_not_of("0123456789");
  const size_t first = last_other == std::string_view::npos ? 0 : last_other + 1;
  int64_t value = -1;
  std::from_chars(text.data() + first, text.data() + text.size(), value);
  return value;
}

TrackKind kind_of(const std::vector<SliceRow>& slices) {
  bool cpu = false, gpu = false, annotated = false;
  for (const SliceRow& row : slices) {
    switch (row.category) {
      case Category::kKernel:
      case Category::kMemcpy:
      case Category::kMemset:
        gpu = true;
        break;
      case Category::kGpuUserAnnotation:
      case Category::kSync:
        annotated = true;
        break;
      case Category::kCpuOp:
      case Category::kUserAnnotation:
      case Category::kPythonFunction:
      case Category::kRuntime:
      case Category::kDriver:
        cpu = true;
        break;
      default:
        break;
    }
  }
  if (gpu || (annotated && !cpu)) return TrackKind::kGpuStream;
  return cpu ? TrackKind::kCpuThread : TrackKind::kOther;
}

}  // namespace

void TraceBuilder::add(const RawEvent& event) {
  ++event_count_;
  const std::string_view phase = unquote(event.phase);
  switch (phase.size() == 1 ? phase[0] : '\0') {
    case 'X':
      return add_slice(event);
    case 's':
      return add_flow(event, true);
    case 'f':
    case 't':
      return add_flow(event, false);
    case 'i':
    case 'I':
    case 'R':
      return add_instant(event);
    case 'B':
      return add_edge(event, true);
    case 'E':
      return add_edge(event, false);
    case 'C':
      return add_counter(event);
    case 'M':
      return add_row_info(event);
    default:
      issues_.lost(phase.empty() ? "event_without_phase" : "phase_not_supported", event.offset);
  }
}

StringId TraceBuilder::intern(const RawEvent& event, std::string_view token) {
  const std::string_view content = unquote(token);
  if (!event.needs_repair && content.find('\\') == std::string_view::npos) {
    return strings_.intern(content);
  }
  bool repaired = false;
  const std::string decoded = decode_string(content, &repaired);
  if (repaired) issues_.repaired("invalid_utf8", event.offset);
  return strings_.intern(decoded);
}

StringId TraceBuilder::name_of(const RawEvent& event) {
  if (event.name.empty()) issues_.repaired("event_without_name", event.offset);
  return intern(event, event.name);
}

std::optional<int64_t> TraceBuilder::time_of(const RawEvent& event, std::string_view token) {
  if (const auto time_ns = parse_kineto_time_ns(token)) return time_ns;
  if (token.empty()) {
    issues_.lost("event_without_ts", event.offset);
    return std::nullopt;
  }
  const auto time_ns = parse_scaled(unquote(token), kNanosecondsPerMicrosecondPower);
  if (!time_ns || *time_ns > kLargestTimeNs || *time_ns < -kLargestTimeNs) {
    issues_.lost("time_not_a_number", event.offset);
    return std::nullopt;
  }
  if (token.front() == '"') issues_.repaired("time_as_string", event.offset);
  return time_ns;
}

uint32_t TraceBuilder::track_of(const RawEvent& event) {
  if (last_track_ != UINT32_MAX && event.pid == last_pid_ && event.tid == last_tid_) {
    return last_track_;
  }
  const StringId pid = intern(event, event.pid), tid = intern(event, event.tid);
  const auto [found, is_new] =
      track_index_.try_emplace(key_of(pid, tid), static_cast<uint32_t>(tracks_.size()));
  if (is_new) {
    tracks_.emplace_back();
    tracks_.back().track.pid = pid;
    tracks_.back().track.tid = tid;
  }
  last_pid_ = event.pid;
  last_tid_ = event.tid;
  return last_track_ = found->second;
}

void TraceBuilder::add_slice(const RawEvent& event) {
  const auto begin_ns = time_of(event, event.time);
  if (!begin_ns) return;
  int64_t duration_ns = 0;
  if (event.duration.empty()) {
    issues_.repaired("slice_without_dur", event.offset);
  } else if (const auto parsed = time_of(event, event.duration)) {
    duration_ns = *parsed;
  } else {
    return;
  }
  if (duration_ns < 0) {
    issues_.repaired("negative_dur", event.offset);
    duration_ns = 0;
  }
  SliceRow row;
  row.begin_ns = *begin_ns;
  row.end_ns = *begin_ns + duration_ns;
  row.text_offset = event.offset;
  row.name = name_of(event);
  row.category = category_of(unquote(event.category), strings_[row.name]);
  if (has_correlation(row.category)) row.correlation = correlation_of(event.args);
  tracks_[track_of(event)].slices.push_back(row);
}

void TraceBuilder::add_edge(const RawEvent& event, bool is_begin) {
  const auto time_ns = time_of(event, event.time);
  if (!time_ns) return;
  EdgeRow row;
  row.time_ns = *time_ns;
  row.text_offset = event.offset;
  if (is_begin || !event.name.empty()) row.name = name_of(event);
  row.category =
      row.name ? category_of(unquote(event.category), strings_[row.name]) : Category::kOther;
  row.is_begin = is_begin;
  tracks_[track_of(event)].edges.push_back(row);
}

void TraceBuilder::add_flow(const RawEvent& event, bool is_start) {
  const auto time_ns = time_of(event, event.time);
  if (!time_ns) return;
  flow_ends_.push_back({flow_id_of(event.id), *time_ns, track_of(event),
                        flow_kind_of(unquote(event.category)), is_start});
}

void TraceBuilder::add_instant(const RawEvent& event) {
  const auto time_ns = time_of(event, event.time);
  if (!time_ns) return;
  instants_.push_back({{*time_ns, name_of(event), TrackId::none(), event.offset}, track_of(event)});
}

void TraceBuilder::add_counter(const RawEvent& event) {
  const auto time_ns = time_of(event, event.time);
  if (!time_ns) return;
  const StringId pid = intern(event, event.pid);
  const std::string name(strings_[name_of(event)]);
  for_each_member(event.args, [&](std::string_view key, std::string_view value) {
    double number = 0;
    const std::string_view digits = unquote(value);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc()) {
      issues_.lost("counter_not_a_number", event.offset);
      return true;
    }
    const std::string series = decode_string(key);
    const StringId id = strings_.intern(series.empty() ? name : name + ": " + series);
    const auto [found, is_new] = counter_index_.try_emplace(key_of(pid, id), counters_.size());
    if (is_new) counters_.push_back({pid, id, {}, {}});
    counters_[found->second].time_ns.push_back(*time_ns);
    counters_[found->second].value.push_back(number);
    return true;
  });
}

void TraceBuilder::add_row_info(const RawEvent& event) {
  const std::string_view what = unquote(event.name);
  const StringId pid = intern(event, event.pid);
  const bool of_thread = what.substr(0, 7) == "thread_";
  RowInfo& info = of_thread ? threads_[key_of(pid, intern(event, event.tid))] : processes_[pid];
  const auto value = [&](std::string_view key) { return find_value(event.args, key); };
  if (what == "process_name" || what == "thread_name") {
    info.name = intern(event, value("name"));
  } else if (what == "process_labels") {
    info.label = intern(event, value("labels"));
  } else if (what == "process_sort_index" || what == "thread_sort_index") {
    info.sort_index = parse_scaled(unquote(value("sort_index")), 0);
  }
}

void TraceBuilder::name_tracks() {
  for (TrackRows& rows : tracks_) {
    Track& track = rows.track;
    const RowInfo& process = processes_[track.pid];
    const RowInfo& thread = threads_[key_of(track.pid, track.tid)];
    const int64_t pid_number = trailing_number(strings_[track.pid]);
    track.process_name = process.name;
    track.process_label = process.label;
    track.thread_name = thread.name;
    track.kind = kind_of(rows.slices);
    track.sort_index = thread.sort_index.value_or(trailing_number(strings_[track.tid]));
    rows.process_sort_index = process.sort_index.value_or(pid_number);
    if (track.kind == TrackKind::kGpuStream) {
      track.device = pid_number > INT32_MAX ? -1 : static_cast<int32_t>(pid_number);
      track.stream = trailing_number(strings_[track.tid]);
    }
  }
}

void TraceBuilder::move_times(int64_t base_ns) {
  if (base_ns == 0) return;
  for (TrackRows& rows : tracks_) {
    for (SliceRow& row : rows.slices) {
      row.begin_ns += base_ns;
      row.end_ns += base_ns;
    }
  }
  for (FlowEnd& end : flow_ends_) end.time_ns += base_ns;
  for (PendingInstant& pending : instants_) pending.instant.time_ns += base_ns;
  for (Counter& counter : counters_) {
    for (int64_t& time_ns : counter.time_ns) time_ns += base_ns;
  }
}

void TraceBuilder::finish_instants(Trace& trace, const std::vector<TrackId>& track_of_rows) const {
  trace.instants_.reserve(instants_.size());
  for (const PendingInstant& pending : instants_) {
    trace.instants_.push_back(pending.instant);
    trace.instants_.back().track = track_of_rows[pending.track];
  }
  std::stable_sort(
      trace.instants_.begin(), trace.instants_.end(),
      [](const Instant& left, const Instant& right) { return left.time_ns < right.time_ns; });
}

std::shared_ptr<const Trace> TraceBuilder::finish(std::string path, Metadata metadata,
                                                  int64_t base_ns,
                                                  std::shared_ptr<const Text> text) {
  for (TrackRows& rows : tracks_) pair_edges(rows, issues_);
  if (base_ns > kLargestTimeNs || base_ns < -kLargestTimeNs) {
    issues_.repaired("base_time_out_of_range", 0);
    base_ns = 0;
  }
  move_times(base_ns);
  name_tracks();
  PlacedTracks placed = place_tracks(tracks_);

  auto trace = std::make_shared<Trace>();
  trace->path_ = std::move(path);
  trace->metadata_ = std::move(metadata);
  trace->flows_ = link_flows(placed, std::move(flow_ends_));
  finish_instants(*trace, placed.track_of_rows);
  trace->slices_ = std::move(placed.slices);
  trace->tracks_ = std::move(placed.tracks);
  trace->lanes_ = std::move(placed.lanes);
  trace->counters_ = std::move(counters_);
  trace->issues_ = issues_.take();
  trace->strings_ = std::move(strings_);
  trace->event_count_ = event_count_;
  if (trace->slice_count() > 0) {
    const Slices& slices = trace->slices_;
    trace->begin_ns_ = *std::min_element(slices.begin_ns.begin(), slices.begin_ns.end());
    trace->end_ns_ = *std::max_element(slices.end_ns.begin(), slices.end_ns.end());
  }
  trace->text_ = std::move(text);
  return trace;
}

}  // namespace redline::trace
