// Lets one thread say what it knows before SIGABRT ends the process, as of a collective that Gloo
// or NCCL refuses.
#pragma once

#include <atomic>
#include <chrono>

namespace redline::profiler {

/// Waits for `most`, or until wake_abort_watch(). True if the process is about to abort: it waits
/// up to four seconds for end_abort_watch(), unless it holds Python's interpreter lock. The first
/// call handles SIGABRT, and a handler of the job runs afterwards. In forked children nothing
/// waits.
[[nodiscard]] bool wait_for_abort(std::chrono::nanoseconds most);
void wake_abort_watch();
void end_abort_watch();

/// For a signal handler. Waits for `flag`, but at most four seconds, because this thread may hold a
/// lock that whoever sets the flag needs.
void wait_for(const std::atomic<bool>& flag) noexcept;

}  // namespace redline::profiler
