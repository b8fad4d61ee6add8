// How a trial is started: its folder, and the words, the environment and the limits of its command.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <tl/expected.hpp>

#include "machine/launch/environment.h"
#include "machine/launch/tracked_command.h"
#include "profiler/request/recording_summary.h"
#include "tuner/trial/slurm.h"
#include "tuner/trial/trial.h"

namespace redline::tuner {

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
  /// Where the hook puts the stacks of processes that hang.
  [[nodiscard]] std::string stacks() const { return directory / "stacks"; }
  [[nodiscard]] std::string output() const { return directory / "stdout"; }
  [[nodiscard]] std::string errors() const { return directory / "stderr"; }
  /// Removes everything except the output.
  void remove() const;
};

/// This process's environment with placeholders filled, plus the start-up hook, the REDLINE_*
/// variables of a trial, its own TMPDIR and its own rendezvous port. `mark` is the value of
/// REDLINE_TRIAL_ID; a placeholder in the command has set the knobs of `used` already.
[[nodiscard]] launch::Environment trial_environment(const TrialSpec& spec, const TrialPaths& paths,
                                                    const std::string& mark,
                                                    std::set<std::string> used);

struct TrialStart {
  launch::TrackedOptions options;
  launch::Environment variables;
};
/// `mark` is the one by which ProcessTree knows the trial; `notes` is set if the trial is to be
/// recorded. The error is one line.
[[nodiscard]] tl::expected<TrialStart, std::string> prepare_start(
    const TrialSpec& spec, const TrialPaths& paths, const std::string& mark,
    const std::optional<SlurmStep>& step, const std::optional<launch::RecordNotes>& notes);

}  // namespace redline::tuner
