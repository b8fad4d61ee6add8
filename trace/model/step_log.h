// One rank's log of a whole job: each training step's length and parts, and marks.
//
// Times are unix nanoseconds by the clock that the rank had when its log began; from then on they
// follow the monotonic clock, so that steps stay in order whatever the wall clock does. Steps are
// kept to the microsecond. Of hours long ago a job keeps minutes, not steps (LoggedStep::steps).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/emit/step_log_terms.h"

namespace redline::trace {

/// A quantity that no hook saw. It is no 0.
inline constexpr int64_t kUnseen = -1;

/// One step, or a minute of steps that was thinned out. Steps follow each other without a gap: what
/// the script does between two optimizer steps belongs to the second.
struct LoggedStep {
  int64_t step = 0;       ///< the first one's number, from 0 on
  int64_t steps = 1;      ///< how many these are
  int64_t begin_ns = 0;   ///< unix time
  int64_t length_ns = 0;  ///< of all of them, as are samples, tokens and parts
  int64_t samples = kUnseen;
  int64_t tokens = kUnseen;
  /// Own time: what is a part itself and lies within another, such as waiting for a collective in
  /// the backward pass, counts there alone. So parts never add up to more than the length.
  std::array<int64_t, kStepParts> part_ns{kUnseen, kUnseen, kUnseen, kUnseen, kUnseen,
                                          kUnseen, kUnseen, kUnseen, kUnseen};
  // Of the steps one by one. For a single one: its length, and no deviation.
  int64_t shortest_ns = 0;
  int64_t longest_ns = 0;
  double deviation_ns = 0;

  [[nodiscard]] int64_t end_ns() const { return begin_ns + length_ns; }
  [[nodiscard]] int64_t part(StepPart part) const { return part_ns[static_cast<size_t>(part)]; }
  [[nodiscard]] double mean_ns() const {
    return static_cast<double>(length_ns) / static_cast<double>(steps);
  }
  bool operator==(const LoggedStep&) const = default;
};

/// What was held at a moment; measured every few seconds.
struct LoggedMemory {
  int64_t time_ns = 0;
  int64_t host_bytes = kUnseen;    ///< resident set of the process
  int64_t device_bytes = kUnseen;  ///< reserved by torch's allocator on all GPUs of the process
  bool operator==(const LoggedMemory&) const = default;
};

struct LogMark {
  int64_t time_ns = 0;    ///< when it began
  int64_t length_ns = 0;  ///< 0: a moment
  LogMarkKind kind = LogMarkKind::kNote;
  std::string text;
  bool operator==(const LogMark&) const = default;
};

struct StepLog {
  std::string path;
  std::string run;  ///< the same in all logs of one `redline run`, `record` or trial; "" unknown
  int rank = 0;
  int world_size = 1;
  std::string host;
  std::string command;   ///< of this process
  int64_t process = 0;   ///< its id
  int64_t begin_ns = 0;  ///< when the log began, unix time
  /// Unix time minus the monotonic clock when the log began: ranks of one machine, whose monotonic
  /// clock is the same, are aligned by it even if the wall clock was set in between.
  int64_t clock_offset_ns = 0;

  std::vector<LoggedStep> steps;
  std::vector<LoggedMemory> memory;
  std::vector<LogMark> marks;

  int64_t thinned_before_ns = 0;  ///< up to here minutes stand for steps; 0: nothing was thinned
  int64_t lost_steps = 0;         ///< not written, such as when the disk was full
  int64_t lost_marks = 0;
  int64_t damaged_bytes = 0;  ///< of the file, that no block could be read of

  bool ended = false;              ///< the process ended by itself, and said so
  std::optional<int> exit_status;  ///< where it ended
  int64_t last_sign_ns = 0;        ///< of life; a living process gives one each second
  /// What the process was in at its last sign of life, and since when; none between parts.
  std::optional<StepPart> last_part;
  int64_t last_part_since_ns = 0;

  /// All steps, also those that minutes stand for. Lost ones not.
  [[nodiscard]] int64_t step_count() const {
    int64_t count = 0;
    for (const LoggedStep& step : steps) count += step.steps;
    return count;
  }
};

}  // namespace redline::trace
