#include <array>
#include <type_traits>

#include "cli/doctor/nvidia.h"
#include "cli/doctor/probe.h"

namespace redline::doctor {

namespace {

/// Calls NVML by name; a function that this driver does not have fails like any other.
class Nvml {
 public:
  explicit Nvml(const Machine& machine) : library_(machine, "libnvidia-ml.so.1") {}

  [[nodiscard]] bool loaded() const { return library_.loaded(); }

  template <typename... Parameters>
  [[nodiscard]] int call(const char* name, int (*)(Parameters...),
                         std::type_identity_t<Parameters>... arguments) const {
    constexpr int kFunctionNotFound = 13;
    auto* function = library_.find<int(Parameters...)>(name);
    return function == nullptr ? kFunctionNotFound : function(arguments...);
  }

  [[nodiscard]] std::string error_text(int status) const {
    auto* function = library_.find<const char*(int)>("nvmlErrorString");
    return function == nullptr ? "NVML error " + std::to_string(status) : function(status);
  }

 private:
  SharedLibrary library_;
};

// The declared function gives only its type; the one that is called comes from the library.
#define REDLINE_NVML(nvml, function, ...) \
  (nvml).call(#function, static_cast<decltype(&function)>(nullptr) __VA_OPT__(, ) __VA_ARGS__)

using Text = std::array<char, 128>;
constexpr auto kTextSize = static_cast<unsigned int>(Text{}.size());

std::optional<Pcie> pcie_of(const Nvml& nvml, nvmlDevice_t device) {
  unsigned int generation = 0;
  unsigned int width = 0;
  unsigned int max_width = 0;
  if (REDLINE_NVML(nvml, nvmlDeviceGetMaxPcieLinkGeneration, device, &generation) != kNvmlSuccess ||
      REDLINE_NVML(nvml, nvmlDeviceGetCurrPcieLinkWidth, device, &width) != kNvmlSuccess ||
      REDLINE_NVML(nvml, nvmlDeviceGetMaxPcieLinkWidth, device, &max_width) != kNvmlSuccess) {
    return std::nullopt;
  }
  return Pcie{static_cast<int>(generation), static_cast<int>(width), static_cast<int>(max_width)};
}

void read_mig(const Nvml& nvml, nvmlDevice_t device, Gpu& gpu) {
  unsigned int current = 0;
  unsigned int pending = 0;
  if (REDLINE_NVML(nvml, nvmlDeviceGetMigMode, device, &current, &pending) != kNvmlSuccess) return;
  gpu.mig = current != 0;
  unsigned int most = 0;
  if (!*gpu.mig || REDLINE_NVML(nvml, nvmlDeviceGetMaxMigDeviceCount, device, &most)) return;
  for (unsigned int place = 0; place < most; ++place) {
    nvmlDevice_t instance = nullptr;
    if (REDLINE_NVML(nvml, nvmlDeviceGetMigDeviceHandleByIndex, device, place, &instance) ==
        kNvmlSuccess) {
      ++gpu.mig_instances;
    }
  }
}

Gpu read_gpu(const Nvml& nvml, nvmlDevice_t device) {
  Gpu gpu;
  Text text{};
  if (REDLINE_NVML(nvml, nvmlDeviceGetName, device, text.data(), kTextSize) == kNvmlSuccess) {
    gpu.name = text.data();
  }
  if (REDLINE_NVML(nvml, nvmlDeviceGetUUID, device, text.data(), kTextSize) == kNvmlSuccess) {
    gpu.uuid = text.data();
  }
  nvmlMemory_t memory{};
  if (REDLINE_NVML(nvml, nvmlDeviceGetMemoryInfo, device, &memory) == kNvmlSuccess) {
    gpu.memory_bytes = static_cast<int64_t>(memory.total);
    gpu.free_bytes = static_cast<int64_t>(memory.free);
  }
  (void)REDLINE_NVML(nvml, nvmlDeviceGetCudaComputeCapability, device, &gpu.compute_major,
                     &gpu.compute_minor);
  read_mig(nvml, device, gpu);
  gpu.pcie = pcie_of(nvml, device);
  return gpu;
}

Driver read_driver(const Nvml& nvml) {
  Driver driver;
  Text text{};
  if (REDLINE_NVML(nvml, nvmlSystemGetDriverVersion, text.data(), kTextSize) == kNvmlSuccess) {
    driver.version = text.data();
  }
  int number = 0;
  if (REDLINE_NVML(nvml, nvmlSystemGetCudaDriverVersion_v2, &number) == kNvmlSuccess) {
    driver.cuda = CudaVersion::from_number(number);
  }
  unsigned int count = 0;
  if (REDLINE_NVML(nvml, nvmlDeviceGetCount_v2, &count) != kNvmlSuccess) return driver;
  for (unsigned int index = 0; index < count; ++index) {
    nvmlDevice_t device = nullptr;
    if (REDLINE_NVML(nvml, nvmlDeviceGetHandleByIndex_v2, index, &device) == kNvmlSuccess) {
      driver.gpus.push_back(read_gpu(nvml, device));
    }
  }
  return driver;
}

}  // namespace

std::optional<Driver> probe_driver(const Machine& machine) {
  const Nvml nvml(machine);
  if (!nvml.loaded()) return std::nullopt;
  if (const int status = REDLINE_NVML(nvml, nvmlInit_v2); status != kNvmlSuccess) {
    Driver driver;
    driver.status = status;
    driver.failure = nvml.error_text(status);
    return driver;
  }
  Driver driver = read_driver(nvml);
  (void)REDLINE_NVML(nvml, nvmlShutdown);
  return driver;
}

std::optional<CudaRuntime> probe_cuda(const Machine& machine) {
  const SharedLibrary library(machine, "libcuda.so.1");
  auto* initialise = library.find<decltype(cuInit)>("cuInit");
  auto* count = library.find<decltype(cuDeviceGetCount)>("cuDeviceGetCount");
  if (initialise == nullptr || count == nullptr) return std::nullopt;
  CudaRuntime cuda;
  cuda.status = initialise(0);
  if (cuda.status == kCudaSuccess) cuda.status = count(&cuda.devices);
  return cuda;
}

}  // namespace redline::doctor
