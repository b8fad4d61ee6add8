// What is told of GPUs and streams rather than of work: counters, and what streams are.
#include "profiler/cupti/activities.h"
#include "profiler/host/gpu_samples.h"
#include "profiler/source/source.h"

namespace redline::cupti {

using profiler::Record;
using profiler::RecordKind;

void Activities::deliver_counter(std::string_view name, std::string_view series, double value,
                                 int64_t time_ns) {
  Record record;
  record.kind = RecordKind::kCounter;
  record.begin_ns = time_ns;
  record.name = profiler::intern_name(name);
  profiler::CounterFields fields;
  fields.value = value;
  fields.series = profiler::intern_name(series);
  record.of = fields;
  profiler::deliver(record);
}

/// In the form of NVML's counters, in whose place they are.
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
  for (const auto& [track, unit, value] :
       profiler::gpu_samples(static_cast<int>(environment.device), before, now)) {
    deliver_counter(track, unit, value, now.time_ns);
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
