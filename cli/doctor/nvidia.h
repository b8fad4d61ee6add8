// The few declarations of NVML and of the CUDA driver API that the doctor calls.
//
// Written from the public documentation of the two libraries (their ABI is stable), so that the
// doctor builds and runs where neither the toolkit nor the driver is installed. The stub libraries
// of the tests include this file too.
#pragma once

extern "C" {

using nvmlDevice_t = struct nvmlDevice_st*;

struct nvmlMemory_t {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

int nvmlInit_v2();
int nvmlShutdown();
const char* nvmlErrorString(int status);
int nvmlSystemGetDriverVersion(char* version, unsigned int length);
int nvmlSystemGetCudaDriverVersion_v2(int* version);
int nvmlDeviceGetCount_v2(unsigned int* count);
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t* device);
int nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned int length);
int nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned int length);
int nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory);
int nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int* major, int* minor);
int nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int* current, unsigned int* pending);
int nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int* count);
int nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index,
                                        nvmlDevice_t* instance);
int nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t device, unsigned int* generation);
int nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t device, unsigned int* width);
int nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t device, unsigned int* width);

int cuInit(unsigned int flags);
int cuDeviceGetCount(int* count);

}  // extern "C"

namespace redline::doctor {

// nvmlReturn_t
constexpr int kNvmlSuccess = 0;
constexpr int kNvmlDriverNotLoaded = 9;
constexpr int kNvmlLibraryMismatch = 18;

// CUresult
constexpr int kCudaSuccess = 0;
constexpr int kCudaNoDevice = 100;
constexpr int kCudaSystemNotReady = 802;
constexpr int kCudaDriverMismatch = 803;

}  // namespace redline::doctor
