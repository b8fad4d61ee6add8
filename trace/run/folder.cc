#include "trace/run/folder.h"

#include <fcntl.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "base/parallel.h"
#include "machine/resources.h"
#include "trace/emit/step_log_blocks.h"
#include "trace/read/hang_tables.h"
#include "trace/read/step_log_reader.h"
#include "trace/run/runs.h"

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
    // A job that hangs in its first step has no log yet.
    if (step_logs_of({path}).empty() && find_hang_tables(path).empty()) return false;
    const auto files = find_traces(path);
    return !files || files->front().find(".pt.trace.json") == std::string::npos;
  });
  return paths;
}

namespace {

template <typename Kept>
struct ReadLogs {
  std::vector<Kept> logs;
  std::vector<std::string> errors;  // of the logs that cannot be read
};

// Reads logs side by side, each into the memory of the one before. Of each only what `keep` makes
// of it stays in memory, and nothing if that is nullopt.
template <typename Keep>
auto read_logs(const std::vector<std::string>& paths, Keep keep) {
  using Kept = typename std::invoke_result_t<Keep, StepLog&>::value_type;
  std::vector<std::optional<Kept>> read(paths.size());
  ReadLogs<Kept> result;
  result.errors.resize(paths.size());
  const unsigned threads = thread_count(0);
  std::vector<StepLog> used(threads);
  for_each_index(threads, paths.size(), [&](size_t index, unsigned thread) {
    auto log = read_step_log(paths[index], std::move(used[thread]));
    if (log) {
      read[index] = keep(*log);
      used[thread] = std::move(*log);
    } else {
      result.errors[index] = log.error().message;
    }
  });
  for (auto& each : read) {
    if (each) result.logs.push_back(std::move(*each));
  }
  std::erase(result.errors, "");
  return result;
}

bool may_live_here(const StepLog& log) {
  return !log.ended && log.process > 0 && log.host == machine::host_name();
}

bool is_gone(const StepLog& log) {
  return kill(static_cast<pid_t>(log.process), 0) != 0 && errno == ESRCH;
}

// A log keeps to the clock of its begin. Since then the machine may have slept, or its clock been
// set, which would make a living process look silent. 0 if another machine has the process, or this
// one has been started anew.
int64_t clock_shift(const StepLog& log) {
  if (!may_live_here(log) || is_gone(log)) return 0;
  const int64_t now_ns = monotonic_ns();
  if (log.last_sign_ns - log.clock_offset_ns > now_ns) return 0;
  return unix_ns() - now_ns - log.clock_offset_ns;
}

std::optional<RankRun> summary_of(const StepLog& log) {
  RankRun run = summarise(log);
  run.is_gone = may_live_here(log) && is_gone(log);
  run.clock_shift_ns = clock_shift(log);
  return run;
}

ReadError unless_it_counts(const std::string& why) {
  return ReadError{why + ". If that start does not count, move the log out of the folder"};
}

// The ranks of each run that has a log in `logs` (runs_of()), the earliest run first. Fails if a
// log cannot be read.
tl::expected<std::vector<RankRuns>, ReadError> read_runs(const std::vector<std::string>& logs) {
  auto read = read_logs(logs, summary_of);
  if (!read.errors.empty()) return tl::unexpected(unless_it_counts(read.errors.front()));
  return runs_of(std::move(read.logs));
}

// Runs that `redline compare` logged stay: those that it records besides have no logs.
void keep_recorded(std::vector<RankRuns>& runs, const std::vector<std::string>& traces) {
  const auto name_of = [](const std::string& path) {
    return std::filesystem::path(path).filename().string();  // the folder may have been moved
  };
  std::set<std::string> names;
  for (const std::string& trace : traces) names.insert(name_of(trace));
  const auto is_recorded = [&](const RankRuns& ranks) {
    return std::ranges::any_of(ranks, [&](const RankRun& rank) {
      return std::ranges::any_of(rank.marks, [&](const LogMark& mark) {
        return mark.kind == LogMarkKind::kWindow && names.contains(name_of(mark.text));
      });
    });
  };
  const auto others = std::stable_partition(runs.begin(), runs.end(), is_recorded);
  if (others != runs.begin()) runs.erase(others, runs.end());
}

}  // namespace

tl::expected<std::vector<RunFigures>, ReadError> read_run_figures(
    const std::vector<std::string>& logs, const std::vector<std::string>& traces) {
  auto runs = read_runs(logs);
  if (!runs) return tl::unexpected(runs.error());
  keep_recorded(*runs, traces);
  std::vector<RunFigures> figures;
  for (RankRuns& ranks : *runs) {
    const std::string path = ranks.front().path;
    auto run = run_figures(std::move(ranks));
    if (!run) {
      auto error = ReadError{path + ": fewer than " + std::to_string(kFewestRunSteps) +
                             " training steps after the warm-up. Run it for longer"};
      return tl::unexpected(runs->size() > 1 ? unless_it_counts(error.message) : error);
    }
    figures.push_back(std::move(*run));
  }
  return figures;
}

tl::expected<std::optional<RunVerdict>, ReadError> read_run(const std::vector<std::string>& logs,
                                                            const std::string& ended_run) {
  auto read = read_logs(logs, summary_of);
  if (read.logs.empty() && !read.errors.empty()) {
    return tl::unexpected(ReadError{read.errors.front()});
  }
  for (RankRun& rank : read.logs) rank.is_over = !ended_run.empty() && rank.run == ended_run;
  auto verdict = judge_run(std::move(read.logs), unix_ns(), ended_run);
  if (verdict) verdict->unreadable_logs = std::move(read.errors);
  return verdict;
}

void note_end(const std::string& folder, const std::string& run, int exit_status) {
  for (const std::string& path : find_step_logs(folder)) {
    const auto log = read_step_log(path);
    if (!log || log->run != run || !may_live_here(*log) || !is_gone(*log)) continue;
    LogBlock end;
    end.sign_ns = log->last_sign_ns;
    end.ended = true;
    end.exit_status = exit_status;
    const FileDescriptor file(open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    static_cast<void>(write_all(file.get(), encode_block(end)));  // else the log stays as it is
  }
}

bool has_step_after(const std::string& folder, const std::string& run, int rank, int64_t time_ns) {
  return std::ranges::any_of(find_step_logs(folder), [&](const std::string& path) {
    const auto log = read_step_log(path);
    return log && log->run == run && log->rank == rank && !log->steps.empty() &&
           log->steps.back().end_ns() > time_ns;
  });
}

RunningJob read_running_job(const std::string& folder, const std::string& run) {
  auto read = read_logs(find_step_logs(folder), [&](StepLog& log) {
    const int64_t shift_ns = clock_shift(log);
    for (LoggedStep& step : log.steps) step.begin_ns += shift_ns;
    return log.run == run ? std::optional(std::move(log)) : std::nullopt;
  });
  return {.folder = folder,
          .run = run,
          .recent = recent_run(read.logs),
          .unreadable_logs = std::move(read.errors)};
}

}  // namespace redline::trace
