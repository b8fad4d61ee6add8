// What a rank says of itself: a small file that it writes again each second, and removes at the
// process's end (python/redline/_hang_table.py, profiler/session/hang_report.h). While a step does
// not end, it says more. So a process that is stopped or killed leaves its last words, which
// anybody can read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redline::trace {

/// The end of the file's name, which begins with "rank1" and the run's name, if it has one.
inline constexpr const char* kHangTableSuffix = ".hang.redline";

/// One collective that the rank has entered, as torch's flight recorder lists it.
struct EnteredCollective {
  std::string group;
  int64_t sequence = 0;
  std::string operation;  ///< "all_reduce"
  std::string sizes;      ///< of the inputs, as JSON: "[[8]]"
  std::string types;
  bool is_done = false;
  int64_t entered_ns = 0;  ///< unix time
};

struct CollectiveGroup {
  std::string name;
  std::vector<int> ranks;
  int64_t entered = 0;  ///< the number of the last collective that the rank has entered; 0: unknown
};

/// Where the process writes the Python stacks of its threads when it gets a signal.
struct StackAnswer {
  int signal = 0;      ///< 0: it does not
  int file = -1;       ///< its file descriptor for them
  int64_t thread = 0;  ///< that is to get the signal: one that does nothing which it could disturb
  int64_t ident = 0;   ///< of the training thread, as Python names it
};

/// What the training thread does: the kernel's word for it, or what the operating system says of
/// the whole process.
enum class ThreadState : uint8_t {
  kUnknown,
  kRuns,
  kSleeps,  ///< in a clock: time.sleep()
  kLock,    ///< in a futex
  kInputOutput,
  kStopped,  ///< by a signal or a debugger
  kGone,     ///< the process has ended
};

struct HangTable {
  std::string run;  ///< `redline record` gives the same name to all ranks of one call
  std::string job;  ///< the same for all ranks of a job, also those of other calls; "": not known
  int rank = 0;
  int world_size = 1;
  std::string host;
  int64_t process = 0;
  int64_t pid_namespace = 0;  ///< in which that number holds; 0: not known
  int64_t thread = 0;         ///< the training thread, as the kernel numbers it
  StackAnswer answer;
  bool is_met = false;     ///< its job's tables meet by TCP, so the folder may lack those of others
  int64_t written_ns = 0;  ///< unix time
  bool is_overdue = false;  ///< the step takes long; a table without this has no collectives
  std::optional<int64_t> step;
  int64_t step_began_ns = 0;
  int64_t usual_step_ns = 0;
  /// "evaluation", "checkpoint", "compile", "data", "start": what is known to take long; or "".
  std::string phase;
  bool is_moving = false;    ///< operators of torch run, or too little of a core was to be had
  std::string error;         ///< the exception that ended the process: "ValueError: no such file"
  std::string memory_error;  ///< what was said when it ran out of memory a moment ago
  ThreadState state = ThreadState::kUnknown;
  std::vector<CollectiveGroup> groups;
  std::vector<EnteredCollective> collectives;  ///< the last ones, in order
  std::vector<std::string> stack;  ///< "train.py:31 sync", the user's code, innermost first
  std::string inner;               ///< where the thread is in libraries: "dataloader.py:1295 _get"

  /// Of a program in C++, which does not write where it is: the launcher asks.
  [[nodiscard]] bool is_of_program() const { return thread != 0 && answer.ident == 0; }
};

/// "runs", "sleeps": the words of machine/thread_wait.h; kUnknown for any other.
[[nodiscard]] ThreadState thread_state_of(std::string_view word);
[[nodiscard]] std::string_view thread_state_name(ThreadState state);

/// The paths of the tables in a folder, of any run.
[[nodiscard]] std::vector<std::string> find_hang_tables(const std::string& folder);

/// The tables in `folder`, sorted by rank; of a rank that has several, the latest, with the stack
/// that a launcher added to an earlier one of a program in C++. Leaves out what cannot be read,
/// because a table may vanish or be written at this moment. `run`: of this run and
/// the others of its job; "": of the latest.
[[nodiscard]] std::vector<HangTable> read_hang_tables(const std::string& folder,
                                                      const std::string& run = "");

/// What read_hang_tables() keeps of all tables that it can read. Leaves out jobs beside this one
/// and ranks that it went on without after a restart.
void keep_one_job(std::vector<HangTable>& tables, const std::string& run);

/// nullopt if `text` is no table.
[[nodiscard]] std::optional<HangTable> parse_hang_table(const std::string& text);

}  // namespace redline::trace
