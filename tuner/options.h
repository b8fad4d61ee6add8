// The command line of autotune, and the settings that follow from it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tuner/search/plan.h"
#include "tuner/study/database.h"
#include "tuner/trial/trial.h"

namespace redline::tuner {

/// The exit status of a command line that makes no sense.
constexpr int kUsage = 2;

struct Options {
  std::vector<std::string> knobs;
  Budget budget;
  std::string strategy = "staged";
  std::optional<int64_t> global_batch;
  std::optional<uint64_t> memory_limit_bytes;
  std::string study = "autotune.study.db";
  Objective objective = Objective::kSamplesPerSecond;
  std::string from_trace;
  std::string metric_regex;
  std::string memory_metric_regex;
  std::optional<double> cost_per_hour;
  std::chrono::nanoseconds trial_timeout{0};
  uint64_t seed = 0;
  int parallel = 1;
  bool slurm = false;  ///< --launcher slurm; `command` is under_srun() then
  bool resume = false;
  bool dry_run = false;
  bool profile_best = false;
  bool json = false;
  std::string output = "best.json";
  std::vector<std::string> command;

  /// Where the page about the study goes: the study's name with .html.
  [[nodiscard]] std::string page_path() const;
  /// How long a trial measures after its warm-up: a fortieth of the budget, 2 s to 10 s.
  [[nodiscard]] std::chrono::nanoseconds measure_for() const;
  /// Warm-up and measurement of a trial: what a strategy may plan with.
  [[nodiscard]] std::chrono::nanoseconds longest_measurement() const { return 4 * measure_for(); }
  [[nodiscard]] int64_t steps_a_trial() const;
  /// What all trials share.
  [[nodiscard]] TrialSpec prototype() const;
};

/// Reads the command line. Help, the version and usage errors are printed here: then nothing is
/// returned and `exit_status` is what the program ends with (0 or 2).
[[nodiscard]] std::optional<Options> parse_options(int argc, char** argv, int& exit_status);

}  // namespace redline::tuner
