// A finding on a whole run: a cause that held it back, with its figures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/run/rank_run.h"

namespace redline::trace {

enum class RunCause : uint8_t {
  kDied,            ///< ranks gave no sign of life any more although they had not ended
  kFailed,          ///< ranks ended with an error
  kPart,            ///< a part other than training takes much of the time or stalls steps
  kSlower,          ///< the run became slower from a step on, or was so until one
  kUnevenRank,      ///< the other ranks wait for one
  kSlowSteps,       ///< steps were slow in no part that the log sees
  kVaryingLengths,  ///< steps are as long as their sequences
  kUnsteady,        ///< steps of the same work take different times
  kMemoryGrowth,
  kWarmUp,
  kOutOfMemory,     ///< torch ran out of memory, which no rank named as its end
  kOtherProcesses,  ///< other processes had the cores, and the job's threads waited for one
  kCrowdedCores,    ///< the job has more threads that want to run than cores
  kSameSamples,     ///< ranks that average their gradients read the same samples
};
inline constexpr size_t kRunCauses = static_cast<size_t>(RunCause::kSameSamples) + 1;

struct RunFinding {
  RunCause cause = RunCause::kPart;
  std::optional<LogPart> part;  ///< the part in which the time was lost
  double lost_share = 0;        ///< of the run's time; 0: unknown
  std::vector<int> ranks;       ///< empty: all ranks, or none in particular
  std::string host;             ///< of these ranks, if they share one and others have another
  int64_t from_step = 0;
  /// nullopt: to the end; of kDied: all ranks had made `from_step` steps
  std::optional<int64_t> to_step;
  double change = 0;           ///< of the step's time, or of a rank's own work, as a share
  int64_t risen_step = 0;      ///< of kSlower: where `change` was reached, from_step if at once
  double more_tokens = 0;      ///< of kSlower, as a share: what the samples have more, if much
  double fewer_samples = 0;    ///< of kSlower, as a share: if no step became longer, but has less
  bool is_whole_step = false;  ///< forward, backward and optimizer alike
  int64_t count = 0;           ///< slow steps, compilations, errors
  int64_t period = 0;          ///< steps between them if that is regular, else 0
  double typical_ns = 0;       ///< what one of them cost
  bool at_epochs = false;      ///< most of the wait for data is where epochs begin
  double short_wait_ns = 0;    ///< for data, if handing a batch over takes as long; else 0
  bool no_free_core = false;   ///< while training waited for data, nor would more workers get one
  bool takes_turns = false;    ///< now one rank is late in the part and now another
  bool all_wait = false;       ///< for other ranks: also those that are late, so long
  bool is_single = false;      ///< one pause or stall is most of it, so it says nothing of an hour
  bool may_be_queued = false;  ///< of slow steps: the host may have waited for what a GPU had to do
  /// The part's share of the time, with what other ranks wait for it, or the share of the variance
  /// that is explained.
  double share = 0;
  double bytes_per_hour = 0;
  bool on_device = false;  ///< the memory that grows
  std::optional<int> exit_status;
  bool has_ended = false;  ///< of kOutOfMemory: a rank died, so it is not sure that the run went on
  std::string text;        ///< of an exception
  /// Of kSlowSteps: by LogPart, what the parts took longer on average, if no part has half of the
  /// excess but all together do.
  std::optional<PartTimes> longer_ns;
  /// Whether other processes had the cores meanwhile; nullopt: the log does not know.
  std::optional<bool> by_others;
  double cores = 0;        ///< that the job may use
  double taken_cores = 0;  ///< by other processes, or threads of the job that want one
  double low_ns = 0;       ///< a tenth of the steps take less
  double high_ns = 0;      ///< a tenth of the steps take more

  /// Whether the run was slow at first, and then fast for good.
  [[nodiscard]] bool is_slow_begin() const {
    return cause == RunCause::kSlower && from_step == 0 && to_step;
  }
};

}  // namespace redline::trace
