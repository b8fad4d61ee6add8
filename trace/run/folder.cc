#include "trace/run/folder.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string_view>

#include "base/parallel.h"
#include "trace/read/step_log_reader.h"

namespace redline::trace {

std::vector<std::string> step_logs_of(const std::vector<std::string>& paths) {
  std::vector<std::string> logs;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
      const std::vector<std::string> found = find_step_logs(path);
      logs.insert(logs.end(), found.begin(), found.end());
    } else if (std::string_view(path).ends_with(kStepLogSuffix)) {
      logs.push_back(path);
    }
  }
  return logs;
}

std::vector<std::string> trace_paths_of(std::vector<std::string> paths) {
  std::erase_if(paths, [](const std::string& path) {
    if (step_logs_of({path}).empty()) return false;
    const auto files = find_traces(path);
    return !files || files->front().find(".pt.trace.json") == std::string::npos;
  });
  return paths;
}

namespace {

struct ReadLogs {
  std::vector<RankRun> ranks;
  std::vector<std::string> errors;
};

ReadLogs read_logs(const std::vector<std::string>& logs) {
  std::vector<std::optional<RankRun>> read(logs.size());
  ReadLogs result;
  result.errors.resize(logs.size());
  for_each_index(thread_count(0), logs.size(), [&](size_t index, unsigned) {
    const auto log = read_step_log(logs[index]);
    if (log) {
      read[index] = summarise(*log);
    } else {
      result.errors[index] = log.error().message;
    }
  });
  for (auto& rank : read) {
    if (rank) result.ranks.push_back(std::move(*rank));
  }
  std::erase(result.errors, "");
  return result;
}

}  // namespace

tl::expected<std::vector<std::vector<RankRun>>, ReadError> read_runs(
    const std::vector<std::string>& logs) {
  ReadLogs read = read_logs(logs);
  if (!read.errors.empty()) return tl::unexpected(ReadError{read.errors.front()});
  return runs_of(std::move(read.ranks));
}

tl::expected<std::vector<RunFigures>, ReadError> read_run_figures(
    const std::vector<std::string>& logs) {
  auto runs = read_runs(logs);
  if (!runs) return tl::unexpected(runs.error());
  std::vector<RunFigures> figures;
  for (std::vector<RankRun>& ranks : *runs) {
    const std::string path = ranks.front().path;
    auto run = run_figures(std::move(ranks));
    if (!run) {
      return tl::unexpected(ReadError{path + ": fewer than " + std::to_string(kFewestRunSteps) +
                                      " training steps after the warm-up. Run it for longer"});
    }
    figures.push_back(std::move(*run));
  }
  return figures;
}

tl::expected<std::optional<RunVerdict>, ReadError> read_run(const std::vector<std::string>& logs,
                                                            bool has_ended) {
  ReadLogs read = read_logs(logs);
  if (read.ranks.empty() && !read.errors.empty()) {
    return tl::unexpected(ReadError{read.errors.front()});
  }
  auto now = std::chrono::system_clock::now();
  if (has_ended) now += std::chrono::hours(1);  // nothing will be heard of them until then
  const int64_t now_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch()).count();
  auto verdict = judge_run(std::move(read.ranks), now_ns);
  if (verdict) verdict->unreadable_logs = std::move(read.errors);
  return verdict;
}

}  // namespace redline::trace
