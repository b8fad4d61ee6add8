#include "profiler/cupti/device_table.h"

#include <dlfcn.h>

#include <array>
#include <atomic>

#include "base/json_values.h"
#include "base/text_search.h"
#include "profiler/source/gpu_work.h"

namespace redline::cupti {
namespace {

constexpr int kCudaSuccess = 0;
using Context = void*;

std::atomic<bool> g_cuda_starts = false;

// CUdevice_attribute
constexpr std::pair<int, int DeviceProperties::*> kAttributes[] = {
    {1, &DeviceProperties::max_threads_per_block},
    {8, &DeviceProperties::shared_memory_per_block},
    {10, &DeviceProperties::warp_size},
    {12, &DeviceProperties::registers_per_block},
    {16, &DeviceProperties::sms},
    {39, &DeviceProperties::max_threads_per_sm},
    {75, &DeviceProperties::major},
    {76, &DeviceProperties::minor},
    {81, &DeviceProperties::shared_memory_per_sm},
    {82, &DeviceProperties::registers_per_sm},
    {97, &DeviceProperties::shared_memory_per_block_optin},
    {106, &DeviceProperties::max_blocks_per_sm},
    {111, &DeviceProperties::reserved_shared_memory},
};

/// A function of the CUDA driver; nullptr if this process has not loaded the driver.
template <typename Function>
Function* driver_function(const char* name) {
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

template <typename... Arguments>
bool call(const char* name, Arguments... arguments) {
  auto* function = driver_function<int(Arguments...)>(name);
  return function != nullptr && function(arguments...) == kCudaSuccess;
}

std::optional<DeviceProperties> ask_driver(uint32_t id) {
  DeviceProperties device;
  device.id = id;
  int handle = 0;
  if (!call("cuDeviceGet", &handle, static_cast<int>(id))) return std::nullopt;
  char name[256] = "";
  if (call("cuDeviceGetName", &name[0], static_cast<int>(sizeof(name)), handle)) device.name = name;
  size_t bytes = 0;
  if (call("cuDeviceTotalMem_v2", &bytes, handle)) device.total_memory = bytes;
  for (const auto& [attribute, field] : kAttributes) {
    // An attribute that an older driver does not know stays 0.
    static_cast<void>(call("cuDeviceGetAttribute", &(device.*field), attribute, handle));
  }
  return device;
}

/// "GPU-8f3a…", as nvidia-smi writes it, in lower case. A part of a GPU (MIG) has an id of its own.
/// Empty if the driver does not tell.
std::string uuid_of(uint32_t id) {
  std::array<unsigned char, 16> bytes{};
  if (!call("cuDeviceGetUuid_v2", bytes.data(), static_cast<int>(id))) return "";
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text = "GPU";
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[bytes[i] / 16];
    text += kDigits[bytes[i] % 16];
  }
  return text;
}

bool has_context(uint32_t id) {
  unsigned flags = 0;
  int is_active = 0;
  return call("cuDevicePrimaryCtxGetState", static_cast<int>(id), &flags, &is_active) &&
         is_active != 0;
}

/// The last two keys are our own: Kineto does not say which GPU of the machine it is.
nlohmann::ordered_json to_kineto(const DeviceProperties& device) {
  return {{"id", device.id},
          {"name", device.name},
          {"totalGlobalMem", device.total_memory},
          {"computeMajor", device.major},
          {"computeMinor", device.minor},
          {"maxThreadsPerBlock", device.max_threads_per_block},
          {"maxThreadsPerMultiprocessor", device.max_threads_per_sm},
          {"regsPerBlock", device.registers_per_block},
          {"warpSize", device.warp_size},
          {"sharedMemPerBlock", device.shared_memory_per_block},
          {"numSms", device.sms},
          {"regsPerMultiprocessor", device.registers_per_sm},
          {"sharedMemPerBlockOptin", device.shared_memory_per_block_optin},
          {"sharedMemPerMultiprocessor", device.shared_memory_per_sm},
          {"uuid", uuid_of(device.id)},
          {"hasContext", has_context(device.id)}};
}

}  // namespace

const DeviceProperties* DeviceTable::find(uint32_t device) {
  if (const auto known = known_.find(device); known != known_.end()) return &known->second;
  const auto asked = ask_driver(device);
  return asked ? &known_.emplace(device, *asked).first->second : nullptr;
}

uint32_t DeviceTable::count() {
  int count = 0;
  return call("cuDeviceGetCount", &count) && count > 0 ? static_cast<uint32_t>(count) : 0;
}

std::string DeviceTable::to_json() {
  auto list = nlohmann::ordered_json::array();
  const uint32_t devices = count();
  for (uint32_t id = 0; id < devices; ++id) {
    if (const DeviceProperties* device = find(id)) list.push_back(to_kineto(*device));
  }
  return json_text(list);
}

std::optional<int> cuda_driver_version() {
  int version = 0;
  if (!call("cuDriverGetVersion", &version)) return std::nullopt;
  return version;
}

std::optional<int> cuda_runtime_version() {
  auto* function = reinterpret_cast<int (*)(int*)>(dlsym(RTLD_DEFAULT, "cudaRuntimeGetVersion"));
  int version = 0;
  if (function == nullptr || function(&version) != kCudaSuccess) return std::nullopt;
  return version;
}

void* context_of_stream(void* stream) {
  Context context = nullptr;
  return call("cuStreamGetCtx", stream, &context) ? context : nullptr;
}

bool uses_cuda() {
  int count = 0;
  return g_cuda_starts || call("cuDeviceGetCount", &count);  // an error before cuInit()
}

}  // namespace redline::cupti

namespace redline::profiler {

void see_cuda_start() noexcept { cupti::g_cuda_starts = true; }

std::vector<UsedGpu> gpus_in_use() {
  std::vector<UsedGpu> used;
  int count = 0;
  if (!cupti::call("cuDeviceGetCount", &count)) return used;
  for (int device = 0; device < count; ++device) {
    if (!cupti::has_context(static_cast<uint32_t>(device))) continue;
    char bus[32] = "";
    static_cast<void>(
        cupti::call("cuDeviceGetPCIBusId", &bus[0], static_cast<int>(sizeof(bus)), device));
    char name[256] = "";
    static_cast<void>(
        cupti::call("cuDeviceGetName", &name[0], static_cast<int>(sizeof(name)), device));
    std::string part;
    if (contains(name, " MIG ")) {
      part = cupti::uuid_of(static_cast<uint32_t>(device)).replace(0, 3, "MIG");
    }
    used.push_back({device, bus, part});
  }
  return used;
}

}  // namespace redline::profiler
