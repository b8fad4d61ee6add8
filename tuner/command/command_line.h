// The command line of autotune: its options, the settings that follow from them, and its commands.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tuner/search/strategy.h"
#include "tuner/show/study_texts.h"
#include "tuner/space/space.h"
#include "tuner/trial/trial.h"

namespace redline::tuner {

/// The exit status of a command line that makes no sense.
constexpr int kUsage = 2;

struct Options : StudyTerms {
  std::vector<std::string> knobs;
  std::string strategy = "staged";
  std::string from_trace;
  std::string memory_metric_regex;
  std::chrono::nanoseconds trial_timeout{0};
  std::chrono::nanoseconds start_timeout{0};  ///< as TrialSpec's
  uint64_t seed = 0;
  int parallel = 1;
  bool slurm = false;        ///< --launcher slurm; `command` is under_srun() then
  bool names_study = false;  ///< --study; else a search has a file of its own
  bool resume = false;
  bool dry_run = false;
  bool profile_best = false;
  bool json = false;

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

/// What --dry-run prints: space, plan and first command.
[[nodiscard]] std::string dry_run_text(const Options& options, const Space& space,
                                       const Strategy& strategy, const Machine& machine,
                                       const std::vector<Share>& shares);

/// autotune [OPTIONS] -- CMD: searches, and prints what it found. Returns the exit status.
[[nodiscard]] int run_search_command(const Options& options);

/// autotune show | export | apply FILE: what a study holds, without running anything. The exit
/// status where the first word is one of these commands; nothing for a search.
[[nodiscard]] std::optional<int> run_study_command(int argc, char** argv);

}  // namespace redline::tuner
