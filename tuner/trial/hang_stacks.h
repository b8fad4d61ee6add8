// Where a trial hangs: the Python stacks of its processes, asked for before they are ended.
//
// The start-up hook lets faulthandler answer a real-time signal by writing every thread's stack to
// a file; it works while the main thread waits in a collective. Whoever did not ask for the signal
// would die of it, so it is sent only to processes that catch it (SigCgt, proc 5).
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace redline::tuner {

/// One block a process, its innermost frames first; empty where none answers. Waits a second at
/// most. `directory`: the trial's TMPDIR.
[[nodiscard]] std::string hang_stacks(const std::vector<pid_t>& processes,
                                      const std::string& directory);

/// "SigCgt:\t…" of /proc/PID/status has the bit of `number`.
[[nodiscard]] bool catches(const std::string& status, int number);

}  // namespace redline::tuner
