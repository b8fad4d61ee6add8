// Starts a trial's command: own session, output to files, data limit, and a guard beside it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace redline::tuner {

struct StartOptions {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  ///< "NAME=VALUE"
  std::string stdout_path;
  std::string stderr_path;
  std::vector<int> cores;                    ///< to run on; empty: those of this process
  std::optional<uint64_t> data_limit_bytes;  ///< RLIMIT_DATA of every process of the trial
  std::string mark;                          ///< as the ProcessTree knows it; empty: none
};

/// The command's pid, leader of a new session. The error says why it could not be started.
[[nodiscard]] tl::expected<pid_t, std::string> start_trial(const StartOptions& options);

/// A forked process that waits for this one to die without an orderly end (SIGKILL) and then ends
/// the trial: nobody else would. Dismissed by its destructor.
class TrialGuard {
 public:
  /// `first` is called before the processes are ended; it must not count on stdin, stdout, stderr.
  TrialGuard(pid_t root, const std::string& mark, const std::function<void()>& first);
  ~TrialGuard();
  TrialGuard(const TrialGuard&) = delete;
  TrialGuard& operator=(const TrialGuard&) = delete;
  TrialGuard(TrialGuard&&) = delete;
  TrialGuard& operator=(TrialGuard&&) = delete;

 private:
  pid_t pid_ = -1;
  int dismissal_ = -1;
};

}  // namespace redline::tuner
