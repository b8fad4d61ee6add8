// Declarations of the part of NVML that we call. Its ABI is stable.
//
// They are written from its public documentation, so that Redline builds and runs where neither the
// CUDA toolkit nor the driver is installed. The stub library of the tests includes this file, too.
#pragma once

#include <cstddef>

extern "C" {

using nvmlDevice_t = struct nvmlDevice_st*;
using nvmlEventSet_t = struct nvmlEventSet_st*;

struct nvmlMemory_t {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

/// In per cent of the last sample period. The driver chooses how long that is.
struct nvmlUtilization_t {
  unsigned int gpu;
  unsigned int memory;
};

struct nvmlFieldValue_t {
  unsigned int fieldId;
  unsigned int scopeId;
  long long timestamp;
  long long latencyUsec;
  int valueType;
  int nvmlReturn;
  union {
    double dVal;
    unsigned int uiVal;
    unsigned long long ullVal;
  } value;
};

struct nvmlEventData_t {
  nvmlDevice_t device;
  unsigned long long eventType;
  unsigned long long eventData;  ///< the number of an Xid
  unsigned int gpuInstanceId;
  unsigned int computeInstanceId;
};

struct nvmlProcessInfo_t {
  unsigned int pid;
  unsigned long long usedGpuMemory;  ///< bytes; kUnknownMemory if it is not told
  unsigned int gpuInstanceId;
  unsigned int computeInstanceId;
};

int nvmlInit_v2();
int nvmlShutdown();
const char* nvmlErrorString(int status);
int nvmlSystemGetDriverVersion(char* version, unsigned int length);
int nvmlSystemGetCudaDriverVersion_v2(int* version);
int nvmlDeviceGetCount_v2(unsigned int* count);
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t* device);
int nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device);
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, nvmlDevice_t* device);
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

int nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t first, nvmlDevice_t second, int* level);
int nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link, int* is_up);

int nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t* utilization);
int nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int* milliwatts);
/// Gives the energy since the driver was loaded.
int nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long* millijoules);
int nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned int* milliwatts);
int nvmlDeviceGetClockInfo(nvmlDevice_t device, int clock, unsigned int* mhz);
int nvmlDeviceGetTemperature(nvmlDevice_t device, int sensor, unsigned int* celsius);
/// The same as the next function, which is the only one before driver 535 and is gone with CUDA 14.
int nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long* reasons);
int nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long* reasons);
/// The call takes 20 ms, in which it measures.
int nvmlDeviceGetPcieThroughput(nvmlDevice_t device, int counter, unsigned int* kb_per_second);
int nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t* values);
int nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, int error, int counter,
                                unsigned long long* count);
/// On entry `count` is the size of `infos`; on return it is the number of processes.
int nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int* count,
                                            nvmlProcessInfo_t* infos);
int nvmlEventSetCreate(nvmlEventSet_t* set);
int nvmlEventSetFree(nvmlEventSet_t set);
int nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set);
int nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t* data, unsigned int timeout_ms);

}  // extern "C"

static_assert(sizeof(nvmlProcessInfo_t) == 24);
static_assert(sizeof(nvmlFieldValue_t) == 40 && offsetof(nvmlFieldValue_t, value) == 32);
static_assert(sizeof(nvmlEventData_t) == 32);

namespace redline::nvml {

// nvmlReturn_t
constexpr int kSuccess = 0;
constexpr int kNotSupported = 3;
constexpr int kNoPermission = 4;
constexpr int kNotFound = 6;
constexpr int kInsufficientSize = 7;
constexpr int kDriverNotLoaded = 9;
constexpr int kTimeout = 10;
constexpr int kFunctionNotFound = 13;
constexpr int kGpuIsLost = 15;
constexpr int kLibraryMismatch = 18;

constexpr unsigned long long kUnknownMemory = ~0ULL;

// nvmlGpuTopologyLevel_t
constexpr int kOneBoard = 0;
constexpr int kOneSwitch = 10;
constexpr int kManySwitches = 20;
constexpr int kOneHostBridge = 30;
constexpr int kOneNode = 40;
constexpr int kManyNodes = 50;

constexpr unsigned int kMostNvlinks = 36;

// nvmlClockType_t
constexpr int kSmClock = 1;
constexpr int kMemoryClock = 2;

// nvmlPcieUtilCounter_t
constexpr int kPcieSent = 0;
constexpr int kPcieReceived = 1;

// nvmlMemoryErrorType_t, and kVolatile of nvmlEccCounterType_t: errors since the driver was loaded
constexpr int kCorrected = 0;
constexpr int kUncorrected = 1;
constexpr int kVolatile = 0;

// nvmlFieldValue_t::fieldId. With kAllLinks as scope, the values are KiB since the driver was
// loaded
constexpr unsigned int kNvlinkSentField = 138;
constexpr unsigned int kNvlinkReceivedField = 139;
constexpr unsigned int kAllLinks = ~0U;
// The values of these two are in bytes
constexpr unsigned int kPcieSentField = 197;
constexpr unsigned int kPcieReceivedField = 198;

// nvmlValueType_t
constexpr int kUnsignedInt = 1;
constexpr int kUnsignedLong = 2;
constexpr int kUnsignedLongLong = 3;

// nvmlEventType
constexpr unsigned long long kXidEvent = 8;

// nvmlClocksEventReasons
constexpr unsigned long long kPowerCap = 0x4;
constexpr unsigned long long kHardwareSlowdown = 0x8;
constexpr unsigned long long kSyncBoost = 0x10;
constexpr unsigned long long kSoftwareThermal = 0x20;
constexpr unsigned long long kHardwareThermal = 0x40;
constexpr unsigned long long kPowerBrake = 0x80;

}  // namespace redline::nvml
