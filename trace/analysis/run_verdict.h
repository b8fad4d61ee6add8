// What a whole run was held back by, of the step logs of its ranks: how fast it went and when that
// changed, where its time went, and which ranks, parts and moments cost it.
//
// What no hook saw is not spoken of. A finding needs a share of the run's time that is worth a
// look, and where it compares, more than the steps' own noise (change_points.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/analysis/rank_run.h"

namespace redline::trace {

enum class RunCause : uint8_t {
  kDied,            ///< ranks that gave no sign of life any more and had not ended
  kFailed,          ///< ranks that ended with an error
  kPart,            ///< a part that is no training takes much of the time, or stalls steps
  kSlower,          ///< from a step on
  kUnevenRank,      ///< the others wait for one
  kSlowSteps,       ///< in no part that the log sees
  kVaryingLengths,  ///< steps are as long as their sequences
  kUnsteady,        ///< steps of the same work take different times
  kMemoryGrowth,
  kWarmUp,
  kOutOfMemory,  ///< torch ran out of memory, and the program went on
};

struct RunFinding {
  RunCause cause = RunCause::kPart;
  std::optional<LogPart> part;  ///< what the time was lost in
  double lost_share = 0;        ///< of the run's time; 0: cannot be said
  std::vector<int> ranks;       ///< empty: all, or one as much as the other
  std::string host;             ///< of these ranks, where it is one
  int64_t from_step = 0;
  std::optional<int64_t> to_step;  ///< none: to the end
  double change = 0;               ///< of the step's time, or of a rank's own work, as a share
  bool is_whole_step = false;      ///< forward, backward and optimizer alike
  int64_t count = 0;               ///< slow steps, compilations, errors
  int64_t period = 0;              ///< steps between them, where that is regular
  double typical_ns = 0;           ///< what one of them cost
  double share = 0;                ///< of the time: the part, or of the variance: what explains it
  double bytes_per_hour = 0;
  bool on_device = false;  ///< the memory that grows
  std::optional<int> exit_status;
  std::string text;  ///< an exception's
};

struct RunPoint {
  int64_t time_ns = 0;  ///< unix
  int64_t step = 0;
  double steps_per_s = 0;
  std::optional<double> samples_per_s;  ///< of all ranks
};

struct RunSegment {
  int64_t first_step = 0;
  int64_t end_step = 0;
  double step_ns = 0;  ///< usual steps, without evaluating, saving and compiling
};

struct RankRow {
  int rank = 0;
  std::string host;
  int64_t steps = 0;
  double step_ns = 0;                   ///< usual ones
  std::optional<double> own_ns;         ///< of it, without waiting for collectives
  std::optional<double> wait_share;     ///< of it, for data
  int64_t age_ns = 0;                   ///< since its last sign of life; 0 where it ended
  std::optional<int64_t> memory_bytes;  ///< at last: the device's, else the host's
};

struct RunVerdict {
  std::string run;
  std::vector<RankRow> ranks;  ///< at least one
  int world_size = 1;
  int64_t earlier_logs = 0;  ///< of the same folder, by runs before this one: left out
  bool is_running = false;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t steps = 0;
  int64_t lost_steps = 0;
  int64_t damaged_bytes = 0;
  double steps_per_s = 0;               ///< from the first step's begin to the last one's end
  std::optional<double> samples_per_s;  ///< of all ranks
  std::optional<double> tokens_per_s;
  double low_steps_per_s = 0;  ///< a tenth of the blocks were slower
  double high_steps_per_s = 0;
  StepSpread spread;                                        ///< of the first rank
  std::array<std::optional<double>, kLogParts> part_share;  ///< mean over ranks
  double other_share = 0;
  int64_t warm_up_steps = 0;
  double warm_up_lost_share = 0;
  std::vector<RunPoint> points;
  std::vector<RunSegment> segments;
  std::vector<SlowStep> slow;        ///< the worst, of all ranks, one a step
  std::vector<LogMark> marks;        ///< of the first rank
  std::vector<RunFinding> findings;  ///< what stopped it first, then by what they cost
};

/// None where no log has a step. `now_ns`, unix time, tells a rank that died from one that runs.
[[nodiscard]] std::optional<RunVerdict> judge_run(std::vector<RankRun> ranks, int64_t now_ns);

}  // namespace redline::trace
