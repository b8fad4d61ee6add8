#include "tuner/trial/trial_gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/format.h"
#include "base/root_of_squares.h"
#include "tuner/space/knob.h"

namespace redline::tuner {
namespace {

constexpr size_t kMostHolders = 32;

constexpr double kCounterStep = 0.1;  // seconds between two changes of a GPU's counter

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kMemoryPoll{100};
constexpr uint64_t kMargin = uint64_t{64} << 20;  // bytes that the driver itself may take

std::string process_text(unsigned pid) {
  std::string name;
  std::getline(std::ifstream(fmt::format("/proc/{}/comm", pid)), name);
  return name.empty() ? fmt::format("process {}", pid) : fmt::format("process {} ({})", pid, name);
}

std::string holders_text(const std::vector<unsigned>& holders) {
  if (holders.empty()) return "by no process that is visible here";
  std::string text = "by ";
  for (size_t i = 0; i < holders.size(); ++i) {
    text += (i == 0 ? "" : ", ") + process_text(holders[i]);
  }
  return text;
}

}  // namespace

TrialGpus::TrialGpus(const std::optional<std::string>& visible, const std::string& library)
    : library_(library) {
  ready_ = library_.loaded() && REDLINE_NVML(library_, nvmlInit_v2) == nvml::kSuccess;
  unsigned count = 0;
  if (!ready_ || REDLINE_NVML(library_, nvmlDeviceGetCount_v2, &count) != nvml::kSuccess) return;
  if (!visible) {
    for (unsigned gpu = 0; gpu < count; ++gpu) (void)add(std::to_string(gpu), count);
    return;
  }
  std::istringstream names(*visible);
  for (std::string name; std::getline(names, name, ',') && add(name, count);) continue;
}

TrialGpus::~TrialGpus() {
  if (ready_) (void)REDLINE_NVML(library_, nvmlShutdown);
}

bool TrialGpus::add(const std::string& name, unsigned count) {
  nvmlDevice_t device = nullptr;
  if (const auto number = parse_integer(name)) {
    if (*number < 0 || *number >= count) return false;
    if (REDLINE_NVML(library_, nvmlDeviceGetHandleByIndex_v2, static_cast<unsigned>(*number),
                     &device) != nvml::kSuccess) {
      return false;
    }
  } else if (REDLINE_NVML(library_, nvmlDeviceGetHandleByUUID, name.c_str(), &device) !=
             nvml::kSuccess) {
    return false;
  }
  gpus_.push_back({name, device, joules(device).has_value()});
  return true;
}

std::vector<std::optional<uint64_t>> TrialGpus::memory_used() const {
  std::vector<std::optional<uint64_t>> used;
  for (const Gpu& gpu : gpus_) {
    nvmlMemory_t memory = {};
    const int status = REDLINE_NVML(library_, nvmlDeviceGetMemoryInfo, gpu.device, &memory);
    used.push_back(status == nvml::kSuccess ? std::optional<uint64_t>(memory.used) : std::nullopt);
  }
  return used;
}

std::vector<unsigned> TrialGpus::holders(size_t gpu) const {
  std::array<nvmlProcessInfo_t, kMostHolders> found = {};
  unsigned count = kMostHolders;
  const int status = REDLINE_NVML(library_, nvmlDeviceGetComputeRunningProcesses_v3,
                                  gpus_[gpu].device, &count, found.data());
  std::vector<unsigned> pids;
  for (unsigned i = 0; status == nvml::kSuccess && i < count; ++i) pids.push_back(found[i].pid);
  return pids;
}

std::optional<double> TrialGpus::joules(nvmlDevice_t device) const {
  unsigned long long millijoules = 0;
  const int status =
      REDLINE_NVML(library_, nvmlDeviceGetTotalEnergyConsumption, device, &millijoules);
  if (status != nvml::kSuccess) return std::nullopt;
  return 1e-3 * static_cast<double>(millijoules);
}

std::optional<TrialGpus::Power> TrialGpus::power() const {
  if (gpus_.empty()) return std::nullopt;
  Power sum;
  for (const Gpu& gpu : gpus_) {
    unsigned milliwatts = 0;
    if (gpu.counts_energy) {
      const auto counted = joules(gpu.device);
      if (!counted) return std::nullopt;
      sum.joules += *counted;
    } else if (REDLINE_NVML(library_, nvmlDeviceGetPowerUsage, gpu.device, &milliwatts) ==
               nvml::kSuccess) {
      sum.watts += 1e-3 * milliwatts;
    } else {
      return std::nullopt;
    }
  }
  return sum;
}

/// For GPUs that only tell their power, it is taken to change evenly between two readings.
void EnergyMeter::add(int64_t time_ns, const TrialGpus::Power& power) {
  if (!readings_.empty()) {
    const Reading& last = readings_.back();
    if (time_ns <= last.time_ns) return;
    const double seconds = 1e-9 * static_cast<double>(time_ns - last.time_ns);
    integral_ += seconds * (last.watts + power.watts) / 2;
  }
  readings_.push_back({time_ns, power.joules + integral_, power.watts});
}

std::optional<double> EnergyMeter::between(int64_t begin_ns, int64_t end_ns) const {
  if (readings_.empty() || begin_ns >= end_ns) return std::nullopt;
  if (begin_ns < readings_.front().time_ns || end_ns > readings_.back().time_ns) {
    return std::nullopt;
  }
  return at(end_ns) - at(begin_ns);
}

double EnergyMeter::at(int64_t time_ns) const {
  const auto after = std::ranges::lower_bound(readings_, time_ns, {}, &Reading::time_ns);
  if (after == readings_.begin()) return after->joules;
  const Reading& before = *(after - 1);
  const double share = static_cast<double>(time_ns - before.time_ns) /
                       static_cast<double>(after->time_ns - before.time_ns);
  return before.joules + share * (after->joules - before.joules);
}

Throughput samples_per_joule(double joules_per_sample, const Throughput& rate, double seconds) {
  const double value = 1 / joules_per_sample;
  const double half = root_of_squares((rate.high - rate.low) / (2 * rate.samples_per_s),
                                      kCounterStep / std::max(seconds, kCounterStep));
  return {.samples_per_s = value, .low = value / (1 + half), .high = value * (1 + half)};
}

std::vector<uint64_t> GpuMemoryReturn::kept() const {
  const std::vector<std::optional<uint64_t>> now = gpus_.memory_used();
  std::vector<uint64_t> more(now.size(), 0);
  for (size_t gpu = 0; gpu < now.size(); ++gpu) {
    const bool told = now[gpu] && before_[gpu];
    if (told && *now[gpu] > *before_[gpu] + kMargin) more[gpu] = *now[gpu] - *before_[gpu];
  }
  return more;
}

std::vector<std::string> GpuMemoryReturn::wait(std::chrono::nanoseconds patience,
                                               const std::atomic<StopRequest>& stop) const {
  const auto begin = Clock::now();
  std::vector<uint64_t> more = kept();
  while (std::ranges::any_of(more, [](uint64_t bytes) { return bytes > 0; }) &&
         Clock::now() - begin < patience && stop != StopRequest::kKill) {
    std::this_thread::sleep_for(kMemoryPoll);
    more = kept();
  }
  std::vector<std::string> held;
  for (size_t gpu = 0; gpu < more.size(); ++gpu) {
    if (more[gpu] == 0) continue;
    held.push_back(fmt::format("GPU {} holds {} more than before the trial: {}", gpus_.name(gpu),
                               format_bytes(more[gpu]), holders_text(gpus_.holders(gpu))));
  }
  return held;
}

}  // namespace redline::tuner
