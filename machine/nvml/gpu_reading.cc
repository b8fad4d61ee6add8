#include "machine/nvml/gpu_reading.h"

#include "base/clock.h"

namespace redline::nvml {
namespace {

enum Figure : unsigned {
  kUtilization,
  kMemory,
  kPower,
  kPowerLimit,
  kSmMhz,
  kMemoryMhz,
  kTemperature,
  kThrottle,
  kFields,
  kPcieReceivedRate,
  kPcieSentRate,
  kEccCorrected,
  kEccUncorrected,
};

bool is_counter(const nvmlFieldValue_t& field) {
  return field.nvmlReturn == kSuccess &&
         (field.valueType == kUnsignedLong || field.valueType == kUnsignedLongLong);
}

/// Whether the counter has only 32 bits, which would overflow several times between two readings.
bool is_narrow_counter(const nvmlFieldValue_t& field) {
  return field.nvmlReturn == kSuccess && field.valueType == kUnsignedInt;
}

}  // namespace

std::vector<std::string> throttle_names(uint64_t reasons) {
  std::vector<std::string> names;
  for (const ThrottleReason& reason : kThrottleReasons) {
    if ((reasons & reason.bits) != 0) names.emplace_back(reason.name);
  }
  return names;
}

GpuTraffic traffic_between(const GpuReading& before, const GpuReading& now) {
  const double seconds = 1e-9 * static_cast<double>(now.time_ns - before.time_ns);
  GpuTraffic traffic = {
      .pcie_received = rate(before.pcie_received_bytes, now.pcie_received_bytes, seconds),
      .pcie_sent = rate(before.pcie_sent_bytes, now.pcie_sent_bytes, seconds),
      .nvlink_received = rate(before.nvlink_received_bytes, now.nvlink_received_bytes, seconds),
      .nvlink_sent = rate(before.nvlink_sent_bytes, now.nvlink_sent_bytes, seconds),
  };
  if (!traffic.pcie_received) traffic.pcie_received = now.pcie_received_rate;
  if (!traffic.pcie_sent) traffic.pcie_sent = now.pcie_sent_rate;
  return traffic;
}

bool GpuReader::ask(unsigned figure, int status) {
  const uint32_t bit = uint32_t{1} << figure;
  if (status == kSuccess) {
    answered_ |= bit;
    return true;
  }
  if (status == kGpuIsLost) now_.is_lost = true;
  if ((answered_ & bit) != 0) ++now_.failures;
  return false;
}

GpuReading GpuReader::read(bool may_wait) {
  now_ = {};
  now_.time_ns = monotonic_ns();
  read_load();
  // After the GPU is lost we stop, because each further call may take long to fail.
  if (!now_.is_lost) read_state();
  if (!now_.is_lost) read_traffic(may_wait);
  if (!now_.is_lost) read_errors();
  return now_;
}

void GpuReader::read_load() {
  nvmlUtilization_t load = {};
  if (ask(kUtilization, REDLINE_NVML(library_, nvmlDeviceGetUtilizationRates, device_, &load))) {
    now_.busy = load.gpu / 100.0;
    now_.memory_busy = load.memory / 100.0;
  }
  if (now_.is_lost) return;
  nvmlMemory_t memory = {};
  if (ask(kMemory, REDLINE_NVML(library_, nvmlDeviceGetMemoryInfo, device_, &memory))) {
    now_.memory_bytes = static_cast<int64_t>(memory.total);
    now_.memory_used_bytes = static_cast<int64_t>(memory.used);
  }
}

void GpuReader::read_state() {
  unsigned int number = 0;
  if (ask(kPower, REDLINE_NVML(library_, nvmlDeviceGetPowerUsage, device_, &number))) {
    now_.power_w = number / 1000.0;
  }
  if (ask(kPowerLimit, REDLINE_NVML(library_, nvmlDeviceGetEnforcedPowerLimit, device_, &number))) {
    now_.power_limit_w = number / 1000.0;
  }
  if (ask(kSmMhz, REDLINE_NVML(library_, nvmlDeviceGetClockInfo, device_, kSmClock, &number))) {
    now_.sm_clock_mhz = number;
  }
  if (ask(kMemoryMhz,
          REDLINE_NVML(library_, nvmlDeviceGetClockInfo, device_, kMemoryClock, &number))) {
    now_.memory_clock_mhz = number;
  }
  if (ask(kTemperature, REDLINE_NVML(library_, nvmlDeviceGetTemperature, device_, 0, &number))) {
    now_.temperature_c = number;
  }
  unsigned long long reasons = 0;
  int status = REDLINE_NVML(library_, nvmlDeviceGetCurrentClocksEventReasons, device_, &reasons);
  if (status == kFunctionNotFound) {
    status = REDLINE_NVML(library_, nvmlDeviceGetCurrentClocksThrottleReasons, device_, &reasons);
  }
  if (ask(kThrottle, status)) now_.throttle_reasons = reasons;
}

void GpuReader::read_traffic(bool may_wait) {
  constexpr uint64_t kKib = 1024;
  struct Counter {
    unsigned int field;
    unsigned int scope;
    uint64_t bytes;
    std::optional<uint64_t> GpuReading::*total;
  };
  static constexpr Counter kCounters[] = {
      {kPcieReceivedField, 0, 1, &GpuReading::pcie_received_bytes},
      {kPcieSentField, 0, 1, &GpuReading::pcie_sent_bytes},
      {kNvlinkReceivedField, kAllLinks, kKib, &GpuReading::nvlink_received_bytes},
      {kNvlinkSentField, kAllLinks, kKib, &GpuReading::nvlink_sent_bytes},
  };
  constexpr int kCount = std::size(kCounters);
  nvmlFieldValue_t fields[kCount] = {};
  for (int i = 0; i < kCount; ++i) {
    fields[i].fieldId = kCounters[i].field;
    fields[i].scopeId = kCounters[i].scope;
  }
  if (ask(kFields, REDLINE_NVML(library_, nvmlDeviceGetFieldValues, device_, kCount, fields))) {
    for (int i = 0; i < kCount; ++i) {
      now_.narrow_counters += is_narrow_counter(fields[i]) ? 1 : 0;
      if (!is_counter(fields[i])) continue;
      now_.*kCounters[i].total = fields[i].value.ullVal * kCounters[i].bytes;
    }
  }
  if (!may_wait || now_.pcie_received_bytes) return;
  unsigned int kb = 0;
  if (ask(kPcieReceivedRate,
          REDLINE_NVML(library_, nvmlDeviceGetPcieThroughput, device_, kPcieReceived, &kb))) {
    now_.pcie_received_rate = 1e3 * kb;
  }
  if (ask(kPcieSentRate,
          REDLINE_NVML(library_, nvmlDeviceGetPcieThroughput, device_, kPcieSent, &kb))) {
    now_.pcie_sent_rate = 1e3 * kb;
  }
}

void GpuReader::read_errors() {
  unsigned long long count = 0;
  if (ask(kEccCorrected, REDLINE_NVML(library_, nvmlDeviceGetTotalEccErrors, device_, kCorrected,
                                      kVolatile, &count))) {
    now_.ecc_corrected = count;
  }
  if (ask(kEccUncorrected, REDLINE_NVML(library_, nvmlDeviceGetTotalEccErrors, device_,
                                        kUncorrected, kVolatile, &count))) {
    now_.ecc_uncorrected = count;
  }
}

}  // namespace redline::nvml
