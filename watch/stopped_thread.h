// The registers and the stack of a thread of another process. Its process is left as it was:
// - A thread that runs, or waits in a call that the kernel begins again by itself, is stopped
//   (ptrace) while registers and stack are copied: 0.3 ms, and some more where we lack a core.
// - In other calls, such as epoll_wait() or recv() on a socket, a stop could make the call fail
//   with EINTR. Such a thread is only read: where it waits and its stack, but not all registers.
// No signal is sent, and none that arrives meanwhile is lost. If this process dies, the thread goes
// on.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace redline::watch {

/// In the order and with the numbers of DWARF on x86-64.
constexpr size_t kStackRegister = 7;
constexpr size_t kPlaceRegister = 16;

struct ThreadCopy {
  std::array<uint64_t, 17> registers{};
  bool has_all_registers = false;  ///< otherwise only the two above
  std::string stack;               ///< from the stack's innermost byte on

  [[nodiscard]] bool holds(uint64_t address, size_t size) const;
  /// Of memory that is not in `stack`, what the process holds there now.
  [[nodiscard]] std::optional<uint64_t> word_at(pid_t process, uint64_t address) const;
};

/// nullopt on other processors than x86-64, where it may not be read, or if it does not stop within
/// a second, as in an uninterruptible call. Call it on a thread that ends soon: that is what lets
/// go of a thread that did not stop.
[[nodiscard]] std::optional<ThreadCopy> copy_thread(pid_t process, pid_t thread);

}  // namespace redline::watch
