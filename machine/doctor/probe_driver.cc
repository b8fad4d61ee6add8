#include <dlfcn.h>

#include "machine/doctor/nvidia.h"
#include "machine/doctor/probe.h"
#include "machine/nvml/nvml_library.h"

namespace redline::doctor {

namespace {

std::optional<Pcie> pcie_of(const nvml::Library& library, nvmlDevice_t device) {
  unsigned int generation = 0;
  unsigned int width = 0;
  unsigned int max_width = 0;
  if (REDLINE_NVML(library, nvmlDeviceGetMaxPcieLinkGeneration, device, &generation) !=
          nvml::kSuccess ||
      REDLINE_NVML(library, nvmlDeviceGetCurrPcieLinkWidth, device, &width) != nvml::kSuccess ||
      REDLINE_NVML(library, nvmlDeviceGetMaxPcieLinkWidth, device, &max_width) != nvml::kSuccess) {
    return std::nullopt;
  }
  return Pcie{static_cast<int>(generation), static_cast<int>(width), static_cast<int>(max_width)};
}

void read_mig(const nvml::Library& library, nvmlDevice_t device, GpuFacts& gpu) {
  unsigned int current = 0;
  unsigned int pending = 0;
  if (REDLINE_NVML(library, nvmlDeviceGetMigMode, device, &current, &pending) != nvml::kSuccess)
    return;
  gpu.mig = current != 0;
  unsigned int most = 0;
  if (!*gpu.mig || REDLINE_NVML(library, nvmlDeviceGetMaxMigDeviceCount, device, &most)) return;
  for (unsigned int place = 0; place < most; ++place) {
    nvmlDevice_t instance = nullptr;
    if (REDLINE_NVML(library, nvmlDeviceGetMigDeviceHandleByIndex, device, place, &instance) ==
        nvml::kSuccess) {
      ++gpu.mig_instances;
    }
  }
}

std::optional<int> nvlinks_of(const nvml::Library& library, nvmlDevice_t device) {
  std::optional<int> links;
  for (unsigned int link = 0; link < nvml::kMostNvlinks; ++link) {
    int is_up = 0;
    if (REDLINE_NVML(library, nvmlDeviceGetNvLinkState, device, link, &is_up) != nvml::kSuccess) {
      break;
    }
    links = links.value_or(0) + (is_up != 0 ? 1 : 0);
  }
  return links;
}

std::vector<GpuPair> pairs_of(const nvml::Library& library,
                              const std::vector<nvmlDevice_t>& devices,
                              const std::vector<GpuFacts>& gpus) {
  std::vector<GpuPair> pairs;
  for (size_t first = 0; first < devices.size(); ++first) {
    for (size_t second = first + 1; second < devices.size(); ++second) {
      int level = 0;
      if (REDLINE_NVML(library, nvmlDeviceGetTopologyCommonAncestor, devices[first],
                       devices[second], &level) == nvml::kSuccess) {
        pairs.push_back({gpus[first].index, gpus[second].index, level});
      }
    }
  }
  return pairs;
}

GpuFacts read_gpu(const nvml::Library& library, nvmlDevice_t device, int index) {
  GpuFacts gpu;
  gpu.index = index;
  gpu.name = nvml::device_name(library, device);
  gpu.uuid = nvml::device_uuid(library, device);
  nvmlMemory_t memory{};
  if (REDLINE_NVML(library, nvmlDeviceGetMemoryInfo, device, &memory) == nvml::kSuccess) {
    gpu.memory_bytes = static_cast<int64_t>(memory.total);
    gpu.free_bytes = static_cast<int64_t>(memory.free);
  }
  (void)REDLINE_NVML(library, nvmlDeviceGetCudaComputeCapability, device, &gpu.compute_major,
                     &gpu.compute_minor);
  read_mig(library, device, gpu);
  gpu.pcie = pcie_of(library, device);
  gpu.nvlinks = nvlinks_of(library, device);
  return gpu;
}

Driver read_driver(const nvml::Library& library) {
  Driver driver;
  driver.version = nvml::driver_version(library);
  int number = 0;
  if (REDLINE_NVML(library, nvmlSystemGetCudaDriverVersion_v2, &number) == nvml::kSuccess) {
    driver.cuda = CudaVersion::from_number(number);
  }
  unsigned int count = 0;
  if (REDLINE_NVML(library, nvmlDeviceGetCount_v2, &count) != nvml::kSuccess) return driver;
  std::vector<nvmlDevice_t> devices;
  for (unsigned int index = 0; index < count; ++index) {
    nvmlDevice_t device = nullptr;
    const int status = REDLINE_NVML(library, nvmlDeviceGetHandleByIndex_v2, index, &device);
    const int number = static_cast<int>(index);
    if (status == nvml::kSuccess) {
      driver.gpus.push_back(read_gpu(library, device, number));
      devices.push_back(device);
    } else if (status != nvml::kNoPermission) {  // as for GPUs that are kept from a container
      driver.unusable.push_back({number, library.error_text(status), status});
    }
  }
  driver.pairs = pairs_of(library, devices, driver.gpus);
  return driver;
}

}  // namespace

std::optional<Driver> probe_driver(const Sources& sources) {
  const nvml::Library library((sources.libraries / "libnvidia-ml.so.1").string());
  if (!library.loaded()) return std::nullopt;
  if (const int status = REDLINE_NVML(library, nvmlInit_v2); status != nvml::kSuccess) {
    Driver driver;
    driver.status = status;
    driver.failure = library.error_text(status);
    return driver;
  }
  Driver driver = read_driver(library);
  (void)REDLINE_NVML(library, nvmlShutdown);
  return driver;
}

std::optional<CudaRuntime> probe_cuda(const Sources& sources) {
  // Never unloaded, because it starts threads and registers exit handlers that would crash then.
  void* const library = dlopen((sources.libraries / "libcuda.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::nullopt;
  auto* initialise = reinterpret_cast<decltype(&cuInit)>(dlsym(library, "cuInit"));
  auto* count = reinterpret_cast<decltype(&cuDeviceGetCount)>(dlsym(library, "cuDeviceGetCount"));
  if (initialise == nullptr || count == nullptr) return std::nullopt;
  CudaRuntime cuda;
  cuda.status = initialise(0);
  if (cuda.status == kCudaSuccess) cuda.status = count(&cuda.devices);
  return cuda;
}

}  // namespace redline::doctor
