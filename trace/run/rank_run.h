// A summary of one rank's step log: a few hundred blocks of steps, the steps that were much slower
// than their neighbours, and sums. A job of 1,024 ranks that runs for days has too many steps to
// hold them all, so only the summary of each log is kept.
//
// Steps after the warm-up that are not slow (slow_steps.h) are the usual ones. A step in which
// Redline wrote a trace is neither. Levels, ranks and parts are compared by the usual steps, so
// that an evaluation every 500 steps hides no change of the level.
#pragma once

#include <array>
#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/run/slow_steps.h"

namespace redline::trace {

/// What training stops for now and then, and so no part of the length of a usual step.
inline constexpr std::array kSeldomParts = {LogPart::kEvaluation, LogPart::kCheckpoint,
                                            LogPart::kCompile};
/// What a job does beside training, as its program says.
inline constexpr std::array kPauseParts = {LogPart::kEvaluation, LogPart::kCheckpoint};

/// In which ranks may be late in turns: now one rank and now another.
inline constexpr std::array kTurnParts = {LogPart::kDataWait, LogPart::kGarbageCollection};

/// Sums over steps. A quantity that no step saw is 0; RankRun::sees tells which parts were seen.
struct StepSums {
  double steps = 0;
  double length_ns = 0;
  double samples = 0;
  double tokens = 0;
  PartTimes part_ns{};

  void add(const LoggedStep& step, double share);
  void add(const StepSums& other);
  /// Mean time of a step without evaluating, saving and compiling.
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

/// The steps in which a rank did something else than training: it evaluated or saved. Steps that
/// were joined to minutes are not among them.
struct Pauses {
  int64_t count = 0;
  double sum_ns = 0;
  int64_t period = 0;  ///< steps from one to the next if that is regular, else 0
};

/// The usual steps of a rank in which one part, or all of its own work, took longer than its
/// median.
struct LateSteps {
  double sum_ns = 0;  ///< by which they took longer in it
  /// By which all usual steps together would have waited less for other ranks, had they waited only
  /// as long as those that are late.
  double waits_less_ns = 0;
};

/// How the lengths of the usual steps spread, and what explains it.
struct StepSpread {
  double p10_ns = 0;
  double p50_ns = 0;
  double p90_ns = 0;
  /// Shares of the variance of lengths. The shares of all parts and of what no part saw add up to
  /// 1.
  PartTimes part_share{};
  // R² of a line fitted to lengths.
  double explained_by_tokens = 0;
  double explained_by_samples = 0;
};

struct RankRun {
  std::string path;
  std::string run;
  std::string host;
  int rank = 0;
  int world_size = 1;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;  ///< the end of its last step
  bool ended = false;
  bool is_gone = false;  ///< it did not say that it ended, but its process is no more
  bool is_over = false;  ///< the command that started it has ended
  std::optional<int> exit_status;
  int64_t last_sign_ns = 0;
  int64_t clock_shift_ns = 0;  ///< what the present clock adds to that of the log's begin, if known
  std::optional<LogPart> last_part;  ///< nullopt: none, or one that it may have left since
  int64_t lost_steps = 0;
  int64_t lost_marks = 0;
  int64_t damaged_bytes = 0;
  int64_t thinned_before_ns = 0;  ///< before this time steps are joined to minutes; 0: none are
  int64_t thinned_before_step = 0;

  int64_t first_step = 0;
  int64_t end_step = 0;  ///< one beyond the last
  StepSums all;
  double single_ns = 0;  ///< of it, the time of steps that are not joined to minutes
  bool sees_samples = false;
  bool sees_tokens = false;
  std::array<bool, kLogParts> sees{};
  int64_t warm_up_steps = 0;   ///< without those that are joined to minutes
  double warm_up_lost_ns = 0;  ///< time beyond that of the same number of usual steps
  StepSpread spread;
  std::array<Pauses, kLogParts> pauses{};  ///< empty for the parts of training
  /// Of kTurnParts; the last is of all that is not waiting for other ranks.
  std::array<LateSteps, kLogParts + 1> late{};
  bool waits_at_epochs = false;  ///< most of its wait for data is in steps that begin an epoch
  double wait_ns = 0;            ///< the mean one for data, of steps that have one; 0: unknown

  int64_t block_steps = 1;
  std::vector<RunBlock> blocks;       ///< block i begins with step i * block_steps
  std::vector<SlowStep> slow;         ///< by step; at most 4,096, those that lost most
  std::vector<LoggedMemory> memory;   ///< at most about 256
  int64_t most_host_bytes = kUnseen;  ///< of all readings
  int64_t most_device_bytes = kUnseen;
  /// At most about 256. Left out are readings that lack a figure, or are of fewer or more cores.
  std::vector<LoggedCores> cores;
  std::vector<LogMark> marks;
  /// Of earlier starts and of further processes that are the same rank, which runs_of() left out.
  /// The first rank of a run also counts those of ranks that the job went on without.
  int64_t other_logs = 0;
  ReadBatches batches;

  /// How long ago its last sign of life came.
  [[nodiscard]] int64_t silence_ns(int64_t now_ns) const {
    return now_ns - last_sign_ns - clock_shift_ns;
  }
  /// Whether it did not end and must have died: its command is over, or it gave no sign of life for
  /// long.
  [[nodiscard]] bool is_silent(int64_t now_ns) const;
  /// Whether somebody ended it by SIGINT, as Ctrl-C does.
  [[nodiscard]] bool is_interrupted() const { return exit_status == 128 + SIGINT; }
  [[nodiscard]] bool sees_part(LogPart part) const { return sees[static_cast<size_t>(part)]; }
  /// Joins blocks so that each has `steps` steps, a multiple of the present number.
  void coarsen(int64_t steps);
};

using RankRuns = std::vector<RankRun>;

/// Signs of life come each second, on a busy machine somewhat later.
constexpr int64_t kBetweenSignsNs = 2'500'000'000;

/// The usual number of steps from one of `steps` to the next; 0 if they do not come regularly.
[[nodiscard]] int64_t period_of(const std::vector<int64_t>& steps);

[[nodiscard]] RankRun summarise(const StepLog& log);

}  // namespace redline::trace
