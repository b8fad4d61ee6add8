// The one place where trace/ starts threads for work that is many independent parts.
#pragma once

#include <cstddef>
#include <functional>

namespace redline {

/// What a thread writes to for each event lies apart by this much from what others do: cores fetch
/// lines of 64 bytes in pairs, and passing one to and fro cost a third of a load.
constexpr size_t kApartBytes = 128;

/// `wanted`, or a thread for each core that this process may use where that is 0.
[[nodiscard]] unsigned thread_count(unsigned wanted);

/// Calls work(0), …, work(threads - 1), each on a thread of its own, the first on the caller's.
/// Returns when all have; an exception of any of them is thrown again here.
void run_on_threads(unsigned threads, const std::function<void(unsigned thread)>& work);

/// Calls work(index, thread) for each index below `count`, by up to `threads` threads that take the
/// next index when they are done with one.
void for_each_index(unsigned threads, size_t count,
                    const std::function<void(size_t index, unsigned thread)>& work);

}  // namespace redline
