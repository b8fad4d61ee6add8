// How a trial is started: its folder, the words and the environment of its command, its limits.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "machine/launch/environment.h"
#include "profiler/request/record_request.h"
#include "tuner/trial/slurm.h"
#include "tuner/trial/trial.h"
#include "tuner/trial/trial_process.h"

namespace redline::tuner {

struct TrialEnvironment {
  const Config& config;
  std::set<std::string> used;  ///< knobs that a placeholder in the command has set already
  std::string reports;         ///< path of the FIFO
  std::string temporary;       ///< folder for TMPDIR
  std::string directory;       ///< REDLINE_TRIAL_DIRECTORY
  std::string mark;            ///< value of REDLINE_TRIAL_ID
  std::optional<uint64_t> memory_limit_bytes;
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
