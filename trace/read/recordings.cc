#include "trace/read/recordings.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/format.h"
#include "trace/model/recorded_jobs.h"

namespace redline::trace {
namespace {

namespace fs = std::filesystem;
using Traces = std::vector<std::shared_ptr<const Trace>>;

// `redline record` gives the same name to all traces of one call. It begins with the time of the
// call, so the last in the alphabet is the latest.
std::string recording_of(const Trace& trace) {
  using nlohmann::json;
  const json top = json::parse(trace.metadata().top_level_json, nullptr, false);
  if (!top.is_object() || !top.contains("run") || !top["run"].is_object()) return "";
  const json name = top["run"].value("recording", json());
  return name.is_string() ? name.get<std::string>() : "";
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

std::vector<std::string> notes_on_left_out(const std::vector<std::string>& paths,
                                           const Traces& traces,
                                           const std::vector<ReadError>& unreadable) {
  std::error_code ignored;
  std::set<fs::path> known;
  for (const auto& trace : traces) known.insert(fs::canonical(trace->path(), ignored));
  for (const ReadError& error : unreadable) known.insert(fs::canonical(error.path, ignored));
  std::vector<std::string> notes;
  for (const std::string& path : paths) {
    const auto files = find_traces(path);
    if (!files) continue;
    const auto left_out = std::ranges::count_if(*files, [&](const std::string& file) {
      return !known.contains(fs::canonical(file, ignored));
    });
    if (left_out == 0) continue;
    notes.push_back(fmt::format("{}: the latest recording; {} of earlier ones left out", path,
                                format_plural(left_out, "trace")));
  }
  return notes;
}

}  // namespace redline::trace
