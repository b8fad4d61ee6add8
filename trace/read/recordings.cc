#include "trace/read/recordings.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "base/format.h"
#include "base/intervals.h"
#include "trace/model/recorded_jobs.h"

namespace redline::trace {
namespace {

namespace fs = std::filesystem;
using Traces = std::vector<std::shared_ptr<const Trace>>;

// A member of one of the top-level objects that the recorder writes; null if it is not there.
nlohmann::json member_of(const Trace& trace, const char* object, const char* key) {
  const nlohmann::json top = nlohmann::json::parse(trace.metadata().top_level_json, nullptr, false);
  if (!top.is_object() || !top.contains(object) || !top[object].is_object()) return {};
  return top[object].value(key, nlohmann::json());
}

// `redline record` gives the same name to all traces of one call. It begins with the time of the
// call, so the last in the alphabet is the latest.
std::string recording_of(const Trace& trace) {
  const nlohmann::json name = member_of(trace, "run", "recording");
  return name.is_string() ? name.get<std::string>() : "";
}

// The process and the time that a flight recorder's trace holds.
struct RingTrace {
  std::string process;
  Interval span;
};

std::optional<RingTrace> ring_of(const Trace& trace) {
  if (!member_of(trace, "redline", "ring").is_object()) return std::nullopt;
  for (const Track& track : trace.tracks()) {
    if (track.kind != TrackKind::kCpuThread) continue;
    const std::string process(trace.string(track.pid));
    return RingTrace{trace.metadata().host + " " + process + " " + recording_of(trace),
                     {trace.begin_ns(), trace.end_ns()}};
  }
  return std::nullopt;
}

// "HOST_PID" of HOST_PID.TIME.pt.trace.json.gz; "" of a file with another name.
std::string process_in_name(const fs::path& path) {
  const std::string name = path.filename().string();
  const size_t end = name.find(".pt.trace.json");
  const size_t dot = end == std::string::npos || end == 0 ? end : name.rfind('.', end - 1);
  return dot == std::string::npos ? "" : name.substr(0, dot);
}

}  // namespace

int64_t keep_latest_recording(Traces& traces) {
  Traces named;
  std::vector<RecordingMember> members;
  for (const auto& trace : traces) {
    std::string name = recording_of(*trace);
    if (name.empty()) continue;
    members.push_back({std::move(name), trace->metadata().rank, trace->metadata().world_size});
    named.push_back(trace);
  }
  std::set<std::shared_ptr<const Trace>> earlier;
  const std::vector<size_t> jobs = jobs_of(members);
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i] > 0) earlier.insert(named[i]);
  }
  return static_cast<int64_t>(
      std::erase_if(traces, [&](const auto& trace) { return earlier.contains(trace); }));
}

int64_t keep_latest_of_each_ring(Traces& traces) {
  std::map<std::string, std::vector<std::pair<Interval, std::shared_ptr<const Trace>>>> processes;
  for (const auto& trace : traces) {
    if (const auto ring = ring_of(*trace)) processes[ring->process].emplace_back(ring->span, trace);
  }
  std::set<std::shared_ptr<const Trace>> superseded;
  for (auto& [process, rings] : processes) {
    std::stable_sort(rings.begin(), rings.end(), [](const auto& left, const auto& right) {
      return left.first.end_ns > right.first.end_ns;
    });
    int64_t held_since_ns = INT64_MAX;
    for (const auto& [span, trace] : rings) {
      if (span.end_ns > held_since_ns) {
        superseded.insert(trace);
      } else {
        held_since_ns = span.begin_ns;
      }
    }
  }
  return static_cast<int64_t>(
      std::erase_if(traces, [&](const auto& trace) { return superseded.contains(trace); }));
}

std::vector<std::string> notes_on_left_out(const std::vector<std::string>& paths,
                                           const Traces& traces,
                                           const std::vector<ReadError>& unreadable) {
  std::error_code ignored;
  std::set<fs::path> known;
  std::set<std::string> processes;
  for (const auto& trace : traces) {
    known.insert(fs::canonical(trace->path(), ignored));
    processes.insert(process_in_name(trace->path()));
  }
  for (const ReadError& error : unreadable) known.insert(fs::canonical(error.path, ignored));
  std::vector<std::string> notes;
  for (const std::string& path : paths) {
    const auto files = find_traces(path);
    if (!files) continue;
    int64_t left_out = 0, superseded = 0;
    for (const std::string& file : *files) {
      if (known.contains(fs::canonical(file, ignored))) continue;
      const std::string process = process_in_name(file);
      ++(!process.empty() && processes.contains(process) ? superseded : left_out);
    }
    if (superseded > 0) {
      notes.push_back(
          fmt::format("{}: of each process the last seconds at its end; {} of before "
                      "left out",
                      path, format_plural(superseded, "trace")));
    }
    if (left_out == 0) continue;
    notes.push_back(fmt::format("{}: the latest recording; {} of earlier ones left out", path,
                                format_plural(left_out, "trace")));
  }
  return notes;
}

}  // namespace redline::trace
