// Every process of a trial, found so that none can hide, and ended.
//
// torchrun puts each rank into a session of its own and DataLoader workers outlive killed ranks, so
// no process group holds them all. Four nets instead: descent by parent ids in /proc; what was
// once seen as ours stays ours after its parent died (this process is their subreaper and adopts
// them); a mark in the environment, which a double fork inherits; and for those that were orphaned
// between two looks and clean their environment, a mark in a resource limit. Never by name.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace redline::tuner {

/// The environment variable that marks a trial's processes; its value is unique among trials.
constexpr const char* kTrialIdVariable = "REDLINE_TRIAL_ID";

/// Sets the soft limit of bytes in POSIX message queues, which nobody comes near, to a number that
/// stands for `mark`: children inherit it whatever they do to their environment. Between fork and
/// exec: async-signal-safe.
void mark_by_limit(uint64_t number);
/// The number that stands for `mark`; 0 where the hard limit leaves no room.
[[nodiscard]] uint64_t limit_of(const std::string& mark);

/// What /proc/PID/stat says of a process (proc 5).
struct ProcessEntry {
  pid_t pid = 0;
  pid_t parent = 0;
  char state = '?';
  uint64_t start = 0;  ///< clock ticks since boot

  [[nodiscard]] bool dead() const { return state == 'Z' || state == 'X'; }
};

/// Nothing for a process that is gone.
[[nodiscard]] std::optional<ProcessEntry> read_process(pid_t pid);

class ProcessTree {
 public:
  /// `root` is a child of this process whose environment carries REDLINE_TRIAL_ID=`mark`.
  ProcessTree(pid_t root, std::string mark);

  /// Looks through /proc once: adopts new members, reaps dead ones that are this process's
  /// children. Returns the living members.
  std::vector<pid_t> scan();

  /// Members that the last scan found alive.
  [[nodiscard]] const std::vector<pid_t>& living() const { return living_; }

  /// The root's wait status (waitpid 2), once it has ended and a scan has seen it.
  [[nodiscard]] std::optional<int> root_status() const { return root_status_; }

  /// SIGTERM to every member at once, SIGKILL to those left after `grace`, until nothing is left.
  /// Returns processes that even SIGKILL did not end within ten seconds (a driver holds them).
  std::vector<pid_t> stop(std::chrono::nanoseconds grace);

 private:
  [[nodiscard]] bool belongs(const ProcessEntry& process);
  void reap(const ProcessEntry& process);

  pid_t root_;
  std::string mark_;
  std::map<pid_t, uint64_t> members_;    ///< pid -> start time, which tells a reused pid
  std::map<pid_t, uint64_t> strangers_;  ///< processes whose environment was read already
  std::vector<pid_t> living_;
  std::optional<int> root_status_;
};

}  // namespace redline::tuner
