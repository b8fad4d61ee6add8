// One rank's log of a whole job: the length and parts of each training step, and marks.
//
// Times are unix nanoseconds by the clock that the rank had when its log began. From then on they
// follow the monotonic clock, so that steps stay in order whatever the wall clock does. Steps are
// exact to the microsecond. Steps of many hours ago are joined to minutes (LoggedStep::steps).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/emit/step_log_terms.h"

namespace redline::trace {

struct StepLog : LogOwner {
  std::string path;
  std::vector<LoggedStep> steps;
  std::vector<LoggedMemory> memory;
  std::vector<LoggedCores> cores;
  std::vector<LogMark> marks;
  ReadBatches batches;

  int64_t thinned_before_ns = 0;  ///< before this time steps are joined to minutes; 0: none are
  int64_t lost_steps = 0;         ///< not written, for example because the disk was full
  int64_t lost_marks = 0;
  int64_t damaged_bytes = 0;  ///< bytes of the file that belong to no readable block

  bool ended = false;              ///< the process ended by itself, and said so
  std::optional<int> exit_status;  ///< only set if it ended
  int64_t last_sign_ns = 0;  ///< the last sign of life; a living process gives one every second
  /// The part that the process was in at its last sign of life, and since when; nullopt if it was
  /// in none.
  std::optional<LogPart> last_part;
  int64_t last_part_since_ns = 0;

  /// The number of all steps, also of those that were joined to minutes, but without lost ones.
  [[nodiscard]] int64_t step_count() const {
    int64_t count = 0;
    for (const LoggedStep& step : steps) count += step.steps;
    return count;
  }
  bool operator==(const StepLog&) const = default;
};

}  // namespace redline::trace
