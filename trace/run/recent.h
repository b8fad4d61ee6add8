// How a job does right now: the last minute in the step logs of its ranks. That minute ends with
// the last step, so who shows the rates says what time it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/model/step_log.h"

namespace redline::trace {

struct RecentRank {
  int rank = 0;
  std::string host;
  bool ended = false;
  std::optional<int> exit_status;  ///< nullopt: it has not ended, or nobody knows
  int64_t last_step_ns = 0;        ///< when its last step ended, unix time
  double step_ns = 0;              ///< mean of the last minute
  /// The part of step_ns without waiting for collectives; nullopt if no hook sees the waiting.
  std::optional<double> own_ns;
  std::optional<double> data_wait_share;
  std::optional<int64_t> memory_bytes;  ///< of the device or, if unknown, of the host
};

struct RecentRun {
  int world_size = 1;
  std::vector<RecentRank> ranks;  ///< by number, at least one
  int64_t steps = 0;              ///< that the rank with the most has done since the start
  double steps_per_s = 0;
  /// Of all `ranks`, as are tokens, but those that ended a minute before the others' last step.
  std::optional<double> samples_per_s;
  std::optional<double> tokens_per_s;
  std::optional<double> data_wait_share;  ///< mean of the same ranks
  /// An index of `ranks`: the rank with the most own work, if that is at least 5 % above the
  /// median.
  std::optional<size_t> slowest;
  double slowest_excess = 0;  ///< 0.12: 12 % above the median rank
  /// An index of `ranks`: of those that have not ended, the one whose last step is the longest ago.
  std::optional<size_t> most_silent;

  /// Whether no rank has ended a step for a minute and the time of three steps.
  [[nodiscard]] bool is_silent(int64_t now_ns) const;
  /// Sets the rates to 0 if it is silent.
  void stop_if_silent(int64_t now_ns);
  /// Whether it is silent and all ranks have ended well. Those that failed torchrun may start
  /// again.
  [[nodiscard]] bool is_over(int64_t now_ns) const;
};

struct RunningJob {
  std::string folder;                             ///< of its step logs
  std::string run;                                ///< the name in its step logs
  std::optional<RecentRun> recent = {};           ///< nullopt: no rank has done a step yet
  std::vector<std::string> unreadable_logs = {};  ///< the path and why, of each
};

/// `logs` are of one run. Of a rank that was started again, the last log counts. nullopt if no log
/// has a step.
[[nodiscard]] std::optional<RecentRun> recent_run(const std::vector<StepLog>& logs);

}  // namespace redline::trace
