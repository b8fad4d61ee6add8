#include "base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace redline {

unsigned thread_count(unsigned wanted) {
  if (wanted > 0) return wanted;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (::sched_getaffinity(0, sizeof cores, &cores) != 0) return 1;
  return static_cast<unsigned>(std::max(1, CPU_COUNT(&cores)));
}

void run_on_threads(unsigned threads, const std::function<void(unsigned)>& work) {
  std::mutex mutex;
  std::exception_ptr first_error;
  const auto guarded = [&](unsigned thread) {
    try {
      work(thread);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!first_error) first_error = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    others.reserve(threads);
    unsigned started = 1;
    try {
      for (; started < threads; ++started) others.emplace_back(guarded, started);
    } catch (const std::system_error&) {
      // The system has no thread left: the caller does the remaining parts, too.
    }
    guarded(0);
    for (; started < threads; ++started) guarded(started);
  }
  if (first_error) std::rethrow_exception(first_error);
}

void for_each_index(unsigned threads, size_t count,
                    const std::function<void(size_t, unsigned)>& work) {
  std::atomic<size_t> next = 0;
  const auto take = [&](unsigned thread) {
    for (size_t index = next++; index < count; index = next++) work(index, thread);
  };
  run_on_threads(static_cast<unsigned>(std::min<size_t>(threads, std::max<size_t>(count, 1))),
                 take);
}

}  // namespace redline
