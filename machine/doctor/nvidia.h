// The functions of the CUDA driver API that the doctor calls; those of NVML are in nvml_abi.h.
//
// They are declared from the public documentation (the ABI is stable), so that the doctor builds
// and runs on machines without toolkit and driver. The stub library of the tests includes this
// file, too.
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
