#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/fuzz/check_trace.h"
#include "trace/read/reader.h"
#include "trace/write/rewrite.h"

namespace redline::fuzz {
namespace {

using trace::Trace;

std::string describe(const Trace& trace) {
  std::string all;
  const auto& slices = trace.slices();
  const auto put = [&](auto... values) { ((all += std::to_string(values) + " "), ...); };
  for (size_t i = 0; i < trace.slice_count(); ++i) {
    put(slices.begin_ns[i], slices.end_ns[i], static_cast<int>(slices.category[i]),
        slices.lane[i].value, slices.correlation[i]);
    all.append(trace.string(slices.name[i])) += '\n';
  }
  for (const trace::Track& track : trace.tracks()) {
    for (const trace::StringId id : {track.pid, track.tid, track.process_name, track.thread_name}) {
      all.append(trace.string(id)) += '\n';
    }
    put(track.sort_index, track.lane_count, static_cast<int>(track.kind));
  }
  for (const trace::Counter& counter : trace.counters()) {
    for (size_t i = 0; i < counter.time_ns.size(); ++i) put(counter.time_ns[i], counter.value[i]);
  }
  for (const trace::Instant& instant : trace.instants()) {
    put(instant.time_ns, instant.track.value);
    all.append(trace.string(instant.name)) += '\n';
  }
  return all;
}

}  // namespace

tl::expected<void, std::string> rewrite_trace(const Trace& trace, const std::string& path) {
  trace::TraceWriter writer(trace::spool_path(path), trace::header_of(trace));
  trace::TraceRewriter(writer).add(trace);
  writer.complete({});
  return writer.save(path);
}

std::string broken_round_trip(const Trace& before) {
  const std::string path = "/dev/shm/redline_fuzz_" + std::to_string(::getpid()) + ".json";
  const auto written = rewrite_trace(before, path);
  if (!written) return written.error();
  std::ifstream file(path);
  const bool is_json = nlohmann::json::accept(file);
  const auto after = trace::read_trace(path);
  ::unlink(path.c_str());
  if (!is_json) return "what was written is no JSON";
  if (!after) return before.slice_count() > 0 ? "what was written is refused" : "";
  if (!(*after)->issues().empty())
    return "what was written has an issue: " + std::string((*after)->issues()[0].info().name);
  return describe(before) == describe(**after) ? "" : "what was written reads otherwise";
}

}  // namespace redline::fuzz
