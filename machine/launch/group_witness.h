// Tells whether a signal that reached us reached the command, too. Ctrl-C and a scheduler send a
// signal to all processes of a group or cgroup; `kill PID` sends it to us alone. The signal itself
// does not say which (siginfo_t knows only who sent it), and a command that gets it twice may be
// cut off while it saves a checkpoint.
//
// So a second process of ours stays in the group, does nothing, and reports each signal it gets.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>

#include "base/file.h"

namespace redline::launch {

class GroupWitness {
 public:
  /// `signals` are blocked by the caller already.
  explicit GroupWitness(const sigset_t& signals);
  ~GroupWitness();
  GroupWitness(const GroupWitness&) = delete;
  GroupWitness& operator=(const GroupWitness&) = delete;

  /// Whether others in the group got the signal that we got just now. Waits for the answer for
  /// 0.2 s at most. Without a witness (no memory for a process): false.
  [[nodiscard]] bool got(int signal);

 private:
  struct Report {
    int signal;
    int64_t time_ns;
  };
  [[noreturn]] static void watch(const sigset_t& signals, int to);
  [[nodiscard]] bool take(int signal);

  pid_t process_ = -1;
  std::optional<FileDescriptor> reports_;
  std::array<int64_t, NSIG> got_ns_{};  ///< when it got each signal last
};

}  // namespace redline::launch
