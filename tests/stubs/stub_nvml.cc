// Stands for libnvidia-ml.so.1 of a machine with NVIDIA H200 GPUs, in tests on machines without
// one.
//
// These variables change the machine (each name begins with REDLINE_STUB_):
//   GPUS, CUDA_VERSION, NVML_STATUS, NVLINKS, PCIE_WIDTH: numbers
//   MIG: how many instances a GPU has; -1: it cannot be split
//   REFUSED, REFUSAL: the GPU of this index is not opened, for this reason (kGpuIsLost)
//   LOST_AFTER: the last GPU falls off the bus after it was asked for its load that often
//   DENIED: the GPUs tell nothing of their state
//   OLD: the GPUs do not count traffic and energy
//   NARROW: the GPUs count traffic in 32 bits
//   NEW: the library has only the newest names of functions that were renamed
//   XID: each event set reports this error once
//   HANG: the first question for the load is never answered
//   USED_FILE: a file that has the MiB in use (-1: not told); HOLDER: the process that uses them
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "machine/nvml/nvml_abi.h"
#include "tests/stubs/stubs.h"

using namespace redline::nvml;
using redline::stub::number;

namespace {

std::atomic<int> g_load_questions = 0;
std::atomic<int> g_questions_to_last = 0;

nvmlDevice_t device_at(unsigned int index) {
  return reinterpret_cast<nvmlDevice_t>(static_cast<uintptr_t>(index) + 1);
}

unsigned int index_of(nvmlDevice_t device) {
  return static_cast<unsigned int>(reinterpret_cast<uintptr_t>(device) - 1);
}

bool is_last(nvmlDevice_t device) {
  return static_cast<int>(index_of(device)) + 1 == number("REDLINE_STUB_GPUS", 1);
}

int state_of(nvmlDevice_t device) {
  const int lost_after = number("REDLINE_STUB_LOST_AFTER", -1);
  if (is_last(device) && lost_after >= 0 && g_questions_to_last > lost_after) return kGpuIsLost;
  return number("REDLINE_STUB_DENIED", 0) != 0 ? kNoPermission : kSuccess;
}

int tell(nvmlDevice_t device, unsigned int* place, unsigned int value) {
  const int status = state_of(device);
  if (status == kSuccess) *place = value;
  return status;
}

constexpr unsigned int kMilliwatts = 512'300;
constexpr unsigned int kFirstPart = 64;  // handles from here on are parts of GPUs

unsigned long long used_mib() {
  unsigned long long mib = 703;
  const char* path = std::getenv("REDLINE_STUB_USED_FILE");
  if (path == nullptr) return mib;
  if (FILE* file = std::fopen(path, "r")) {
    if (std::fscanf(file, "%llu", &mib) != 1) mib = 703;
    std::fclose(file);
  }
  return mib;
}

unsigned long long now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<unsigned long long>(now.tv_sec) * 1'000'000'000 +
         static_cast<unsigned long long>(now.tv_nsec);
}

}  // namespace

int nvmlInit_v2() { return number("REDLINE_STUB_NVML_STATUS", kSuccess); }

int nvmlShutdown() { return kSuccess; }

const char* nvmlErrorString(int status) {
  if (status == kGpuIsLost) return "GPU is lost";
  return status == kLibraryMismatch ? "Driver/library version mismatch" : "Driver Not Loaded";
}

int nvmlSystemGetDriverVersion(char* version, unsigned int length) {
  std::snprintf(version, length, "580.65.06");
  return kSuccess;
}

int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = number("REDLINE_STUB_CUDA_VERSION", 13000);
  return kSuccess;
}

int nvmlDeviceGetCount_v2(unsigned int* count) {
  *count = static_cast<unsigned int>(number("REDLINE_STUB_GPUS", 1));
  return kSuccess;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t* device) {
  *device = device_at(index);
  const bool is_refused = static_cast<int>(index) == number("REDLINE_STUB_REFUSED", -1);
  return is_refused ? number("REDLINE_STUB_REFUSAL", kGpuIsLost) : kSuccess;
}

int nvmlDeviceGetName(nvmlDevice_t, char* name, unsigned int length) {
  std::snprintf(name, length, "NVIDIA H200");
  return kSuccess;
}

int nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned int length) {
  std::snprintf(uuid, length, "GPU-%zu", reinterpret_cast<size_t>(device));
  return kSuccess;
}

int nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  const unsigned long long used = index_of(device) >= kFirstPart ? 51 : used_mib();
  if (used == ~0ULL) return kNoPermission;
  memory->total = 143771ULL << 20;
  memory->used = used << 20;
  memory->free = memory->total - memory->used;
  return kSuccess;
}

int nvmlDeviceGetCudaComputeCapability(nvmlDevice_t, int* major, int* minor) {
  *major = 9;
  *minor = 0;
  return kSuccess;
}

int nvmlDeviceGetMigMode(nvmlDevice_t, unsigned int* current, unsigned int* pending) {
  const int instances = number("REDLINE_STUB_MIG", -1);
  if (instances < 0) return kNotSupported;
  *current = *pending = 1;
  return kSuccess;
}

int nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t, unsigned int* count) {
  *count = 7;
  return kSuccess;
}

int nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t, unsigned int index, nvmlDevice_t* instance) {
  if (static_cast<int>(index) >= number("REDLINE_STUB_MIG", 0)) return kNotFound;
  *instance = device_at(index);
  return kSuccess;
}

int nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t, unsigned int* generation) {
  *generation = 5;
  return kSuccess;
}

int nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t, unsigned int* width) {
  *width = static_cast<unsigned int>(number("REDLINE_STUB_PCIE_WIDTH", 16));
  return kSuccess;
}

int nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t, unsigned int* width) {
  *width = 16;
  return kSuccess;
}

int nvmlDeviceGetNvLinkState(nvmlDevice_t, unsigned int link, int* is_up) {
  *is_up = 1;
  return static_cast<int>(link) < number("REDLINE_STUB_NVLINKS", 0) ? kSuccess : kNotSupported;
}

/// Two GPUs share a socket.
int nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t first, nvmlDevice_t second, int* level) {
  *level = index_of(first) / 2 == index_of(second) / 2 ? kOneSwitch : kManyNodes;
  return kSuccess;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, nvmlDevice_t* device) {
  unsigned int index = 0;
  if (std::sscanf(bus, "0000:%x:00.0", &index) != 1) return kNotFound;
  *device = device_at(index);
  return kSuccess;
}

int nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  unsigned int number = 0;
  if (std::sscanf(uuid, "MIG-%2x0", &number) == 1) {
    *device = device_at(kFirstPart + number / 16);
    return kSuccess;
  }
  if (std::sscanf(uuid, "GPU-%u", &number) != 1 || number == 0) return kNotFound;
  *device = device_at(number - 1);
  return kSuccess;
}

int nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t* utilization) {
  if (number("REDLINE_STUB_HANG", 0) != 0) pause();
  ++g_load_questions;
  if (is_last(device)) ++g_questions_to_last;
  utilization->gpu = 97 - 10 * index_of(device);
  utilization->memory = 41;
  const int status = state_of(device);
  return status == kSuccess && number("REDLINE_STUB_MIG", -1) > 0 ? kNotSupported : status;
}

/// How often any GPU was asked for its load.
extern "C" int redline_stub_load_questions() { return g_load_questions; }

int nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int* milliwatts) {
  return tell(device, milliwatts, kMilliwatts);
}

int nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long* millijoules) {
  *millijoules =
      static_cast<unsigned long long>(static_cast<double>(now_ns()) * 1e-9 * kMilliwatts);
  return number("REDLINE_STUB_OLD", 0) != 0 ? kNotSupported : state_of(device);
}

int nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int* count,
                                            nvmlProcessInfo_t* infos) {
  const int holder = number("REDLINE_STUB_HOLDER", 0);
  const unsigned int room = *count;
  *count = holder > 0 ? 1 : 0;
  if (room < *count) return kInsufficientSize;
  if (holder > 0) infos[0] = {static_cast<unsigned int>(holder), used_mib() << 20, ~0U, ~0U};
  return state_of(device);
}

int nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned int* milliwatts) {
  return tell(device, milliwatts, 700'000);
}

int nvmlDeviceGetClockInfo(nvmlDevice_t device, int clock, unsigned int* mhz) {
  return tell(device, mhz, clock == kMemoryClock ? 3201 : 1980);
}

int nvmlDeviceGetTemperature(nvmlDevice_t device, int, unsigned int* celsius) {
  return tell(device, celsius, 64);
}

int nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long* reasons) {
  *reasons = kPowerCap | kSoftwareThermal;
  return number("REDLINE_STUB_NEW", 0) != 0 ? kFunctionNotFound : state_of(device);
}

int nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long* reasons) {
  *reasons = kPowerCap | kSoftwareThermal;
  return number("REDLINE_STUB_OLD", 0) != 0 ? kFunctionNotFound : state_of(device);
}

int nvmlDeviceGetPcieThroughput(nvmlDevice_t device, int counter, unsigned int* kb_per_second) {
  return tell(device, kb_per_second, counter == kPcieReceived ? 3'000'000 : 1'000'000);
}

/// Counters grow by 12 and 2 bytes a nanosecond for PCIe, and by 102.4 in each direction for
/// NVLink.
int nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t* values) {
  const bool is_old = number("REDLINE_STUB_OLD", 0) != 0;
  for (int i = 0; i < count; ++i) {
    values[i].nvmlReturn = is_old ? kNotSupported : kSuccess;
    values[i].valueType = number("REDLINE_STUB_NARROW", 0) != 0 ? kUnsignedInt : kUnsignedLongLong;
    values[i].value.ullVal = values[i].fieldId == kPcieReceivedField ? now_ns() * 12
                             : values[i].fieldId == kPcieSentField   ? now_ns() * 2
                                                                     : now_ns() / 10;
  }
  return state_of(device);
}

int nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, int error, int, unsigned long long* count) {
  *count = error == kCorrected ? 3 : 0;
  return state_of(device);
}

// A set is whether it has told the error.
int nvmlEventSetCreate(nvmlEventSet_t* set) {
  *set = reinterpret_cast<nvmlEventSet_t>(new std::atomic<bool>(false));
  return kSuccess;
}

int nvmlEventSetFree(nvmlEventSet_t set) {
  delete reinterpret_cast<std::atomic<bool>*>(set);
  return kSuccess;
}

int nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long, nvmlEventSet_t) {
  return state_of(device);
}

int nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t* data, unsigned int) {
  const int xid = number("REDLINE_STUB_XID", 0);
  if (xid == 0 || reinterpret_cast<std::atomic<bool>*>(set)->exchange(true)) return kTimeout;
  *data = {device_at(0), kXidEvent, static_cast<unsigned long long>(xid), 0, 0};
  return kSuccess;
}
