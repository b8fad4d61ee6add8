#include "profiler/source/counters.h"

#include <optional>

#include "profiler/source/source.h"

namespace redline::profiler {
namespace {

template <typename Number>
void add(std::vector<CounterSample>& samples, const std::string& track, const char* unit,
         const std::optional<Number>& value, double scale = 1) {
  if (value) samples.push_back({track, unit, scale * static_cast<double>(*value)});
}

void add_throttle(std::vector<CounterSample>& samples, const std::string& gpu,
                  const nvml::GpuReading& before, const nvml::GpuReading& now) {
  if (!now.throttle_reasons) return;
  for (const nvml::ThrottleReason& reason : nvml::kThrottleReasons) {
    const bool was = (before.throttle_reasons.value_or(0) & reason.bits) != 0;
    const bool is = (*now.throttle_reasons & reason.bits) != 0;
    if (was || is) samples.push_back({gpu + " throttled", reason.name, is ? 1.0 : 0.0});
  }
}

}  // namespace

std::vector<CounterSample> gpu_counters(int device, const nvml::GpuReading& before,
                                        const nvml::GpuReading& now) {
  constexpr double kMib = 1.0 / (1 << 20);
  std::vector<CounterSample> samples;
  const std::string gpu = "GPU " + std::to_string(device);
  add(samples, gpu, "busy %", now.busy, 100);
  add(samples, gpu + " memory bus", "busy %", now.memory_busy, 100);
  add(samples, gpu + " memory", "MiB", now.memory_used_bytes, kMib);
  add(samples, gpu + " power", "W", now.power_w);
  add(samples, gpu + " SM clock", "MHz", now.sm_clock_mhz);
  add(samples, gpu + " memory clock", "MHz", now.memory_clock_mhz);
  add(samples, gpu + " temperature", "°C", now.temperature_c);
  const nvml::GpuTraffic traffic = nvml::traffic_between(before, now);
  add(samples, gpu + " PCIe received", "MB/s", traffic.pcie_received, 1e-6);
  add(samples, gpu + " PCIe sent", "MB/s", traffic.pcie_sent, 1e-6);
  add(samples, gpu + " NVLink received", "MB/s", traffic.nvlink_received, 1e-6);
  add(samples, gpu + " NVLink sent", "MB/s", traffic.nvlink_sent, 1e-6);
  add_throttle(samples, gpu, before, now);
  const std::string errors = gpu + " ECC errors";
  if (now.ecc_corrected.value_or(0) > 0) add(samples, errors, "corrected", now.ecc_corrected);
  if (now.ecc_uncorrected.value_or(0) > 0) add(samples, errors, "uncorrected", now.ecc_uncorrected);
  return samples;
}

Record record_of(const CounterSample& sample, int64_t time_ns) {
  Record record;
  record.kind = RecordKind::kCounter;
  record.begin_ns = time_ns;
  record.name = intern_name(sample.track);
  record.of = CounterFields{.value = sample.value, .series = intern_name(sample.unit)};
  return record;
}

void submit_samples(const std::vector<CounterSample>& samples, int64_t time_ns) {
  for (const CounterSample& sample : samples) submit(record_of(sample, time_ns));
}

}  // namespace redline::profiler
