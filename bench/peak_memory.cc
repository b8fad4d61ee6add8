#include "bench/limits.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace redline::bench {

int64_t anonymous_bytes() {
  long total = 0, resident = 0, shared = 0;
  FILE* statm = fopen("/proc/self/statm", "r");
  if (statm == nullptr) return 0;
  const int read = fscanf(statm, "%ld %ld %ld", &total, &resident, &shared);
  fclose(statm);
  return read == 3 ? (resident - shared) * sysconf(_SC_PAGESIZE) : 0;
}

PeakMemory::PeakMemory()
    : sampler_([this](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          peak_ = std::max(peak_, anonymous_bytes());
          std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
      }) {
  // Under chrt -f a thread of the same priority would only run when the work is done.
  int policy = 0;
  sched_param priority{};
  pthread_getschedparam(pthread_self(), &policy, &priority);
  if (policy != SCHED_OTHER) {
    ++priority.sched_priority;
    pthread_setschedparam(sampler_.native_handle(), policy, &priority);
  }
}

int64_t PeakMemory::stop() {
  sampler_.request_stop();
  sampler_.join();
  return std::max(peak_, anonymous_bytes());
}

}  // namespace redline::bench
