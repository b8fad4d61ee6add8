#include "compare/logged_run.h"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/clock.h"
#include "base/file.h"
#include "machine/launch/command.h"
#include "machine/launch/process_tree.h"
#include "machine/launch/tracked_command.h"
#include "profiler/request/record_request.h"
#include "profiler/request/recording_summary.h"
#include "profiler/request/step_log_request.h"
#include "trace/read/step_log_reader.h"

namespace redline::compare {
namespace {

constexpr std::chrono::seconds kGrace{5};
constexpr int kLookMs = 100;  // how often `stop` is looked at
// Enough steps for figures of operators, after those in which things start.
constexpr Schedule kWindow{.skip_first = 8, .wait = 0, .warmup = 2, .active = 8, .repeat = 1};

std::vector<std::string> files_of(const CommandRun& run) {
  return run.kind == RunKind::kLogged ? trace::find_step_logs(run.folder)
                                      : launch::list_traces(run.folder).whole;
}

tl::expected<void, std::string> ask_for_files(const CommandRun& run,
                                              launch::Environment& environment) {
  if (run.kind == RunKind::kLogged) return launch::add_step_log(run.folder, environment);
  profiler::RecordRequest request;
  request.options.directory = run.folder;
  request.schedule = kWindow;
  return launch::add_record_request(request, environment);
}

/// Waits until the process has ended, which its descriptor tells, or `stop` is set. Looking through
/// /proc in turns would take time from the command that is measured.
void wait_for_end(pid_t process, const std::atomic<bool>& stop) {
  const FileDescriptor ended(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
  while (!stop) {
    pollfd waiting{ended.get(), POLLIN, 0};
    if (ended.get() >= 0) {
      if (poll(&waiting, 1, kLookMs) > 0) return;
    } else {  // a kernel before 5.3
      siginfo_t info{};
      if (waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
          info.si_pid == process) {
        return;
      }
      poll(nullptr, 0, kLookMs);
    }
  }
}

}  // namespace

tl::expected<RunEnd, std::string> run_once(const CommandRun& run, const std::atomic<bool>& stop) {
  auto environment = launch::Environment::current();
  if (const auto asked = ask_for_files(run, environment); !asked) {
    return tl::unexpected(asked.error());
  }
  std::optional<launch::RecordNotes> notes;
  if (run.kind == RunKind::kRecorded) {
    notes.emplace(run.folder);
    environment.set("REDLINE_NOTES", notes->path());
  }
  const std::string mark =
      "compare-" + std::to_string(getpid()) + "-" + std::to_string(monotonic_ns());
  environment.set(launch::kMarkVariable, mark);
  const std::vector<std::string> before = files_of(run);
  launch::TrackedOptions options;
  options.argv = run.command;
  options.environment = environment.strings();
  options.stdout_path = options.stderr_path = run.output;
  options.mark = mark;
  const launch::EndGuard guard(mark);
  const auto root = launch::start_tracked(options);
  if (!root) return tl::unexpected(root.error());
  launch::ProcessTree tree(*root, mark);
  wait_for_end(*root, stop);
  tree.scan();
  RunEnd end;
  end.is_stopped = !tree.root_status().has_value();
  // Also after a command that ended by itself: its loader's workers may be left.
  if (const auto left = tree.stop(kGrace); !left.empty()) {
    return tl::unexpected(std::to_string(left.size()) + " of its processes could not be ended");
  }
  end.status = tree.root_status() ? launch::exit_status(*tree.root_status()) : 0;
  for (const std::string& file : files_of(run)) {
    if (std::ranges::find(before, file) == before.end()) end.files.push_back(file);
  }
  return end;
}

}  // namespace redline::compare
