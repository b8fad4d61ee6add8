// What a step of one run takes, by the step logs of all its ranks.
//
// Two figures, because they answer different questions. The time of all steps is a mean over the
// middle half of groups of steps, so that a busy minute of the machine does not decide. What the
// program does seldom (evaluation, checkpoints, compiling) would fall out of that, so it is left
// out of the groups and counts by its mean.
//
// On a machine with other work, and on a virtual one with neighbours, a third of the steps may take
// half as long again, by chance. So equal runs differ by more than most changes of a program do.
// Their undisturbed steps, which are among the fastest quarter, differ two to three times less. But
// they do not show what happens in some steps only.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/run/rank_run.h"

namespace redline::trace {

/// A mean of steps, and its standard error by the steps of the run alone.
struct StepTime {
  double ns = 0;
  double error_ns = 0;
};

/// What a step takes after the warm-up; means over the ranks.
struct StepFigures {
  StepTime step;
  /// nullopt: not seen. The last entry is the time that no part saw.
  std::array<std::optional<StepTime>, kLogParts + 1> parts;
};

struct RunFigures {
  std::string path;  ///< of the first rank's log
  int64_t begin_ns = 0;
  int64_t ranks = 0;
  int64_t world_size = 0;         ///< 0: not known
  std::vector<int> rank_numbers;  ///< of the ranks whose logs are there; empty if not known
  int64_t other_logs = 0;         ///< RankRun::other_logs of all ranks
  int64_t steps = 0;              ///< after the warm-up
  int64_t end_step = 0;           ///< one beyond its last step
  std::optional<double> samples;  ///< in a step of all these ranks together
  StepFigures all_steps;
  StepFigures mean_steps;  ///< as all_steps, but all groups count and not their middle half
  /// Without what the program does seldom; nullopt if the run has too few steps, if the others are
  /// slower because they wait for data, or on a GPU, for whose work a later step may wait.
  std::optional<StepFigures> undisturbed;
  /// all_steps is a mean over groups of so many steps, and undisturbed over blocks of so many; 0:
  /// not known. Groups of many steps differ less than groups of few, and more of them have a stall.
  double group_steps = 0;
  double block_steps = 0;
  /// By LogPart, of what is done seldom, its time divided among the steps of the run: that of one,
  /// and that of all if they come as regularly as they do in most of the run (0: they do not).
  PartTimes pause_ns{};
  PartTimes regular_ns{};
  bool is_whole = true;  ///< all ranks ended, and none with an error
  /// The most that a rank held; nullopt if it is not known.
  std::optional<double> host_bytes;
  std::optional<double> device_bytes;

  /// Whether the job had ranks whose logs are not there.
  [[nodiscard]] bool lacks_ranks() const { return ranks < world_size; }
};

/// The figures of a run, given all its ranks; nullopt if it has too few steps after the warm-up.
[[nodiscard]] std::optional<RunFigures> run_figures(RankRuns ranks);
constexpr int64_t kFewestRunSteps = 8;  ///< after the warm-up

}  // namespace redline::trace
