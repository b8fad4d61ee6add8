// Finds all processes of a command, however they were started, and ends them.
//
// torchrun puts each rank into a session of its own, and DataLoader workers outlive killed ranks,
// so no process group holds them all. A cgroup would, but most users may not make one. So a process
// belongs to the command if one of these holds:
//   1. its parent does (by the parent ids in /proc);
//   2. it did in an earlier look. Its parent may have died since, and then this process adopted it,
//      because it is the subreaper of all;
//   3. its environment has the command's mark, which a double fork inherits;
//   4. a resource limit has the command's mark: for a process that was orphaned between two looks
//      and cleared its environment.
// Never by its name: the user may run the same program beside it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace redline::launch {

/// The environment variable that marks a command's processes; its value is unique among commands.
constexpr const char* kMarkVariable = "REDLINE_TRIAL_ID";

/// Sets the soft limit of bytes in POSIX message queues, which hardly any program uses, to
/// `number`. Children inherit it, whatever they do to their environment. Async-signal-safe: it is
/// called between fork and exec.
void mark_by_limit(uint64_t number);
/// The value of this limit that stands for `mark`; 0 if the hard limit leaves no room for one.
[[nodiscard]] uint64_t limit_of(const std::string& mark);

/// What /proc/PID/stat says of a process (proc 5).
struct ProcessEntry {
  pid_t pid = 0;
  pid_t parent = 0;
  char state = '?';
  uint64_t start = 0;  ///< clock ticks since boot

  [[nodiscard]] bool dead() const { return state == 'Z' || state == 'X'; }
};

/// nullopt for a process that is gone.
[[nodiscard]] std::optional<ProcessEntry> read_process(pid_t pid);

class ProcessTree {
 public:
  /// `root` is a child of this process whose environment carries REDLINE_TRIAL_ID=`mark`.
  ProcessTree(pid_t root, std::string mark);
  /// Of a command that this process did not start.
  explicit ProcessTree(std::string mark) : ProcessTree(-1, std::move(mark)) {}

  /// Looks through /proc once: finds new members, reaps dead ones that are children of this
  /// process. Returns the living members.
  std::vector<pid_t> scan();

  /// Members that the last scan found alive.
  [[nodiscard]] const std::vector<pid_t>& living() const { return living_; }

  /// The root's wait status (waitpid 2), once it has ended and a scan has seen it.
  [[nodiscard]] std::optional<int> root_status() const { return root_status_; }

  /// Sends SIGTERM to every member at once and SIGKILL to those left after `grace`, until none is
  /// left. Returns those that even SIGKILL did not end within ten seconds (a driver holds them).
  std::vector<pid_t> stop(std::chrono::nanoseconds grace);

 private:
  [[nodiscard]] bool belongs(const ProcessEntry& process);
  void reap(const ProcessEntry& process);

  pid_t root_;
  std::string mark_;
  /// Pid -> start time, which shows whether the pid was reused.
  std::map<pid_t, uint64_t> members_;
  std::map<pid_t, uint64_t> strangers_;  ///< processes whose environment was read already
  std::vector<pid_t> living_;
  std::optional<int> root_status_;
};

}  // namespace redline::launch
