#include "trace/read/cache.h"

#include <algorithm>

namespace redline::trace {
namespace {

template <typename Values, typename Check>
bool all(const Values& values, Check check) {
  return std::ranges::all_of(values, check);
}

// The largest value of a column, written so that compilers vectorise it.
template <typename Column, typename Number>
uint32_t largest(const Column& column, Number number) {
  uint32_t most = 0;
  for (const auto& value : column) most = std::max(most, number(value));
  return most;
}

}  // namespace

bool CacheTables::encode(const Trace& trace, const ByteSink& sink) {
  ByteWriter out(sink);
  const Metadata& metadata = trace.metadata_;
  for (const std::optional<int>& number : {metadata.rank, metadata.world_size}) {
    out.put<uint8_t>(number.has_value());
    out.put<int>(number.value_or(0));
  }
  out.put_text(metadata.backend);
  out.put_text(metadata.host);
  out.put_text(metadata.device_properties_json);
  out.put_text(metadata.top_level_json);
  out.put_array(trace.tracks());
  out.put_array(trace.lanes());
  out.put_array(trace.flows());
  out.put_array(trace.instants());
  out.put<uint64_t>(trace.counters_.size());
  for (const Counter& counter : trace.counters_) {
    out.put(counter.pid);
    out.put(counter.name);
    out.put_array(std::span(counter.time_ns));
    out.put_array(std::span(counter.value));
  }
  out.put<uint64_t>(trace.issues_.size());
  for (const LoadIssue& issue : trace.issues_) {
    out.put_text(issue.info().name);
    out.put(issue.count);
    out.put(issue.first_offset);
  }
  out.put<uint64_t>(trace.phase_counts_.size());
  for (const PhaseCount& phase : trace.phase_counts_) {
    out.put_text(phase.phase);
    out.put(phase.count);
  }
  out.put<uint64_t>(trace.strings_.size());
  for (uint32_t id = 0; id < trace.strings_.size(); ++id) out.put_text(trace.strings_[{id}]);
  out.put(trace.event_count_);
  out.put(trace.begin_ns_);
  out.put(trace.end_ns_);
  return out.finish();
}

bool CacheTables::decode(std::string_view bytes, Trace& trace) {
  ByteReader in(bytes);
  read_metadata(in, trace.metadata_);
  trace.tracks_ = in.take_array<Track>();
  trace.lanes_ = in.take_array<Lane>();
  trace.flows_ = in.take_array<Flow>();
  trace.instants_ = in.take_array<Instant>();
  read_counters(in, trace);
  if (!read_counts(in, trace)) return false;
  if (!read_strings(in, trace)) return false;
  trace.event_count_ = in.take<uint64_t>();
  trace.begin_ns_ = in.take<int64_t>();
  trace.end_ns_ = in.take<int64_t>();
  return in.at_end() && has_valid_ids(trace) && has_valid_slices(trace);
}

void CacheTables::read_metadata(ByteReader& in, Metadata& metadata) {
  for (std::optional<int>* number : {&metadata.rank, &metadata.world_size}) {
    const bool has_value = in.take<uint8_t>() != 0;
    const int value = in.take<int>();
    if (has_value) *number = value;
  }
  metadata.backend = in.take_text();
  metadata.host = in.take_text();
  metadata.device_properties_json = in.take_text();
  metadata.top_level_json = in.take_text();
}

void CacheTables::read_counters(ByteReader& in, Trace& trace) {
  for (auto left = in.take<uint64_t>(); left > 0 && in.ok(); --left) {
    Counter counter;
    counter.pid = in.take<StringId>();
    counter.name = in.take<StringId>();
    counter.time_ns = in.take_array<int64_t>();
    counter.value = in.take_array<double>();
    trace.counters_.push_back(std::move(counter));
  }
}

bool CacheTables::read_counts(ByteReader& in, Trace& trace) {
  for (auto left = in.take<uint64_t>(); left > 0 && in.ok(); --left) {
    LoadIssue issue;
    const std::string_view name = in.take_text();
    const auto known = std::ranges::find(issue_table(), name, &IssueInfo::name);
    if (known == issue_table().end()) return false;
    issue.issue = known->issue;
    issue.count = in.take<uint64_t>();
    issue.first_offset = in.take<uint64_t>();
    trace.issues_.push_back(issue);
  }
  for (auto left = in.take<uint64_t>(); left > 0 && in.ok(); --left) {
    PhaseCount phase;
    phase.phase = in.take_text();
    phase.count = in.take<uint64_t>();
    trace.phase_counts_.push_back(std::move(phase));
  }
  return true;
}

bool CacheTables::read_strings(ByteReader& in, Trace& trace) {
  const auto count = in.take<uint64_t>();
  for (uint64_t id = 0; id < count && in.ok(); ++id) {
    if (trace.strings_.intern(in.take_text()).value != id) return false;
  }
  return in.ok();
}

bool CacheTables::has_valid_ids(const Trace& trace) {
  const auto is_string = [&](StringId id) { return !id || id.value < trace.strings_.size(); };
  const auto is_track = [&](const Track& track) {
    const bool has_lanes =
        track.lane_count == 0 ||
        uint64_t{track.first_lane.value} + track.lane_count <= trace.lanes_.size();
    return has_lanes && track.kind <= TrackKind::kOther && is_string(track.pid) &&
           is_string(track.tid) && is_string(track.process_name) &&
           is_string(track.process_label) && is_string(track.thread_name);
  };
  const auto is_lane = [&](const Lane& lane) {
    return lane.track.value < trace.tracks_.size() &&
           (lane.count == 0 || uint64_t{lane.first.value} + lane.count <= trace.slice_count());
  };
  const auto is_flow = [&](const Flow& flow) {
    return flow.from.value < trace.slice_count() && flow.to.value < trace.slice_count() &&
           flow.kind <= FlowKind::kOther;
  };
  const auto is_instant = [&](const Instant& instant) {
    const bool has_track = !instant.track || instant.track.value < trace.tracks_.size();
    return has_track && is_string(instant.name) && is_string(instant.pid) && is_string(instant.tid);
  };
  const auto is_counter = [&](const Counter& counter) {
    return is_string(counter.pid) && is_string(counter.name) &&
           counter.time_ns.size() == counter.value.size();
  };
  return all(trace.tracks_, is_track) && all(trace.lanes_, is_lane) && all(trace.flows_, is_flow) &&
         all(trace.instants_, is_instant) && all(trace.counters_, is_counter);
}

bool CacheTables::has_valid_slices(const Trace& trace) {
  if (trace.slice_count() == 0) return true;
  const Slices& slices = trace.slices_;
  // "No name" is the largest number of all; adding one makes it 0.
  const auto name = [](StringId id) { return id.value + 1; };
  const auto lane = [](LaneId id) { return id.value; };
  const auto category = [](Category value) { return static_cast<uint32_t>(value); };
  return largest(slices.name, name) <= trace.strings_.size() &&
         largest(slices.lane, lane) < trace.lanes_.size() &&
         largest(slices.category, category) <= static_cast<uint32_t>(Category::kOther);
}

}  // namespace redline::trace
