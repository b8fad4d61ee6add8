#include "trace/run/folder.h"

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

tl::expected<std::optional<RunVerdict>, ReadError> read_run(const std::vector<std::string>& logs) {
  std::vector<std::optional<RankRun>> read(logs.size());
  std::vector<std::string> errors(logs.size());
  for_each_index(thread_count(0), logs.size(), [&](size_t index, unsigned) {
    const auto log = read_step_log(logs[index]);
    if (log) {
      read[index] = summarise(*log);
    } else {
      errors[index] = log.error().message;
    }
  });
  std::vector<RankRun> ranks;
  for (auto& rank : read) {
    if (rank) ranks.push_back(std::move(*rank));
  }
  std::erase(errors, "");
  if (ranks.empty() && !errors.empty()) return tl::unexpected(ReadError{errors.front()});
  const int64_t now_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                             std::chrono::system_clock::now().time_since_epoch())
                             .count();
  auto verdict = judge_run(std::move(ranks), now_ns);
  if (verdict) verdict->unreadable_logs = std::move(errors);
  return verdict;
}

}  // namespace redline::trace
