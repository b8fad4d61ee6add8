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

// Exit statuses; kUsage is that of a command line that autotune does not understand.
constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kUsage = 2;
// As a shell says of a command that Ctrl-C ended: `autotune … && redline run …` must not go on.
constexpr int kInterrupted = 130;

/// Writes "autotune: MESSAGE" to stderr and gives `status`, for `return complain("…")`.
int complain(const std::string& message, int status = kFailed);

struct Options : StudyTerms {
  std::vector<std::string> knobs;
  std::string strategy = "model";
  std::string from_trace;
  std::chrono::nanoseconds trial_timeout{0};
  std::chrono::nanoseconds start_timeout{0};  ///< see TrialSpec
  bool may_pause = false;                     ///< see TrialSpec
  uint64_t seed = 0;
  int parallel = 1;
  bool slurm = false;        ///< --launcher slurm; `command` is then what under_srun() made
  bool names_study = false;  ///< --study was given; else the search chooses its own file
  bool resume = false;
  bool dry_run = false;
  bool profile_best = false;
  bool json = false;

  /// Where the page about the study goes: the study's name with .html.
  [[nodiscard]] std::string page_path() const;
  /// How long a trial measures after its warm-up: a fortieth of the budget, 2 s to 10 s.
  [[nodiscard]] std::chrono::nanoseconds measure_for() const;
  /// How long a trial may take for warm-up and measurement, for a strategy's plans: a tenth of the
  /// budget, 8 s or more, but within its timeout.
  [[nodiscard]] std::chrono::nanoseconds longest_measurement() const;
  [[nodiscard]] int64_t steps_a_trial() const;
  /// The settings that all trials share.
  [[nodiscard]] TrialSpec prototype() const;
};

/// Whether both paths lead to the same file, whether it exists or not.
[[nodiscard]] bool same_file(const std::string& one, const std::string& other);

/// Reads the command line. Prints help, the version and usage errors itself: it then returns
/// nullopt, and the program must end with `exit_status` (0 or 2).
[[nodiscard]] std::optional<Options> parse_options(int argc, char** argv, int& exit_status);

/// What --dry-run prints: space, plan and first command. `study` is what becomes of its file.
[[nodiscard]] std::string dry_run_text(const Options& options, const Space& space,
                                       const Strategy& strategy, const Machine& machine,
                                       const std::vector<Share>& shares, const std::string& study);

/// autotune [OPTIONS] -- CMD: searches, and prints what it found. Returns the exit status.
[[nodiscard]] int run_search_command(const Options& options);

/// autotune show | export | apply FILE: prints what a study holds and runs nothing. Returns the
/// exit status if the first word is one of these commands; nullopt for a search.
[[nodiscard]] std::optional<int> run_study_command(int argc, char** argv);

}  // namespace redline::tuner
