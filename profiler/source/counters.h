// Counter tracks of the trace, in one form whoever reads the figures: /proc, NVML or CUPTI.
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

/// What `now` tells of GPU `device`, and what happened since `before`. Throttling and ECC errors
/// have a track only where there are any.
[[nodiscard]] std::vector<CounterSample> gpu_counters(int device, const nvml::GpuReading& before,
                                                      const nvml::GpuReading& now);

/// Its texts are interned.
[[nodiscard]] Record record_of(const CounterSample& sample, int64_t time_ns);

/// From a source's thread that may not wait.
void submit_samples(const std::vector<CounterSample>& samples, int64_t time_ns);

}  // namespace redline::profiler
