// Records about GPUs and streams rather than about work: counters, and properties of streams.
#include "profiler/cupti/activities.h"
#include "profiler/source/counters.h"
#include "profiler/source/source.h"

namespace redline::cupti {

/// Writes the same counters as NVML would, because these records are only asked for without NVML.
void Activities::add(const EnvironmentRecord& environment) {
  const auto& figures = environment.figures;
  nvml::GpuReading now;
  now.time_ns = clock_.to_monotonic(environment.time);
  if (environment.environment_kind == kEnvironmentSpeed) {
    now.sm_clock_mhz = figures[0];
    now.memory_clock_mhz = figures[1];
    if ((figures[4] & kThrottleNotTold) == 0) now.throttle_reasons = figures[4];
  } else if (environment.environment_kind == kEnvironmentTemperature) {
    now.temperature_c = figures[0];
  } else if (environment.environment_kind == kEnvironmentPower) {
    now.power_w = 1e-3 * figures[0];
  }
  nvml::GpuReading& before = environments_[environment.device];
  for (const auto& sample :
       profiler::gpu_counters(static_cast<int>(environment.device), before, now)) {
    profiler::deliver(profiler::record_of(sample, now.time_ns));
  }
  if (now.throttle_reasons) before = now;
}

void Activities::add(const StreamRecord& stream) {
  if (streams_.size() < kMostStreams) streams_[stream.stream] = stream;
}

std::string Activities::streams_json() const {
  std::string json;
  for (const auto& [number, stream] : streams_) {
    json += (json.empty() ? "\"" : ", \"") + std::to_string(number) +
            "\": {\"context\": " + std::to_string(stream.context) +
            ", \"priority\": " + std::to_string(stream.priority) + "}";
  }
  return "{" + json + "}";
}

}  // namespace redline::cupti
