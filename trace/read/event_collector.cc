#include "trace/read/event_collector.h"

#include <cstring>
#include <functional>

#include "base/integer.h"
#include "trace/emit/json_scan.h"
#include "trace/model/category.h"
#include "trace/read/args.h"
#include "trace/read/event.h"

namespace redline::trace {
namespace {

constexpr int kNanosecondsPerMicrosecondPower = 3;

// The limit of ts, dur and base: beyond +-73 years a sum or difference of them could overflow.
constexpr int64_t kLargestTimeNs = INT64_MAX / 4;

// The number of "correlation": 42 in the args; 0 if absent. It is searched as text, because args
// are not parsed on load.
uint32_t correlation_of(std::string_view args) {
  if (args.empty()) return 0;
  constexpr std::string_view kKey = "\"correlation\"";
  const void* found = ::memmem(args.data(), args.size(), kKey.data(), kKey.size());
  if (found == nullptr) return 0;
  size_t at = static_cast<size_t>(static_cast<const char*>(found) - args.data()) + kKey.size();
  at = args.find_first_not_of(" :\n\r\t", at);
  if (at == kTextEnds) return 0;
  return leading_integer<uint32_t>(args.substr(at)).value_or(0);
}

// Flow ids are numbers in Kineto's files and may be any string in others'.
uint64_t flow_id_of(std::string_view token) {
  const std::string_view digits = unquote(token);
  const auto number = parse_integer<uint64_t>(digits);
  return number ? *number : std::hash<std::string_view>()(digits);
}

// The issue that events of a phase count as, because Chrome's format has phases that we do not
// show.
Issue issue_of_phase(uint8_t phase) {
  switch (phase) {
    case 'N':
    case 'O':
    case 'D':
      return Issue::kObjectNotShown;
    case 'P':
      return Issue::kSampleNotShown;
    case 'v':
    case 'V':
      return Issue::kMemoryDumpNotShown;
    case 'c':
      return Issue::kClockSyncNotShown;
    case '(':
    case ')':
      return Issue::kContextNotShown;
    case '=':
      return Issue::kLinkedIdNotShown;
    default:
      return Issue::kPhaseUnknown;
  }
}

}  // namespace

void EventCollector::close() {
  slices_.close();
  free_memory(is_annotation_);
  free_memory(next_name_);
  free_memory(track_slots_);
}

void EventCollector::forget_strings() {
  free_memory(strings_);
  free_memory(first_offsets_);
}

void EventCollector::add(const RawEvent& event) {
  const uint8_t phase = facts_of(event).phase;
  ++rows_->events_by_phase[phase < rows_->events_by_phase.size() ? phase : 0];
  switch (phase) {
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
      return add_instant(event, false);
    case 'n':
    case 'T':
    case 'p':
      return add_instant(event, true);
    case 'b':
    case 'S':
      return add_async_edge(event, true);
    case 'e':
    case 'F':
      return add_async_edge(event, false);
    case 'B':
      return add_edge(event, true);
    case 'E':
      return add_edge(event, false);
    case 'C':
      return add_counter(event);
    case 'M':
      return add_name(event);
    default:
      rows_->issues.add(
          unquote(event.phase).empty() ? Issue::kEventWithoutPhase : issue_of_phase(phase),
          event.offset);
  }
}

// Events of one shape share "ph" and "cat", so their facts are computed once.
const ShapeFacts& EventCollector::facts_of(const RawEvent& event) {
  ShapeFacts& facts = event.shape != nullptr ? *event.shape : facts_;
  if (event.shape != nullptr && facts.are_known) return facts;
  const std::string_view phase = unquote(event.phase), category = unquote(event.category);
  facts.are_known = true;
  facts.phase = static_cast<uint8_t>(phase.size() == 1 ? phase[0] : '\0');
  facts.category = category_of(category);
  facts.flow_kind = flow_kind_of(category);
  return facts;
}

StringId EventCollector::intern(std::string_view text, uint64_t offset) {
  const StringId id = strings_.intern(text);
  if (id.value == first_offsets_.size()) {
    first_offsets_.push_back(offset);
    is_annotation_.push_back(is_annotation_name(text));
  }
  return id;
}

StringId EventCollector::intern_token(const RawEvent& event, std::string_view token) {
  const std::string_view content = unquote(token);
  if (!event.needs_repair && content.find('\\') == std::string_view::npos) {
    return intern(content, event.offset);
  }
  bool repaired = false;
  const std::string decoded = decode_string(content, &repaired);
  if (repaired) rows_->issues.add(Issue::kInvalidUtf8, event.offset);
  return intern(decoded, event.offset);
}

// A training loop has the same names one after the other in each step, so it is mostly enough to
// compare with the one that came next last time.
StringId EventCollector::name_of(const RawEvent& event) {
  if (event.name.empty()) rows_->issues.add(Issue::kEventWithoutName, event.offset);
  const std::string_view content = unquote(event.name);
  if (last_name_) {
    const StringId expected = next_name_[last_name_.value];
    if (expected && strings_[expected] == content) return last_name_ = expected;
  }
  const StringId name = intern_token(event, event.name);
  next_name_.resize(strings_.size());
  // A text whose escapes or repairs make another name cannot be compared as it stands.
  if (last_name_ && strings_[name] == content) next_name_[last_name_.value] = name;
  return last_name_ = name;
}

Category EventCollector::category_of_event(const RawEvent& event, StringId name) {
  const Category category = facts_of(event).category;
  if (category == Category::kCpuOp && is_annotation_[name.value]) return Category::kUserAnnotation;
  return category;
}

std::optional<int64_t> EventCollector::time_of(const RawEvent& event, std::string_view token) {
  if (token.empty()) {
    rows_->issues.add(Issue::kEventWithoutTs, event.offset);
    return std::nullopt;
  }
  const auto time_ns = parse_scaled(unquote(token), kNanosecondsPerMicrosecondPower);
  if (!time_ns || *time_ns > kLargestTimeNs || *time_ns < -kLargestTimeNs) {
    rows_->issues.add(Issue::kTimeNotANumber, event.offset);
    return std::nullopt;
  }
  if (token.front() == '"') rows_->issues.add(Issue::kTimeAsString, event.offset);
  return time_ns;
}

std::optional<int64_t> EventCollector::begin_of(const RawEvent& event) {
  if (event.time_ns != RawEvent::kNotRead) return event.time_ns;
  return time_of(event, event.time);
}

std::optional<int64_t> EventCollector::duration_of(const RawEvent& event) {
  if (event.duration_ns != RawEvent::kNotRead) return event.duration_ns;
  if (!event.duration.empty()) return time_of(event, event.duration);
  rows_->issues.add(Issue::kSliceWithoutDur, event.offset);
  return 0;
}

uint32_t EventCollector::track_of(const RawEvent& event) {
  if (event.shape == nullptr) return known_track(event);
  uint32_t& track = event.shape->track;
  if (track == ShapeFacts::kUnknown) track = known_track(event);
  return track;
}

uint32_t EventCollector::known_track(const RawEvent& event) {
  for (const RecentTrack& recent : recent_tracks_) {
    if (recent.track != UINT32_MAX && event.tid == recent.tid && event.pid == recent.pid) {
      return recent.track;
    }
  }
  return find_track(event);
}

uint32_t EventCollector::find_track(const RawEvent& event) {
  const StringId pid = intern_token(event, event.pid), tid = intern_token(event, event.tid);
  const uint32_t track = track_at(pid, tid, event.offset);
  RecentTrack& recent = recent_tracks_[next_recent_++ % recent_tracks_.size()];
  recent = {std::string(event.pid), std::string(event.tid), track};
  return track;
}

uint32_t EventCollector::track_at(StringId pid, StringId tid, uint64_t offset) {
  uint32_t& track = track_slots_.slot(
      hash_of(pid, tid), tracks_.size(),
      [&](uint32_t other) { return tracks_[other].pid == pid && tracks_[other].tid == tid; },
      [&](uint32_t other) { return hash_of(tracks_[other].pid, tracks_[other].tid); });
  if (track == IdSlots::kFree) {
    track = static_cast<uint32_t>(tracks_.size());
    tracks_.push_back({pid, tid, offset});
  }
  return track;
}

uint32_t EventCollector::async_track_of(const RawEvent& event) {
  const StringId pid = intern_token(event, event.pid);
  const StringId row = intern(async_row(decode_string(unquote(event.category))), event.offset);
  return track_at(pid, row, event.offset);
}

void EventCollector::add_slice(const RawEvent& event) {
  const auto begin_ns = begin_of(event);
  if (!begin_ns) return;
  const auto found_ns = duration_of(event);
  if (!found_ns) return;
  int64_t duration_ns = *found_ns;
  if (duration_ns < 0) {
    rows_->issues.add(Issue::kNegativeDur, event.offset);
    duration_ns = 0;
  }
  SliceRow row;
  row.begin_ns = *begin_ns;
  row.end_ns = *begin_ns + duration_ns;
  row.text_offset = event.offset & SliceRow::kLargestOffset;
  row.name = name_of(event);
  row.category = category_of_event(event, row.name);
  if (has_correlation(row.category)) row.correlation = correlation_of(event.args);
  last_slice_ = {track_of(event), row};
  slices_.push(last_slice_.track, row);
}

void EventCollector::add_edge(const RawEvent& event, bool is_begin) {
  std::optional<EdgeRow> row = edge_of(event, is_begin);
  if (!row) return;
  row->track = track_of(event);
  rows_->edges.push_back(*row);
}

void EventCollector::add_async_edge(const RawEvent& event, bool is_begin) {
  std::optional<EdgeRow> row = edge_of(event, is_begin);
  if (!row) return;
  row->track = async_track_of(event);
  row->async_id = intern(async_key(event), event.offset);
  rows_->edges.push_back(*row);
}

std::optional<EdgeRow> EventCollector::edge_of(const RawEvent& event, bool is_begin) {
  const auto time_ns = begin_of(event);
  if (!time_ns) return std::nullopt;
  EdgeRow row;
  row.time_ns = *time_ns;
  row.text_offset = event.offset;
  if (is_begin || !event.name.empty()) row.name = name_of(event);
  if (row.name) row.category = category_of_event(event, row.name);
  row.is_begin = is_begin;
  return row;
}

void EventCollector::add_flow(const RawEvent& event, bool is_start) {
  const auto time_ns = begin_of(event);
  if (!time_ns) return;
  const FlowEnd end{flow_id_of(event.id), *time_ns, track_of(event), facts_of(event).flow_kind,
                    is_start};
  if (!is_known_from_slice(end)) rows_->flow_ends.push_back(end);
}

// Kineto writes a flow event behind each launch and behind each piece of its work. They have the
// correlation number, which links the slices without them.
bool EventCollector::is_known_from_slice(const FlowEnd& end) const {
  const auto& [track, row] = last_slice_;
  return end.kind == FlowKind::kLaunch && row.correlation != 0 && end.id == row.correlation &&
         end.track == track && end.time_ns == row.begin_ns &&
         (is_launch(row.category) || (!end.is_start && is_launched(row.category)));
}

void EventCollector::add_instant(const RawEvent& event, bool is_async) {
  const auto time_ns = begin_of(event);
  if (!time_ns) return;
  const StringId name = name_of(event);
  const uint32_t track = is_async ? async_track_of(event) : track_of(event);
  rows_->instants.push_back({*time_ns, event.offset, name, track});
}

void EventCollector::add_counter(const RawEvent& event) {
  const auto time_ns = begin_of(event);
  if (!time_ns) return;
  const StringId pid = intern_token(event, event.pid);
  std::string name(strings_[name_of(event)]);
  if (const auto id = decode_string(unquote(event.id)); !id.empty()) name += "[" + id + "]";
  for_each_member(event.args, [&](std::string_view key, std::string_view value) {
    const auto number = to_number(value);
    if (!number) {
      rows_->issues.add(Issue::kCounterNotANumber, event.offset);
      return true;
    }
    const std::string series = decode_string(key);
    const StringId id = intern(series.empty() ? name : name + ": " + series, event.offset);
    rows_->counters.push_back({*time_ns, *number, pid, id});
    return true;
  });
}

void EventCollector::add_name(const RawEvent& event) {
  const std::string_view what = unquote(event.name);
  NameRow row;
  row.pid = intern_token(event, event.pid);
  if (what.starts_with("thread_")) row.tid = intern_token(event, event.tid);
  const auto value = [&](std::string_view key) { return find_value(event.args, key); };
  if (what == "process_name" || what == "thread_name") {
    row.text = intern_token(event, value("name"));
  } else if (what == "process_labels") {
    row.what = NameRow::What::kLabel;
    row.text = intern_token(event, value("labels"));
  } else if (what == "process_sort_index" || what == "thread_sort_index") {
    row.what = NameRow::What::kSortIndex;
    row.sort_index = parse_scaled(unquote(value("sort_index")), 0);
  } else {
    return;
  }
  rows_->names.push_back(row);
}

}  // namespace redline::trace
