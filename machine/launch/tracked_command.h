// Starts commands that must leave no process behind: trials of autotune and runs of
// `redline compare`. Such a command gets a session of its own, so that Ctrl-C reaches Redline
// alone, which ends the command in order.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace redline::launch {

struct TrackedOptions {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  ///< "NAME=VALUE"
  std::string stdout_path;
  std::string stderr_path;
  std::vector<int> cores;                    ///< cores to run on; empty: those of this process
  std::optional<uint64_t> data_limit_bytes;  ///< RLIMIT_DATA of each of its processes
  std::string mark;  ///< the mark by which ProcessTree knows its processes; empty: none
};

/// Starts the command as the leader of a new session and returns its pid. From then on, this
/// process adopts orphans among its descendants, so that a ProcessTree finds and reaps them. The
/// error says why the command could not be started.
[[nodiscard]] tl::expected<pid_t, std::string> start_tracked(const TrackedOptions& options);

/// A forked process that ends a command if this process dies without an orderly end (SIGKILL),
/// because nobody else would. Make it before the command: a SIGKILL between the two would leave the
/// command alone. The destructor dismisses it.
class EndGuard {
 public:
  /// `mark`: the mark of the command (TrackedOptions). The guard calls `first`, if it is set,
  /// before it ends the processes. `first` must not use stdin, stdout or stderr.
  explicit EndGuard(const std::string& mark, const std::function<void()>& first = {});
  ~EndGuard();
  EndGuard(const EndGuard&) = delete;
  EndGuard& operator=(const EndGuard&) = delete;
  EndGuard(EndGuard&&) = delete;
  EndGuard& operator=(EndGuard&&) = delete;

 private:
  pid_t pid_ = -1;
  int dismissal_ = -1;
};

}  // namespace redline::launch
