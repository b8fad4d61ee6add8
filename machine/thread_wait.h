// What a thread does while it makes no progress, in one word, from what the kernel says of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace redline::machine {

/// "runs" (or is about to), "sleeps" (in a clock), "lock" (in a futex), "io" (in a file, a pipe or
/// a socket), "stopped" (by a signal or a debugger), "gone" if there is no such thread or process;
/// "" if the kernel does not say. `process`: "self" or a process id.
[[nodiscard]] std::string_view thread_wait(const std::string& process, int64_t thread,
                                           const std::string& root = "");

}  // namespace redline::machine
