// Threads for work that consists of many independent parts, such as the pieces of a trace file.
// Nothing else in trace/ starts threads. They live as long as one such work, so nobody has to end
// them, and an exception of one reaches the caller.
#pragma once

#include <cstddef>
#include <functional>

namespace redline {

/// Data that a thread writes to for each event must lie so many bytes apart from those of other
/// threads. Cores fetch lines of 64 bytes in pairs; where two cores passed a pair to and fro,
/// loading a trace took a third longer.
constexpr size_t kApartBytes = 128;

/// `wanted`, or a thread for each core that this process may use where that is 0.
[[nodiscard]] unsigned thread_count(unsigned wanted);

/// Calls work(0), …, work(threads - 1), each on a thread of its own, the first on the caller's.
/// Returns when all calls have returned; the first exception of any of them is thrown again here.
void run_on_threads(unsigned threads, const std::function<void(unsigned thread)>& work);

/// Calls work(index, thread) for each index below `count`, by up to `threads` threads that take the
/// next index when they are done with one.
void for_each_index(unsigned threads, size_t count,
                    const std::function<void(size_t index, unsigned thread)>& work);

}  // namespace redline
