// What one rank's step log comes to: a few hundred blocks of steps, the steps that were much slower
// than their neighbours, and sums. A job of 1,024 ranks and days has too many steps to hold them
// all; of each log this is kept and the log is dropped.
//
// A slow step is one of few (at most a tenth) that take half as long again as the 128 or so around
// them usually do. The other steps after the warm-up are the usual ones: by them levels, ranks and
// parts are compared, so that an evaluation each 500 steps hides no change of the level.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/model/step_log.h"

namespace redline::trace {

using PartTimes = std::array<double, kLogParts>;

/// Sums over steps. What was unseen in all of them is 0; RankRun::sees tells.
struct StepSums {
  double steps = 0;
  double length_ns = 0;
  double samples = 0;
  double tokens = 0;
  PartTimes part_ns{};

  void add(const LoggedStep& step, double share);
  void add(const StepSums& other);
  /// Mean of a step without evaluating, saving and compiling.
  [[nodiscard]] double training_ns() const;
  [[nodiscard]] double mean_ns(LogPart part) const {
    return part_ns[static_cast<size_t>(part)] / steps;
  }
};

struct RunBlock {
  int64_t begin_ns = 0;
  StepSums all;
  StepSums usual;
};

struct SlowStep {
  int64_t step = 0;
  int64_t begin_ns = 0;
  int64_t length_ns = 0;
  int64_t excess_ns = 0;        ///< over its neighbours' median
  int64_t own_excess_ns = 0;    ///< without waiting for collectives
  std::optional<LogPart> part;  ///< which half of the excess or more is in
  int rank = 0;
};

/// How the usual steps' lengths spread, and with what.
struct StepSpread {
  double p10_ns = 0;
  double p50_ns = 0;
  double p90_ns = 0;
  double mean_ns = 0;
  /// Of the variance of lengths; the shares of parts add up to 1 with what no part saw.
  PartTimes part_share{};
  double explained_by_tokens = 0;  ///< R² of a line through tokens and lengths
};

struct RankRun {
  std::string path;
  std::string run;
  std::string host;
  int rank = 0;
  int world_size = 1;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;  ///< of its last step
  bool ended = false;
  std::optional<int> exit_status;
  int64_t last_sign_ns = 0;
  std::optional<LogPart> last_part;
  int64_t lost_steps = 0;
  int64_t damaged_bytes = 0;

  int64_t first_step = 0;
  int64_t end_step = 0;  ///< one beyond the last
  StepSums all;
  bool sees_samples = false;
  bool sees_tokens = false;
  std::array<bool, kLogParts> sees{};
  int64_t warm_up_steps = 0;
  double warm_up_lost_ns = 0;  ///< over what the same number of usual steps takes
  StepSpread spread;

  int64_t block_steps = 1;
  std::vector<RunBlock> blocks;      ///< block i begins with step i * block_steps
  std::vector<SlowStep> slow;        ///< by step; of more than 4,096 those that lost most
  std::vector<LoggedMemory> memory;  ///< of many some 256
  std::vector<LogMark> marks;

  [[nodiscard]] bool sees_part(LogPart part) const { return sees[static_cast<size_t>(part)]; }
  /// Makes blocks of so many steps; a multiple of what they have.
  void coarsen(int64_t steps);
};

[[nodiscard]] RankRun summarise(const StepLog& log);

}  // namespace redline::trace
