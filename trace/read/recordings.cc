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
#include "trace/read/reader.h"

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

struct Recording {
  std::set<std::optional<int>> ranks;
  std::set<std::optional<int>> world_sizes;
};

bool is_of_the_same_job(const Recording& left, const Recording& right) {
  const auto in_right = [&right](const auto& rank) { return right.ranks.contains(rank); };
  return left.world_sizes == right.world_sizes && std::ranges::none_of(left.ranks, in_right);
}

}  // namespace

int64_t keep_latest_recording(Traces& traces) {
  std::map<const Trace*, std::string> names;
  std::map<std::string, Recording, std::greater<>> recordings;  // the latest first
  for (const auto& trace : traces) {
    const std::string& name = names[trace.get()] = recording_of(*trace);
    if (name.empty()) continue;
    recordings[name].ranks.insert(trace->metadata().rank);
    recordings[name].world_sizes.insert(trace->metadata().world_size);
  }
  Recording job;
  std::set<std::string> kept = {""};
  for (const auto& [name, recording] : recordings) {
    if (kept.size() > 1 && !is_of_the_same_job(recording, job)) continue;
    kept.insert(name);
    job.ranks.insert(recording.ranks.begin(), recording.ranks.end());
    job.world_sizes = recording.world_sizes;
  }
  return static_cast<int64_t>(
      std::erase_if(traces, [&](const auto& trace) { return !kept.contains(names[trace.get()]); }));
}

std::vector<std::string> notes_on_left_out(const std::vector<std::string>& paths,
                                           const Traces& traces) {
  std::error_code ignored;
  std::set<fs::path> read;
  for (const auto& trace : traces) read.insert(fs::canonical(trace->path(), ignored));
  std::vector<std::string> notes;
  for (const std::string& path : paths) {
    const auto files = find_traces(path);
    if (!files) continue;
    const auto left_out = std::ranges::count_if(*files, [&](const std::string& file) {
      return !read.contains(fs::canonical(file, ignored));
    });
    if (left_out == 0) continue;
    notes.push_back(fmt::format("{}: the latest recording; {} of earlier ones left out", path,
                                format_plural(left_out, "trace")));
  }
  return notes;
}

}  // namespace redline::trace
