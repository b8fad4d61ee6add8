#include "profiler/host/host_samples.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "profiler/log/record.h"

namespace redline::profiler {
namespace {

constexpr double kMib = 1024.0 * 1024.0;
constexpr double kMostCoreSamples =
    200;  ///< per second; with many cores each is sampled less often
constexpr double kWorkerSearchHz = 2;

double busy_percent(const machine::CoreTime& before, const machine::CoreTime& now) {
  return 100.0 * static_cast<double>(now.busy - before.busy) /
         static_cast<double>(now.total - before.total);
}

/// A tick is 10 ms. If a core had no tick since `before`, nothing can be said of it. The kernel's
/// idle time may even decrease (proc(5)).
bool has_moved(const machine::CoreTime& before, const machine::CoreTime& now) {
  return now.total > before.total && now.busy >= before.busy &&
         now.busy - before.busy <= now.total - before.total;
}

/// In which fraction of rounds to do something, so that it happens at most `most_hz` times a second
/// if there are `hz` rounds a second: every n-th round, and at least every round.
uint64_t one_round_of(int32_t hz, double most_hz) {
  return static_cast<uint64_t>(std::max(1.0, std::ceil(hz / most_hz)));
}

class Samples {
 public:
  Samples(const machine::HostReading& before, const machine::HostReading& now)
      : before_(before),
        now_(now),
        seconds_(1e-9 * static_cast<double>(now.time_ns - before.time_ns)) {}

  void add(std::string track, const char* unit, double value) {
    samples_.push_back({std::move(track), unit, value});
  }
  void add_size(const char* track, std::optional<int64_t> machine::HostReading::*bytes) {
    if (now_.*bytes) add(track, "MiB", static_cast<double>(*(now_.*bytes)) / kMib);
  }
  void add_rate(const char* track, const char* unit,
                std::optional<int64_t> machine::HostReading::*count, double scale) {
    if (!(before_.*count) || !(now_.*count) || seconds_ <= 0) return;
    add(track, unit, scale * static_cast<double>(*(now_.*count) - *(before_.*count)) / seconds_);
  }
  void add_workers() {
    for (const machine::WorkerTime& worker : now_.workers) {
      const auto was = std::ranges::find(before_.workers, worker.pid, &machine::WorkerTime::pid);
      if (was == before_.workers.end() || seconds_ <= 0) continue;
      add("DataLoader worker " + std::to_string(worker.pid), "busy %",
          1e-7 * static_cast<double>(worker.cpu_ns - was->cpu_ns) / seconds_);
    }
  }
  [[nodiscard]] std::vector<CounterSample> take() { return std::move(samples_); }

 private:
  const machine::HostReading& before_;
  const machine::HostReading& now_;
  const double seconds_;
  std::vector<CounterSample> samples_;
};

}  // namespace

std::vector<CounterSample> host_samples(const machine::HostReading& before,
                                        const machine::HostReading& now) {
  Samples samples(before, now);
  if (before.machine && now.machine && has_moved(*before.machine, *now.machine)) {
    samples.add("CPU", "busy %", busy_percent(*before.machine, *now.machine));
  }
  samples.add_rate("Process CPU", "% of a core", &machine::HostReading::cpu_ns, 1e-7);
  samples.add_rate("Process CPU in the kernel", "% of a core", &machine::HostReading::kernel_ns,
                   1e-7);
  samples.add_workers();
  samples.add_size("Resident memory", &machine::HostReading::resident_bytes);
  samples.add_size("/dev/shm", &machine::HostReading::shm_used_bytes);
  samples.add_rate("Disk read", "MB/s", &machine::HostReading::disk_read_bytes, 1e-6);
  samples.add_rate("Page faults", "a second", &machine::HostReading::page_faults, 1);
  samples.add_rate("Major page faults", "a second", &machine::HostReading::major_page_faults, 1);
  return samples.take();
}

std::vector<CounterSample> core_samples(const machine::HostReading& before,
                                        const machine::HostReading& now) {
  std::vector<CounterSample> samples;
  for (const machine::CoreTime& core : now.cores) {
    const auto was = std::ranges::find(before.cores, core.core, &machine::CoreTime::core);
    if (was == before.cores.end() || !has_moved(*was, core)) continue;
    samples.push_back({"CPU " + std::to_string(core.core), "busy %", busy_percent(*was, core)});
  }
  return samples;
}

void HostSampler::enable(const RecorderOptions& options) noexcept {
  if (options.host_samples_hz <= 0) return;
  thread_.start([this, hz = options.host_samples_hz] { run(hz); });
}

void HostSampler::disable() noexcept { thread_.stop(); }

void HostSampler::run(int32_t hz) {
  const std::chrono::nanoseconds interval(1'000'000'000 / hz);
  machine::HostReader reader;
  reader.find_workers();
  machine::HostReading before = reader.read();
  machine::HostReading before_cores = before;
  const uint64_t search_round = one_round_of(hz, kWorkerSearchHz);
  const double core_hz = kMostCoreSamples / static_cast<double>(before.cores.size() + 1);
  const uint64_t core_round = one_round_of(hz, core_hz);
  for (uint64_t round = 1; thread_.pause(interval); ++round) {
    if (round % search_round == 0) reader.find_workers();
    machine::HostReading now = reader.read();
    submit_samples(host_samples(before, now), now.time_ns);
    if (round % core_round == 0) {
      submit_samples(core_samples(before_cores, now), now.time_ns);
      before_cores = now;
    }
    before = std::move(now);
  }
}

}  // namespace redline::profiler
