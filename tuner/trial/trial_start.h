// How a trial is started: its folder, the words and the environment of its command, its limits.
#pragma once

#include <filesystem>
#include <optional>

#include "machine/launch/environment.h"
#include "profiler/request/record_request.h"
#include "tuner/trial/slurm.h"
#include "tuner/trial/trial.h"
#include "tuner/trial/trial_process.h"

namespace redline::tuner {

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
