// The entries of a step log, shared by its writer in the training process and its reader.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redline::trace {

/// The process whose log it is.
struct LogOwner {
  std::string run;  ///< the same in all logs of one `redline run`, `record` or trial; "": unknown
  int rank = 0;
  int world_size = 1;
  std::string host;
  std::string command;   ///< the command line of this process
  int64_t process = 0;   ///< the process's id
  int64_t begin_ns = 0;  ///< when the log began, unix time
  /// Unix time minus the monotonic clock when the log began: ranks of one machine, whose monotonic
  /// clock is the same, are aligned by it even if the wall clock was set in between.
  int64_t clock_offset_ns = 0;
  bool operator==(const LogOwner&) const = default;
};

/// What a rank does in a step. The values are stored in files, so new ones must come last.
enum class LogPart : uint8_t {
  kDataWait,  ///< the loader makes the next batch, or waits for a worker that makes it
  kForward,   ///< outermost calls of models
  kBackward,
  kOptimizer,
  kCommunicationWait,  ///< waiting for collectives in the program's own calls
  kEvaluation,         ///< batches and forward passes that belong to no training step
  kCheckpoint,         ///< torch.save
  kGarbageCollection,  ///< Python's
  kCompile,            ///< torch.compile
  kHandOver,           ///< taking a batch from a loader's worker that had made it before
};
inline constexpr size_t kLogParts = 10;

/// What happened at a moment or for a while. The values are stored in files, so new ones must come
/// last.
enum class LogMarkKind : uint8_t {
  kEpoch,        ///< the loader began a new epoch; text: its number, from 1 on
  kWindow,       ///< steps were recorded with their operators; text: the trace's path
  kOutOfMemory,  ///< torch ran out of memory, whether it was caught or not; text: what torch said
  kCompile,
  kEvaluation,
  kCheckpoint,  ///< text: the file's name, if it is known
  kException,   ///< an exception that ends the process; text: its type and message
  kNote,        ///< text: a note for people
  kBatches,     ///< text: read_batches_in() has it; a reader keeps it apart from the other marks
  kTraining,    ///< the training begins; text: its first step. A reader drops what came before
};

/// Which samples a rank reads.
struct ReadBatches {
  std::string digest;             ///< of its first batches; "": unknown
  bool is_data_parallel = false;  ///< all ranks average gradients, each of a batch of its own

  /// What sample_shares() wants: samples of data parallel ranks count, whichever they are.
  [[nodiscard]] std::string counted_digest() const { return is_data_parallel ? "" : digest; }
  bool operator==(const ReadBatches&) const = default;
};

/// `text` of a mark: the digest, and " data parallel" behind it where that is so.
[[nodiscard]] ReadBatches read_batches_in(std::string_view text);

/// Stands for a quantity that no hook saw, which is not the same as 0.
inline constexpr int64_t kUnseen = -1;
/// A step that saw nothing of a quantity adds nothing to those that did.
[[nodiscard]] int64_t sum_of_seen(int64_t a, int64_t b);

/// One step, or a minute of steps that were joined to save space. Steps follow each other without a
/// gap: what the script does between two optimizer steps belongs to the second.
struct LoggedStep {
  int64_t step = 0;       ///< the number of the first step, from 0 on
  int64_t steps = 1;      ///< how many steps this entry stands for
  int64_t begin_ns = 0;   ///< unix time
  int64_t length_ns = 0;  ///< of all steps together, as are samples, tokens and parts
  int64_t samples = kUnseen;
  int64_t tokens = kUnseen;
  /// The own time of each part: a part that lies within another, such as waiting for a collective
  /// in the backward pass, does not count for the outer one. So the parts never add up to more than
  /// the length.
  std::array<int64_t, kLogParts> part_ns{kUnseen, kUnseen, kUnseen, kUnseen, kUnseen,
                                         kUnseen, kUnseen, kUnseen, kUnseen, kUnseen};
  // Of the single steps. For an entry of one step: its length, and no deviation.
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

/// The memory that was held at a moment. It is measured each second at first, later every ten
/// seconds.
struct LoggedMemory {
  int64_t time_ns = 0;
  int64_t host_bytes = kUnseen;    ///< resident set of the process
  int64_t device_bytes = kUnseen;  ///< reserved by torch's allocator on all GPUs of the process
  bool operator==(const LoggedMemory&) const = default;

  /// That of the GPUs or, of a process without any, that of the host.
  [[nodiscard]] std::optional<int64_t> used_bytes() const {
    if (device_bytes != kUnseen) return device_bytes;
    return host_bytes != kUnseen ? std::optional(host_bytes) : std::nullopt;
  }
};

/// Who had the cores that the process may use. All but `cores` are counters that only grow, so two
/// readings say what happened between them. They are taken as often as the memory.
struct LoggedCores {
  int64_t time_ns = 0;
  int64_t cores = kUnseen;      ///< how many the process may use
  int64_t busy_ns = kUnseen;    ///< in which these cores worked for any process
  int64_t used_ns = kUnseen;    ///< by this process and its loaders' workers
  int64_t waited_ns = kUnseen;  ///< in which its threads were ready to run but had no core
  bool operator==(const LoggedCores&) const = default;
};

struct LogMark {
  int64_t time_ns = 0;    ///< when it began
  int64_t length_ns = 0;  ///< 0: a moment
  LogMarkKind kind = LogMarkKind::kNote;
  std::string text;
  bool operator==(const LogMark&) const = default;
};

/// The end of every log's name. It follows "rank0", or "rank0.2" if "rank0" existed already.
inline constexpr const char* kStepLogSuffix = ".steps.redline";

/// Adds those of `more` that follow the steps before them. No writer makes others, but a damaged or
/// foreign file may hold some.
void append_in_order(std::vector<LoggedStep>& steps, const std::vector<LoggedStep>& more);

/// What seemed to be inference was an evaluation if a mark says that the training began later.
/// Drops its steps, and gives the number of the first one of the training.
int64_t drop_evaluation(std::vector<LoggedStep>& steps, const std::vector<LogMark>& marks);

/// Joins steps that begin before `before_ns` and in the same `span_ns` of time into one entry. A
/// step that does not know a quantity adds nothing to it: a step without a new batch has no
/// samples.
void thin_out(std::vector<LoggedStep>& steps, int64_t before_ns, int64_t span_ns);

}  // namespace redline::trace
