// Reads a trace once and measures it. bench/trace_load.py starts a process for each reading.
//
//     load_once WHAT FILE
//
// Prints one JSON object: seconds, peak anonymous memory, and what was read.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

#include "bench/limits.h"
#include "trace/read/reader.h"
#include "trace/report/report.h"

namespace redline::bench {
namespace {

using Figures = std::optional<nlohmann::ordered_json>;

class StopWatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// The file's bytes, mapped for as long as the process lives.
std::string_view map_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat about {};
  if (file < 0 || fstat(file, &about) != 0 || about.st_size == 0) return {};
  const auto bytes = static_cast<size_t>(about.st_size);
  void* content = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (content == MAP_FAILED) return {};
  return {static_cast<const char*>(content), bytes};
}

Figures failed(const std::string& message) {
  fmt::print(stderr, "load_once: {}\n", message);
  return std::nullopt;
}

// Only the reader is to be measured, so nothing may come from the cache or be written to it.
trace::ReadOptions without_cache() {
  trace::ReadOptions options;
  options.cache.enabled = false;
  return options;
}

Figures load(const std::string& path, const trace::ReadOptions& options) {
  PeakMemory peak;
  const StopWatch watch;
  const auto trace = trace::read_trace(path, options);
  const double seconds = watch.seconds();
  if (!trace) return failed(trace.error().message);
  return {{{"seconds", seconds},
           {"memory_bytes", peak.stop()},
           {"settled_memory_bytes", anonymous_bytes()},
           {"events", (*trace)->event_count()}}};
}

/// Measures a reading of a file that was read before.
Figures reopen(const std::string& path) {
  if (const auto first = trace::read_trace(path); !first) return failed(first.error().message);
  return load(path, {});  // the first reading has put the trace into the cache when it ended
}

Figures report(const std::string& path) {
  const StopWatch load_watch;
  const auto trace = trace::read_trace(path, without_cache());
  const double load_seconds = load_watch.seconds();
  if (!trace) return failed(trace.error().message);
  PeakMemory peak;
  const StopWatch watch;
  const trace::Report report = trace::make_report({*trace});
  const std::string text = trace::report_text(report, {});
  const double seconds = watch.seconds();
  return {{{"seconds", seconds},
           {"load_seconds", load_seconds},
           {"memory_bytes", peak.stop()},
           {"report_bytes", text.size()}}};
}

Figures bare(const std::string& path) {
  const unsigned threads = std::max(1U, std::thread::hardware_concurrency());
  PeakMemory peak;
  const StopWatch watch;
  const int64_t events = bare_pass(map_file(path), threads);
  const double seconds = watch.seconds();
  if (events < 0) return failed(path + ": cannot be cut into chunks of whole events");
  return {{{"seconds", seconds},
           {"memory_bytes", peak.stop()},
           {"threads", threads},
           {"events", events}}};
}

Figures inflate(const std::string& path, Output output) {
  PeakMemory peak;
  const StopWatch watch;
  const int64_t bytes = inflate_alone(map_file(path), output);
  const double seconds = watch.seconds();
  if (bytes < 0) return failed(path + ": cannot be inflated");
  return {{{"seconds", seconds}, {"memory_bytes", peak.stop()}, {"bytes", bytes}}};
}

Figures nlohmann_dom(const std::string& path) {
  const std::string_view text = map_file(path);
  PeakMemory peak;
  const StopWatch watch;
  const auto document = nlohmann::json::parse(text, nullptr, false);
  const double seconds = watch.seconds();
  if (document.is_discarded()) return failed(path + ": is not JSON");
  return {{{"seconds", seconds},
           {"memory_bytes", peak.stop()},
           {"events", document.at("traceEvents").size()}}};
}

Figures measure(std::string_view what, const std::string& path) {
  if (what == "load") return load(path, without_cache());
  if (what == "reopen") return reopen(path);
  if (what == "report") return report(path);
  if (what == "bare") return bare(path);
  if (what == "inflate") return inflate(path, Output::kDropped);
  if (what == "inflate-kept") return inflate(path, Output::kKept);
  if (what == "nlohmann") return nlohmann_dom(path);
  return failed("what is " + std::string(what) + "?");
}

}  // namespace
}  // namespace redline::bench

int main(int count, char** arguments) {
  if (count != 3) {
    fmt::print(stderr,
               "usage: load_once load|reopen|report|bare|inflate|inflate-kept|nlohmann FILE\n");
    return 2;
  }
  const auto figures = redline::bench::measure(arguments[1], arguments[2]);
  if (!figures) return 1;
  fmt::print("{}\n", figures->dump());
  return 0;
}
