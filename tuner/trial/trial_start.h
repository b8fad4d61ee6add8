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

/// This process's environment with placeholders filled, the start-up hook, the REDLINE_* variables
/// of a trial, a TMPDIR and a rendezvous port of its own.
[[nodiscard]] launch::Environment trial_environment(TrialEnvironment trial);

/// The GPUs of `share`, and as many OpenMP threads as it has cores, where the user set no number
/// and the command is a single rank (torchrun gives each of several one thread).
void restrict_to(const Share& share, int ranks, launch::Environment& environment);

/// Whether processes with this environment may find an NVIDIA GPU. Then device memory is what is
/// limited and read, by the hook; limiting the host's address space would break CUDA.
[[nodiscard]] bool sees_gpu(const launch::Environment& environment);

/// Files in the trial's own folder.
struct TrialPaths {
  std::filesystem::path directory;

  [[nodiscard]] std::string reports() const { return directory / "reports"; }
  [[nodiscard]] std::string temporary() const { return directory / "tmp"; }
  [[nodiscard]] std::string output() const { return directory / "stdout"; }
  [[nodiscard]] std::string errors() const { return directory / "stderr"; }
  /// All but the output.
  void remove() const;
};

struct TrialStart {
  StartOptions options;
  launch::Environment variables;
};
/// `mark` as the ProcessTree knows the trial; `notes` where it is to be recorded. The error is one
/// line.
[[nodiscard]] tl::expected<TrialStart, std::string> prepare_start(
    const TrialSpec& spec, const TrialPaths& paths, const std::string& mark,
    const std::optional<SlurmStep>& step, const std::optional<launch::RecordNotes>& notes);

}  // namespace redline::tuner
