// What held a whole run back, according to the step logs of its ranks: how fast it went and when
// that changed, where its time went, and which ranks, parts and moments cost time.
//
// Nothing is said about what no hook saw. A finding needs a share of the run's time that is worth a
// look. If it compares times, the difference must also exceed the noise of the steps
// (change_points.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/run/rank_run.h"
#include "trace/run/run_finding.h"

namespace redline::trace {

struct RunPoint {
  int64_t time_ns = 0;  ///< unix
  int64_t step = 0;
  double steps_per_s = 0;
  std::optional<double> samples_per_s;  ///< of all ranks
};

struct RunSegment {
  int64_t first_step = 0;
  int64_t end_step = 0;
  double step_ns = 0;   ///< usual steps, without evaluating, saving and compiling
  bool creeps = false;  ///< it and the segment before are stairs of a rise without a jump
};

struct RankRow {
  int rank = 0;
  std::string host;
  int64_t steps = 0;
  double step_ns = 0;                ///< mean of its usual steps
  std::optional<double> own_ns;      ///< the part of step_ns without waiting for collectives
  std::optional<double> wait_share;  ///< share of the time in which it waits for data
  int64_t age_ns = 0;                ///< time since its last sign of life; 0 if it has ended
  /// The last value, of the device or, if unknown, of the host.
  std::optional<int64_t> memory_bytes;
};

struct RunVerdict {
  std::string run;
  std::vector<RankRow> ranks;  ///< at least one
  int world_size = 1;          ///< how many ranks the job has, also those without a log
  /// Logs of earlier runs or starts in the same folder, and of further processes that are the same
  /// rank, which are left out.
  int64_t earlier_logs = 0;
  bool is_latest = true;  ///< no log is of a run that began later
  /// For each log that could not be read, and was left out: its path and why.
  std::vector<std::string> unreadable_logs;
  bool is_running = false;
  bool is_interrupted = false;  ///< somebody ended it, as by Ctrl-C (SIGINT)
  int64_t begin_ns = 0;
  int64_t end_ns = 0;          ///< of the last step
  int64_t after_steps_ns = 0;  ///< from a rank's last step to its end, at most; 0: not known
  int64_t steps = 0;
  int64_t lost_steps = 0;
  int64_t lost_marks = 0;
  int64_t damaged_bytes = 0;
  /// Before them steps are joined to minutes, in which slow ones are not seen; 0: none are.
  int64_t thinned_before_ns = 0;
  int64_t thinned_before_step = 0;
  bool has_too_few_steps = false;  ///< to judge where its time goes
  double steps_per_s = 0;          ///< from the first step's begin to the last one's end
  /// Of all `ranks`, which may be fewer than world_size, over the time of the one that trained for
  /// longest. Samples that several ranks read, as stages of a pipeline do, count once
  /// (base/sample_shares.h).
  std::optional<double> samples_per_s;
  std::optional<double> tokens_per_s;
  bool shares_samples = false;  ///< some did
  double low_steps_per_s = 0;   ///< a tenth of the blocks were slower
  double high_steps_per_s = 0;
  std::array<std::optional<double>, kLogParts> part_share;  ///< mean over ranks
  double other_share = 0;
  int64_t warm_up_steps = 0;
  double warm_up_lost_share = 0;
  std::vector<RunPoint> points;
  std::vector<RunSegment> segments;
  std::vector<SlowStep> slow;  ///< the worst of all ranks first, at most one for each step
  std::vector<LogMark> marks;  ///< of the first rank that trained to the end
  /// What stopped the run or spoils its result first, then by the time that it costs.
  std::vector<RunFinding> findings;
};

/// Of the job that has logs of this name (RankRun::run), or if it is empty, of the latest one.
/// nullopt if no such log has a step. `now_ns` (unix time) serves to tell a rank that died from one
/// that runs.
[[nodiscard]] std::optional<RunVerdict> judge_run(RankRuns ranks, int64_t now_ns,
                                                  const std::string& run = "");

}  // namespace redline::trace
