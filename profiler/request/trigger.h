// What `redline trigger` does: asks recorded processes for a trace and hears how they get on.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace redline::launch {

/// The processes that `process` stands for: itself where it is recorded, else the recorded ones
/// below it (the ranks of a torchrun). The error is one line.
[[nodiscard]] tl::expected<std::vector<pid_t>, std::string> recorded_processes(pid_t process);

/// All of this user. Sockets that dead processes left behind are removed.
[[nodiscard]] std::vector<pid_t> all_recorded_processes();

struct TriggerRequest {
  int64_t steps = 0;      ///< 0: as many as the process was started with
  std::string directory;  ///< absolute; "": the process's own
};

/// What a process says, in order; the last of each has a path or an error.
struct TriggerReport {
  pid_t process = 0;
  std::string progress;  ///< such as "step 2 of 3"
  std::string path;      ///< of the trace that was written
  std::string error;
};

/// Asks all at once and passes on what each says, until all are done or `cancelled` is set: then
/// processes that have not begun yet are let off.
void trigger(const std::vector<pid_t>& processes, const TriggerRequest& request,
             const std::function<void(const TriggerReport&)>& report,
             const std::atomic<bool>& cancelled);

}  // namespace redline::launch
