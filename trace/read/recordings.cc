#include "trace/read/recordings.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/format.h"
#include "trace/read/recorded_facts.h"

namespace redline::trace {
namespace {

namespace fs = std::filesystem;

// "HOST_PID" of HOST_PID.TIME.pt.trace.json.gz; "" of a file with another name.
std::string process_in_name(const fs::path& path) {
  const std::string name = path.filename().string();
  const size_t end = name.find(".pt.trace.json");
  const size_t dot = end == std::string::npos || end == 0 ? end : name.rfind('.', end - 1);
  return dot == std::string::npos ? "" : name.substr(0, dot);
}

// The text with all its numbers equally long, so that they are ordered by their values.
std::string with_long_numbers(std::string_view text) {
  std::string padded;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
    if (end == at) {
      padded += text[at++];
      continue;
    }
    padded += fmt::format("{:0>20}", text.substr(at, end - at));
    at = end;
  }
  return padded;
}

}  // namespace

std::tuple<int, int64_t, std::string, std::string_view> place_of_trace(std::optional<int> rank,
                                                                       int64_t begin_ns,
                                                                       std::string_view path) {
  if (rank) return {*rank, begin_ns, "", path};
  return {INT32_MAX, 0, with_long_numbers(path), path};
}

RecordedTrace recorded_trace(const Trace& trace) {
  const Metadata& metadata = trace.metadata();
  const RecordedFacts facts(metadata);
  RecordedTrace recorded;
  // `redline record` gives the same name to all traces of one call. It begins with the time of the
  // call, so the last in the alphabet is the latest.
  recorded.member = {facts.text("run", "recording"), metadata.rank, metadata.world_size,
                     trace.end_ns()};
  recorded.is_merged = facts.value("redline_merge", "ranks").is_array();
  const auto thread = std::ranges::find(trace.tracks(), TrackKind::kCpuThread, &Track::kind);
  if (thread == trace.tracks().end()) return recorded;
  recorded.process = metadata.host + " " + std::string(trace.string(thread->pid));
  if (!facts.value("redline", "ring").is_object()) return recorded;
  recorded.ring_process = recorded.process + " " + recorded.member.recording;
  recorded.ring_span = {trace.begin_ns(), trace.end_ns()};
  return recorded;
}

std::vector<bool> superseded(std::span<const RecordedTrace> traces) {
  std::vector<bool> result(traces.size());
  std::vector<size_t> named;
  std::vector<RecordingMember> members;
  const bool has_others = !std::ranges::all_of(traces, &RecordedTrace::is_merged);
  for (size_t i = 0; i < traces.size(); ++i) {
    result[i] = has_others && traces[i].is_merged;
    if (result[i] || traces[i].member.recording.empty()) continue;
    members.push_back(traces[i].member);
    named.push_back(i);
  }
  const std::vector<size_t> jobs = jobs_of(members);
  for (size_t i = 0; i < jobs.size(); ++i) result[named[i]] = jobs[i] > 0;

  std::map<std::string, std::vector<size_t>> processes;
  for (size_t i = 0; i < traces.size(); ++i) {
    if (!result[i] && !traces[i].ring_process.empty()) {
      processes[traces[i].ring_process].push_back(i);
    }
  }
  for (auto& [process, rings] : processes) {
    std::ranges::stable_sort(rings, std::greater(),
                             [&](size_t i) { return traces[i].ring_span.end_ns; });
    int64_t held_since_ns = INT64_MAX;
    for (const size_t i : rings) {
      result[i] = traces[i].ring_span.end_ns > held_since_ns;
      if (!result[i]) held_since_ns = traces[i].ring_span.begin_ns;
    }
  }
  return result;
}

namespace {

// What the file says before its events tells. That of many ranks is long.
RecordedTrace head_of(const std::string& file) {
  ReadOptions head;
  head.threads = 1;
  for (const uint64_t bytes : {uint64_t{64} << 10, uint64_t{8} << 20}) {
    head.most_text_bytes = bytes;
    if (const auto trace = read_trace(file, head)) return recorded_trace(**trace);
  }
  return {};
}

}  // namespace

std::string recording_of(const std::string& path) { return head_of(path).member.recording; }

std::vector<std::string> paths_of(std::span<const std::shared_ptr<const Trace>> traces) {
  std::vector<std::string> paths;
  for (const auto& trace : traces) paths.push_back(trace->path());
  return paths;
}

std::vector<std::string> notes_on_left_out(const std::vector<std::string>& paths,
                                           const std::vector<std::string>& read,
                                           const std::vector<ReadError>& unreadable) {
  std::error_code ignored;
  std::set<fs::path> known;
  std::set<std::string> processes;
  for (const std::string& path : read) {
    known.insert(fs::canonical(path, ignored));
    processes.insert(process_in_name(path));
  }
  for (const ReadError& error : unreadable) known.insert(fs::canonical(error.path, ignored));
  std::vector<std::string> notes;
  for (const std::string& path : paths) {
    const auto files = find_traces(path);
    if (!files) continue;
    auto unfinished = find_unfinished(path);
    std::erase_if(unfinished,
                  [&](const auto& file) { return known.contains(fs::canonical(file, ignored)); });
    if (!unfinished.empty()) {
      notes.push_back(
          fmt::format("{}: {} of a process that was killed, or still records, left out; "
                      "name the file to read what it has: {}",
                      path, format_plural(std::ssize(unfinished), "trace"), unfinished.front()));
    }
    int64_t left_out = 0, superseded = 0;
    for (const std::string& file : *files) {
      if (known.contains(fs::canonical(file, ignored))) continue;
      if (head_of(file).is_merged) {
        notes.push_back(fmt::format(
            "{}: left out, as redline merge made it of others; name it alone to read it", file));
        continue;
      }
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
