// What a step log holds: shared by its writer in the training process and its reader.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace redline::trace {

/// What a rank does in a step. The values stand in files: new ones come last.
enum class LogPart : uint8_t {
  kDataWait,  ///< for the next batch of the loader
  kForward,   ///< outermost calls of models
  kBackward,
  kOptimizer,
  kCommunicationWait,  ///< for collectives that the program itself waits for
  kEvaluation,         ///< batches and forwards that no training step is made of
  kCheckpoint,         ///< torch.save
  kGarbageCollection,  ///< Python's
  kCompile,            ///< torch.compile
};
inline constexpr size_t kLogParts = 9;

/// What happened at a moment, or for a while. The values stand in files: new ones come last.
enum class LogMarkKind : uint8_t {
  kEpoch,        ///< the loader begins anew; text: which, from 1 on
  kWindow,       ///< steps were recorded with their operators; text: the trace's path
  kOutOfMemory,  ///< caught or not; text: what torch said
  kCompile,
  kEvaluation,
  kCheckpoint,  ///< text: where it is known, the file's name
  kException,   ///< which ends the process; text: its type and message
  kNote,        ///< text for people
};

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
  std::array<int64_t, kLogParts> part_ns{kUnseen, kUnseen, kUnseen, kUnseen, kUnseen,
                                         kUnseen, kUnseen, kUnseen, kUnseen};
  // Of the steps one by one. For a single one: its length, and no deviation.
  int64_t shortest_ns = 0;
  int64_t longest_ns = 0;
  double deviation_ns = 0;

  [[nodiscard]] int64_t end_ns() const { return begin_ns + length_ns; }
  [[nodiscard]] int64_t part(LogPart part) const { return part_ns[static_cast<size_t>(part)]; }
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

/// The end of every log's name; before it stands "rank0", or "rank0.2" where that existed.
inline constexpr const char* kStepLogSuffix = ".steps.redline";

/// Steps that begin before `before_ns`, and in the same `span_ns` of time, become one entry. Of
/// what one of them does not know, the entry knows nothing.
void thin_out(std::vector<LoggedStep>& steps, int64_t before_ns, int64_t span_ns);

}  // namespace redline::trace
