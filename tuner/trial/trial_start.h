// How a trial is started: its folder, the words and the environment of its command, its limits, the
// process itself, and the guard beside it that ends it if autotune is killed.
//
// A trial gets a session of its own, so that Ctrl-C reaches autotune alone and the trial ends in
// order.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "machine/launch/environment.h"
#include "profiler/request/record_request.h"
#include "tuner/trial/slurm.h"
#include "tuner/trial/trial.h"

namespace redline::tuner {

struct StartOptions {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  ///< "NAME=VALUE"
  std::string stdout_path;
  std::string stderr_path;
  std::vector<int> cores;                    ///< cores to run on; empty: those of this process
  std::optional<uint64_t> data_limit_bytes;  ///< RLIMIT_DATA of every process of the trial
  std::string mark;  ///< the mark by which ProcessTree knows the trial; empty: none
};

/// Starts the command as the leader of a new session and returns its pid. The error says why it
/// could not be started.
[[nodiscard]] tl::expected<pid_t, std::string> start_trial(const StartOptions& options);

/// A forked process that ends the trial if this process dies without an orderly end (SIGKILL),
/// because nobody else would. The destructor dismisses it.
class TrialGuard {
 public:
  /// The guard calls `first` before it ends the processes. `first` must not use stdin, stdout or
  /// stderr.
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

struct TrialEnvironment {
  const Config& config;
  std::set<std::string> used;  ///< knobs that a placeholder in the command has set already
  std::string reports;         ///< path of the FIFO
  std::string temporary;       ///< folder for TMPDIR
  std::string directory;       ///< REDLINE_TRIAL_DIRECTORY
  std::string mark;            ///< value of REDLINE_TRIAL_ID
  std::optional<uint64_t> memory_limit_bytes;
  std::string step_marker = {};
};

/// This process's environment with placeholders filled, plus the start-up hook, the REDLINE_*
/// variables of a trial, its own TMPDIR and its own rendezvous port.
[[nodiscard]] launch::Environment trial_environment(TrialEnvironment trial);

/// Restricts the trial to the GPUs of `share`. If the user set no number of OpenMP threads and the
/// command is a single rank, it gets as many as `share` has cores (torchrun gives each of several
/// ranks one thread).
void restrict_to(const Share& share, int ranks, launch::Environment& environment);

/// Whether processes with this environment may find an NVIDIA GPU. If so, the hook limits and reads
/// device memory; a limit of the host's address space would break CUDA.
[[nodiscard]] bool sees_gpu(const launch::Environment& environment);

/// Files in the trial's own folder.
struct TrialPaths {
  std::filesystem::path directory;

  [[nodiscard]] std::string reports() const { return directory / "reports"; }
  /// For TMPDIR. If the study's path is long, this is a short folder elsewhere that only this user
  /// can enter: processes put sockets there, whose paths may have at most 107 bytes.
  [[nodiscard]] std::string temporary() const;
  [[nodiscard]] std::string output() const { return directory / "stdout"; }
  [[nodiscard]] std::string errors() const { return directory / "stderr"; }
  /// Removes everything except the output.
  void remove() const;
};

struct TrialStart {
  StartOptions options;
  launch::Environment variables;
};
/// `mark` is the one by which ProcessTree knows the trial; `notes` is set if the trial is to be
/// recorded. The error is one line.
[[nodiscard]] tl::expected<TrialStart, std::string> prepare_start(
    const TrialSpec& spec, const TrialPaths& paths, const std::string& mark,
    const std::optional<SlurmStep>& step, const std::optional<launch::RecordNotes>& notes);

}  // namespace redline::tuner
