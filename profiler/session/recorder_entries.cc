// The part of the recorder that says what a trace is of: its name, and what stands around its
// events.
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>

#include "base/launched_rank.h"
#include "machine/resources.h"
#include "profiler/session/recorder.h"
#include "profiler/source/run_metadata.h"
#include "trace/emit/json_scan.h"

namespace redline::profiler {
namespace {

std::string random_trace_id() {
  // std::random_device would need arc4random, which glibc has only since 2022.
  uint8_t bytes[16] = {};
  static_cast<void>(getrandom(bytes, sizeof(bytes), 0));
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string id;
  for (const uint8_t byte : bytes) {
    id += kHex[byte / 16];
    id += kHex[byte % 16];
  }
  return id;
}

template <typename IsSame>
void put(std::vector<trace::Entry>& entries, const trace::Entry& entry, IsSame is_same) {
  const auto known = std::ranges::find_if(entries, is_same);
  if (known != entries.end()) {
    known->second = entry.second;
  } else {
    entries.push_back(entry);
  }
}

void put(std::vector<trace::Entry>& entries, const trace::Entry& entry) {
  put(entries, entry, [&](const trace::Entry& each) { return each.first == entry.first; });
}

/// Does put(), but for our own key it replaces only an entry with the same member. Each such entry
/// is an object with one member, so the facts of several sources stay beside each other.
void join(std::vector<trace::Entry>& entries, const trace::Entry& entry) {
  if (entry.first != kOwnEntry) return put(entries, entry);
  const auto member = [](const trace::Entry& each) {
    return std::string_view(each.second).substr(0, each.second.find(':'));
  };
  put(entries, entry, [&](const trace::Entry& each) {
    return each.first == kOwnEntry && member(each) == member(entry);
  });
}

/// Joins each member of `json`, an object.
void join_own(std::vector<trace::Entry>& entries, std::string_view json) {
  trace::for_each_member(json, [&](std::string_view name, std::string_view value) {
    join(entries, {kOwnEntry, "{\"" + std::string(name) + "\": " + std::string(value) + "}"});
    return true;
  });
}

}  // namespace

std::string default_trace_name() {
  return machine::host_name() + "_" + std::to_string(getpid()) + "." +
         std::to_string(read_clocks().realtime_ns) + ".pt.trace.json.gz";
}

std::vector<trace::Entry> Recorder::header(const Session& session) const {
  std::vector<trace::Entry> entries = {{"trace_id", trace::json_string(random_trace_id())}};
  for_each_option<RecorderOptions>([&](const OptionRow& row, auto member) {
    if constexpr (std::is_same_v<decltype(member), bool RecorderOptions::*>) {
      const bool is_asked_for = session.options.*member && !(kRecorderDefaults.*member);
      if (is_asked_for) entries.emplace_back(row.key, "1");
    }
  });
  // What torch says of a process group replaces this.
  if (const auto own = launched_rank()) {
    entries.emplace_back("distributedInfo",
                         "{\"rank\": " + std::to_string(own->rank) +
                             ", \"world_size\": " + std::to_string(own->world_size) + "}");
  }
  for (const auto& entry : metadata_) put(entries, entry);
  put(entries, {"host_name", trace::json_string(machine::host_name())});
  put(entries, {"run", run_metadata()});
  return entries;
}

std::vector<trace::Entry> Recorder::last_words(Session& session) {
  // GPUs are known only at the end, because the job may begin to use them within the window.
  std::vector<trace::Entry> entries = {{"deviceProperties", "[]"}};
  for (const auto& entry : session.new_metadata) join(entries, entry);
  {
    const std::lock_guard lock(source_entries_mutex_);
    for (const auto& entry : source_entries_) join(entries, entry);
  }
  entries.emplace_back(kOwnEntry, clock_members(session.clock_at_begin, read_clocks()));
  if (const uint64_t slow = session.flight ? steps_.slow_steps_not_told() : 0; slow > 0) {
    entries.emplace_back(kOwnEntry, "{\"slow_steps_not_written\": " + std::to_string(slow) + "}");
  }
  if (!session.reason.empty()) {
    entries.emplace_back(kOwnEntry, "{\"reason\": " + trace::json_string(session.reason) + "}");
  }
  return entries;
}

Result Recorder::add_metadata(const std::string& key, const std::string& json) {
  if (auto alive = check_alive(); !alive) return alive;
  static constexpr std::string_view kOwn[] = {"traceEvents", "traceName", "schemaVersion",
                                              "displayTimeUnit", "baseTimeNanoseconds"};
  if (std::ranges::find(kOwn, key) != std::end(kOwn)) {
    return tl::unexpected("metadata " + key + ": the trace has this key already");
  }
  if (!is_json(json)) return tl::unexpected("metadata " + key + ": not a JSON value");
  const bool is_own = key == kOwnEntry;  // goes to the window that is recorded, not to all
  const std::string kNobodyRecords = "metadata redline: no window is being recorded";
  if (is_own && !recording() && is_stopped_)
    return tl::unexpected(kNobodyRecords);  // without waiting for an export
  const std::lock_guard lock(mutex_);
  if (is_own && !is_json_object(json)) {
    return tl::unexpected(std::string("metadata redline: not a JSON object"));
  }
  if (!is_own) put(metadata_, {key, json});
  bool is_recorded = false;
  for (Session& each : sessions_) {
    if (each.state != State::kRecording) continue;
    is_own ? join_own(each.new_metadata, json) : put(each.new_metadata, {key, json});
    is_recorded = true;
  }
  if (is_own && !is_recorded) return tl::unexpected(kNobodyRecords);
  return {};
}

Result Recorder::forget_metadata() {
  if (auto alive = check_alive(); !alive) return alive;
  const std::lock_guard lock(mutex_);
  metadata_.clear();
  return {};
}

void Recorder::add_source_entry(const std::string& key, const std::string& json) {
  // Allowed while the process ends, because only then does a source know its totals.
  if (is_child_ || !is_json(json) || (key == kOwnEntry && !is_json_object(json))) return;
  const std::lock_guard lock(source_entries_mutex_);
  join(source_entries_, {key, json});
}

}  // namespace redline::profiler
