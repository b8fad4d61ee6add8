// libnvidia-ml.so.1 of a machine with NVIDIA H200 GPUs, for tests on machines without one.
//
// REDLINE_STUB_GPUS, _CUDA_VERSION, _NVML_STATUS, _MIG (instances; -1: cannot be split) and
// _PCIE_WIDTH change the machine.
#include <cstdint>
#include <cstdio>

#include "cli/doctor/nvidia.h"
#include "tests/stubs/stub_number.h"

using redline::doctor::kNvmlSuccess;
using redline::stub::number;

namespace {

constexpr int kNotSupported = 3;
constexpr int kNotFound = 6;

nvmlDevice_t device_at(unsigned int index) {
  return reinterpret_cast<nvmlDevice_t>(static_cast<uintptr_t>(index) + 1);
}

}  // namespace

int nvmlInit_v2() { return number("REDLINE_STUB_NVML_STATUS", kNvmlSuccess); }

int nvmlShutdown() { return kNvmlSuccess; }

const char* nvmlErrorString(int status) {
  return status == redline::doctor::kNvmlLibraryMismatch ? "Driver/library version mismatch"
                                                         : "Driver Not Loaded";
}

int nvmlSystemGetDriverVersion(char* version, unsigned int length) {
  std::snprintf(version, length, "580.65.06");
  return kNvmlSuccess;
}

int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = number("REDLINE_STUB_CUDA_VERSION", 13000);
  return kNvmlSuccess;
}

int nvmlDeviceGetCount_v2(unsigned int* count) {
  *count = static_cast<unsigned int>(number("REDLINE_STUB_GPUS", 1));
  return kNvmlSuccess;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t* device) {
  *device = device_at(index);
  return kNvmlSuccess;
}

int nvmlDeviceGetName(nvmlDevice_t, char* name, unsigned int length) {
  std::snprintf(name, length, "NVIDIA H200");
  return kNvmlSuccess;
}

int nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned int length) {
  std::snprintf(uuid, length, "GPU-%zu", reinterpret_cast<size_t>(device));
  return kNvmlSuccess;
}

int nvmlDeviceGetMemoryInfo(nvmlDevice_t, nvmlMemory_t* memory) {
  memory->total = 143771ULL << 20;
  memory->used = 703ULL << 20;
  memory->free = memory->total - memory->used;
  return kNvmlSuccess;
}

int nvmlDeviceGetCudaComputeCapability(nvmlDevice_t, int* major, int* minor) {
  *major = 9;
  *minor = 0;
  return kNvmlSuccess;
}

int nvmlDeviceGetMigMode(nvmlDevice_t, unsigned int* current, unsigned int* pending) {
  const int instances = number("REDLINE_STUB_MIG", -1);
  if (instances < 0) return kNotSupported;
  *current = *pending = 1;
  return kNvmlSuccess;
}

int nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t, unsigned int* count) {
  *count = 7;
  return kNvmlSuccess;
}

int nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t, unsigned int index, nvmlDevice_t* instance) {
  if (static_cast<int>(index) >= number("REDLINE_STUB_MIG", 0)) return kNotFound;
  *instance = device_at(index);
  return kNvmlSuccess;
}

int nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t, unsigned int* generation) {
  *generation = 5;
  return kNvmlSuccess;
}

int nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t, unsigned int* width) {
  *width = static_cast<unsigned int>(number("REDLINE_STUB_PCIE_WIDTH", 16));
  return kNvmlSuccess;
}

int nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t, unsigned int* width) {
  *width = 16;
  return kNvmlSuccess;
}
