// libcuda.so.1 of the same machine as stub_nvml.cc's. REDLINE_STUB_CUDA_STATUS and
// REDLINE_STUB_VISIBLE change what cuInit and cuDeviceGetCount say; add_device() makes other GPUs.
#include "tests/stubs/stub_cuda.h"

#include <cstdio>
#include <map>
#include <vector>

#include "cli/doctor/nvidia.h"
#include "tests/stubs/stub_number.h"

int cuInit(unsigned int) {
  return redline::stub::number("REDLINE_STUB_CUDA_STATUS", redline::doctor::kCudaSuccess);
}

namespace redline::stub {
namespace {

std::vector<Device>& devices() {
  static auto* const list = new std::vector<Device>;
  return *list;
}

}  // namespace

void add_device(const Device& device) { devices().push_back(device); }
void clear_devices() { devices().clear(); }

}  // namespace redline::stub

using redline::stub::devices;

int cuDeviceGetCount(int* count) {
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
  std::snprintf(name, static_cast<size_t>(size), "%s",
                devices().at(static_cast<size_t>(device)).name.c_str());
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

int cuDriverGetVersion(int* version) {
  *version = redline::stub::number("REDLINE_STUB_CUDA_VERSION", 13000);
  return 0;
}

}  // extern "C"
