// How long a thread has had a core, and how long it has waited for one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace redline::machine {

/// Since the thread began.
struct ThreadTimes {
  int64_t run_ns = 0;   ///< on a core
  int64_t wait_ns = 0;  ///< ready to run, but without a core
};

/// nullopt if there is no such thread, or if the kernel keeps no such times. `process`: "self" or a
/// process id.
[[nodiscard]] std::optional<ThreadTimes> thread_times(const std::string& process, int64_t thread,
                                                      const std::string& root = "");

/// The threads of this process; as many as could be read.
[[nodiscard]] std::vector<pid_t> thread_ids(const std::string& root = "");

}  // namespace redline::machine
