// Counter tracks of the trace. They look the same whether the figures come from /proc, NVML or
// CUPTI.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine/nvml/gpu_reading.h"
#include "profiler/log/record.h"

namespace redline::profiler {

/// One value of a counter track, e.g. {"CPU 0", "busy %", 87.5}.
struct CounterSample {
  std::string track;
  std::string unit;
  double value = 0;
};

/// Samples of GPU `device`: its state in `now`, and what happened since `before`. Throttling and
/// ECC errors have a track only if there were any.
[[nodiscard]] std::vector<CounterSample> gpu_counters(int device, const nvml::GpuReading& before,
                                                      const nvml::GpuReading& now);

/// Makes a record of a sample, and interns its texts.
[[nodiscard]] Record record_of(const CounterSample& sample, int64_t time_ns);

/// Submits samples from a thread of a source that must not wait.
void submit_samples(const std::vector<CounterSample>& samples, int64_t time_ns);

}  // namespace redline::profiler
