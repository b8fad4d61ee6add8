#include "tuner/trial/trial_gpus.h"

#include <array>
#include <sstream>

#include "tuner/space/knob.h"

namespace redline::tuner {
namespace {

constexpr size_t kMostHolders = 32;

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

}  // namespace redline::tuner
