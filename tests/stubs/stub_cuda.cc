// Stands for libcuda.so.1, on the same machine as stub_nvml.cc. REDLINE_STUB_CUDA_STATUS and
// REDLINE_STUB_VISIBLE change the answers of cuInit and cuDeviceGetCount, REDLINE_STUB_ACTIVE
// whether the process uses the GPUs. add_device() makes other GPUs.
#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "machine/doctor/nvidia.h"
#include "tests/stubs/stubs.h"

int cuInit(unsigned int) {
  const int status =
      redline::stub::number("REDLINE_STUB_CUDA_STATUS", redline::doctor::kCudaSuccess);
  // Loads the tool only once, as the driver does; the tool may use CUPTI meanwhile.
  static const bool is_first = [] {
    const char* tool = std::getenv("CUDA_INJECTION64_PATH");
    void* library = tool != nullptr ? dlopen(tool, RTLD_LAZY) : nullptr;
    if (library == nullptr) return false;
    auto* entry = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
    return entry != nullptr && entry() == 1;
  }();
  static_cast<void>(is_first);
  return status;
}

namespace redline::stub {
namespace {

std::vector<Device>& devices() {
  static auto* const list = new std::vector<Device>;
  return *list;
}

}  // namespace

std::atomic<bool> g_is_initialized = true;
std::atomic<int> g_synchronizations = 0;

void set_cuda_initialized(bool is_initialized) { g_is_initialized = is_initialized; }
int cuda_synchronizations() { return g_synchronizations; }
void add_device(const Device& device) { devices().push_back(device); }
void clear_devices() { devices().clear(); }

}  // namespace redline::stub

using redline::stub::devices;

int cuDeviceGetCount(int* count) {
  constexpr int kNotInitialized = 3;
  if (!redline::stub::g_is_initialized) return kNotInitialized;
  const int made = static_cast<int>(devices().size());
  *count = made > 0 ? made : redline::stub::number("REDLINE_STUB_VISIBLE", 1);
  return redline::doctor::kCudaSuccess;
}

extern "C" {

constexpr int kInvalidDevice = 101;

int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return static_cast<size_t>(ordinal) < devices().size() ? 0 : kInvalidDevice;
}

int cuDeviceGetName(char* name, int size, int device) {
  const bool is_part = redline::stub::number("REDLINE_STUB_MIG", 0) > 0;
  std::snprintf(
      name, static_cast<size_t>(size), "%s%s",
      devices().empty() ? "NVIDIA H200" : devices().at(static_cast<size_t>(device)).name.c_str(),
      is_part ? " MIG 1g.18gb" : "");
  return 0;
}

int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  *bytes = devices().at(static_cast<size_t>(device)).memory;
  return 0;
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
  const auto& attributes = devices().at(static_cast<size_t>(device)).attributes;
  const auto known = attributes.find(attribute);
  *value = known == attributes.end() ? 0 : known->second;
  return 0;
}

int cuDevicePrimaryCtxGetState(int, unsigned int* flags, int* is_active) {
  *flags = 0;
  *is_active = redline::stub::number("REDLINE_STUB_ACTIVE", 1);
  return 0;
}

int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = reinterpret_cast<void*>(static_cast<uintptr_t>(device) + 1);
  return 0;
}

int cuDevicePrimaryCtxRelease_v2(int) { return 0; }

int cuCtxPushCurrent_v2(void*) { return 0; }

int cuCtxPopCurrent_v2(void** context) {
  *context = nullptr;
  return 0;
}

int cuCtxSynchronize() {
  ++redline::stub::g_synchronizations;
  return 0;
}

int cuDeviceGetPCIBusId(char* bus, int size, int device) {
  std::snprintf(bus, static_cast<size_t>(size), "0000:%02x:00.0", device);
  return 0;
}

int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
  for (int i = 0; i < 16; ++i) uuid[i] = static_cast<unsigned char>(16 * device + i);
  return 0;
}

/// A context is its device's number plus 1. A stream has its context in its upper half.
int cuStreamGetCtx(void* stream, void** context) {
  *context = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(stream) >> 32) + 1);
  return 0;
}

int cuDriverGetVersion(int* version) {
  *version = redline::stub::number("REDLINE_STUB_CUDA_VERSION", 13000);
  return 0;
}

}  // extern "C"
