// Says whether a program became slower, by the step logs of its runs before and after a change.
//
// Two runs of the same program differ by more than the steps within each of them say: their memory
// lies elsewhere, and the machine is busy with other work. So the runs are what is counted, and the
// interval of the change comes from how runs of the same program differ. With one run a side nobody
// knows that. Then kAssumedSpread is taken, which makes the interval wide.
//
// A run's time of a step is a mean over the middle half of its blocks of steps, so that a busy
// minute of the machine does not decide. What the program does seldom (evaluation, checkpoints,
// compiling) would fall out of that, so it is left out of the blocks and counts by its mean.
//
// Runs that took turns are compared in pairs of neighbours, because the machine's load drifts.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/run/rank_run.h"

namespace redline::trace {

/// The relative standard deviation between runs of one program, where no program ran twice.
constexpr double kAssumedSpread = 0.03;

/// A mean of steps, and its standard error by the steps of the run alone.
struct StepTime {
  double ns = 0;
  double error_ns = 0;
};

/// What a step of one run takes after the warm-up; means over its ranks.
struct RunFigures {
  std::string path;  ///< of the first rank's log
  int64_t begin_ns = 0;
  int64_t ranks = 0;
  int64_t steps = 0;  ///< after the warm-up
  StepTime step;
  std::optional<double> samples;  ///< in a step of all ranks together
  /// nullopt: not seen. The last entry is the time that no part saw.
  std::array<std::optional<StepTime>, kLogParts + 1> parts;
  /// The most that a rank held; nullopt if it is not known.
  std::optional<double> host_bytes;
  std::optional<double> device_bytes;
};

/// The figures of a run, given all its ranks; nullopt if it has too few steps after the warm-up.
[[nodiscard]] std::optional<RunFigures> run_figures(std::vector<RankRun> ranks);
constexpr int64_t kFewestRunSteps = 8;  ///< after the warm-up

struct ChangeInterval {
  double value = 0;
  double low = 0;
  double high = 0;
};

/// Time that a step spends in one part, for the same work.
struct PartChange {
  std::optional<LogPart> part;  ///< nullopt: what no part saw
  double before_ns = 0;
  double after_ns = 0;
  ChangeInterval delta_ns;
  [[nodiscard]] bool is_clear() const { return delta_ns.low > 0 || delta_ns.high < 0; }
};

struct MemoryChange {
  double before_bytes = 0;
  double after_bytes = 0;
  ChangeInterval ratio;
};

struct RunComparison {
  std::vector<RunFigures> before;  ///< by begin, like after
  std::vector<RunFigures> after;
  /// The runs' times are for this many samples; nullopt: for a step, because a run does not know
  /// its samples.
  std::optional<double> basis_samples;
  double before_ns = 0;
  double after_ns = 0;
  ChangeInterval ratio;  ///< after / before; above 1 is slower
  /// Relative standard deviation between runs; in pairs, that of a pair's ratio divided by √2.
  double spread = 0;
  bool is_spread_assumed = false;  ///< there was nothing to measure it by
  bool is_paired = false;
  std::vector<PartChange> parts;  ///< those that explain the most of the change first
  std::optional<MemoryChange> host_memory;
  std::optional<MemoryChange> device_memory;

  [[nodiscard]] bool is_clear() const { return ratio.low > 1 || ratio.high < 1; }
};

/// Both sides have at least one run. The intervals miss the truth in `tail` of all cases.
[[nodiscard]] RunComparison change_between(std::vector<RunFigures> before,
                                           std::vector<RunFigures> after, double tail = 0.05);

}  // namespace redline::trace
