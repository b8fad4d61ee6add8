// libcuda.so.1 of the same machine as stub_nvml.cc's. REDLINE_STUB_CUDA_STATUS and
// REDLINE_STUB_VISIBLE change what cuInit and cuDeviceGetCount say.
#include "cli/doctor/nvidia.h"
#include "tests/stubs/stub_number.h"

int cuInit(unsigned int) {
  return redline::stub::number("REDLINE_STUB_CUDA_STATUS", redline::doctor::kCudaSuccess);
}

int cuDeviceGetCount(int* count) {
  *count = redline::stub::number("REDLINE_STUB_VISIBLE", 1);
  return redline::doctor::kCudaSuccess;
}
