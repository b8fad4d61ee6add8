// The few declarations of the CUDA driver API that the doctor calls; NVML's stand in nvml_abi.h.
//
// Written from its public documentation (its ABI is stable), so that the doctor builds and runs
// where neither the toolkit nor the driver is installed. The stub library of the tests includes
// this file too.
#pragma once

#include "machine/nvml/nvml_abi.h"

extern "C" {

int cuInit(unsigned int flags);
int cuDeviceGetCount(int* count);

}  // extern "C"

namespace redline::doctor {

// CUresult
constexpr int kCudaSuccess = 0;
constexpr int kCudaNoDevice = 100;
constexpr int kCudaSystemNotReady = 802;
constexpr int kCudaDriverMismatch = 803;

}  // namespace redline::doctor
