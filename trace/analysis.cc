#include "trace/analysis.h"

#include <nlohmann/json.hpp>

namespace redline::trace {
namespace {

// A number out of the top-level object "redline", which our own recorder writes.
std::optional<double> recorder_number(const Trace& trace, const char* key) {
  using nlohmann::json;
  const json top = json::parse(trace.metadata().top_level_json, nullptr, false);
  if (!top.is_object() || !top.contains("redline") || !top["redline"].is_object()) {
    return std::nullopt;
  }
  const json& ours = top["redline"];
  if (!ours.contains(key) || !ours[key].is_number()) return std::nullopt;
  return ours[key].get<double>();
}

}  // namespace

Analysis analyze(std::shared_ptr<const Trace> trace) {
  Analysis analysis;
  const Trace& source = *trace;
  analysis.trace = std::move(trace);
  analysis.steps = find_steps(source);
  analysis.step_times = step_times(analysis.steps);
  analysis.breakdown = break_down_steps(source, analysis.steps);
  analysis.devices = device_properties(source);
  analysis.gpus = gpu_use(source, analysis.steps);
  analysis.kernels = kernel_table(source);
  analysis.host_tree = build_host_tree(source);
  analysis.operators = operator_table(source, analysis.host_tree);
  analysis.copies = copy_table(source);
  analysis.communication = find_communication(source, analysis.host_tree);
  analysis.launches = launch_statistics(source);
  analysis.queues = queue_lengths(source);
  analysis.idle = idle_gaps(source);
  analysis.memory = memory_peaks(source);
  return analysis;
}

std::optional<double> samples_per_step(const Trace& trace) {
  const auto samples = recorder_number(trace, "samples_per_step");
  return samples && *samples > 0 ? samples : std::nullopt;
}

int64_t dropped_events(const Trace& trace) {
  return static_cast<int64_t>(recorder_number(trace, "dropped").value_or(0));
}

}  // namespace redline::trace
