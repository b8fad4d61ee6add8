// Threads for work that consists of many independent parts, such as the pieces of a trace file.
// Nothing else in trace/ starts threads. The threads end with the call that started them, and an
// exception on one of them reaches the caller.
#pragma once

#include <cstddef>
#include <functional>

namespace redline {

/// If a thread writes to some data for each event, that data must lie so many bytes apart from the
/// data of other threads. Cores fetch lines of 64 bytes in pairs: when two cores passed a pair to
/// and fro, loading a trace took a third longer.
constexpr size_t kApartBytes = 128;

/// `wanted`; if that is 0, the number of cores that this process may use.
[[nodiscard]] unsigned thread_count(unsigned wanted);

/// Calls work(0), …, work(threads - 1), the first on the caller's thread and each other on a new
/// one, if the system has threads left. Returns when all calls have returned. If calls threw,
/// throws the first exception again.
void run_on_threads(unsigned threads, const std::function<void(unsigned thread)>& work);

/// Calls work(index, thread) for each index below `count` on up to `threads` threads. Each thread
/// takes the next index when it has finished one.
void for_each_index(unsigned threads, size_t count,
                    const std::function<void(size_t index, unsigned thread)>& work);

}  // namespace redline
