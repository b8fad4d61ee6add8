#include "machine/core_use.h"

#include <unistd.h>

#include "machine/resources.h"
#include "machine/thread_times.h"

namespace redline::machine {

CoreUse CoreUseReader::read(const HostReading& reading) {
  CoreUse use;
  const Cores granted = machine::cores(root_);
  use.cores = granted.usable();
  if (!reading.cores.empty() && static_cast<size_t>(use.cores) >= reading.cores.size()) {
    const int64_t tick_ns = 1'000'000'000 / sysconf(_SC_CLK_TCK);
    int64_t ticks = 0;
    for (const CoreTime& core : reading.cores) ticks += static_cast<int64_t>(core.busy);
    use.busy_ns = ticks * tick_ns;
  }
  Times workers;
  for (const WorkerTime& worker : reading.workers) workers[worker.pid] = worker.cpu_ns;
  workers_ns_ += growth(workers_, std::move(workers));
  use.used_ns = reading.cpu_ns.value_or(0) + workers_ns_;
  if (auto waits = waits_of_threads()) {
    waited_ns_ += growth(waits_, std::move(*waits));
    use.waited_ns = waited_ns_;
  }
  return use;
}

std::optional<CoreUseReader::Times> CoreUseReader::waits_of_threads() const {
  Times times;
  for (const pid_t thread : thread_ids(root_)) {
    if (const auto its = thread_times("self", thread, root_)) times[thread] = its->wait_ns;
  }
  if (times.empty()) return std::nullopt;
  return times;
}

int64_t CoreUseReader::growth(Times& before, Times now) {
  int64_t sum = 0;
  for (const auto& [id, time_ns] : now) {
    const auto place = before.find(id);
    // The kernel may give an id again.
    const bool is_known = place != before.end() && place->second <= time_ns;
    sum += time_ns - (is_known ? place->second : 0);
  }
  before = std::move(now);
  return sum;
}

}  // namespace redline::machine
