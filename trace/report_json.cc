#include <nlohmann/json.hpp>

#include "trace/report.h"
#include "trace/report_json_ranks.h"

namespace redline::trace {
namespace {

using json = nlohmann::ordered_json;

json issues_json(const Trace& trace, bool lost_data) {
  json counts = json::object();
  for (const LoadIssue& issue : trace.issues()) {
    if (issue.lost_data == lost_data) counts[issue.name] = issue.count;
  }
  return counts;
}

json breakdown_json(const Analysis& analysis) {
  json parts = json::object();
  for (size_t i = 0; i < kStepPartCount; ++i) {
    parts[std::string(kStepPartNames[i])] = analysis.breakdown.part_ns[i];
  }
  return parts;
}

json gpu_json(const GpuUse& gpu) {
  return {{"device", gpu.device},
          {"name", gpu.name.empty() ? json() : json(gpu.name)},
          {"span_ns", gpu.span_ns},
          {"busy_ns", gpu.busy_ns},
          {"idle_ns", gpu.idle_ns},
          {"compute_ns", gpu.compute_ns},
          {"non_compute_ns", gpu.non_compute_ns},
          {"communication_ns", gpu.communication_ns},
          {"memory_ns", gpu.memory_ns},
          {"communication_overlap", or_null(gpu.communication_overlap)},
          {"utilization", gpu.utilization},
          {"sm_efficiency", or_null(gpu.sm_efficiency)},
          {"occupancy", or_null(gpu.occupancy)},
          {"tensor_core_share", or_null(gpu.tensor_core_share)}};
}

json kernel_json(const KernelRow& row) {
  return {{"name", row.name},         {"type", row.type},
          {"count", row.count},       {"total_ns", row.total_ns},
          {"mean_ns", row.mean_ns()}, {"min_ns", row.min_ns},
          {"max_ns", row.max_ns},     {"tensor_cores", row.uses_tensor_cores}};
}

json operator_json(const OperatorRow& row) {
  return {{"name", row.name},
          {"count", row.count},
          {"total_ns", row.total_ns},
          {"self_ns", row.self_ns},
          {"device_self_ns", row.device_self_ns}};
}

json copy_json(const CopyRow& row) {
  return {{"kind", row.kind},
          {"count", row.count},
          {"bytes", row.bytes},
          {"total_ns", row.total_ns},
          {"bandwidth", or_null(row.bandwidth())}};
}

json launches_json(const std::optional<LaunchStatistics>& launches) {
  if (!launches) return nullptr;
  return {{"count", launches->count},
          {"host_mean_ns", launches->host_mean_ns},
          {"device_mean_ns", launches->device_mean_ns},
          {"delay_mean_ns", launches->delay_mean_ns},
          {"short_count", launches->short_count}};
}

json queue_json(const std::map<int64_t, QueueLength>& queues) {
  if (queues.empty()) return nullptr;
  json streams = json::object();
  for (const auto& [stream, queue] : queues) {
    streams[std::to_string(stream)] = {{"mean", queue.mean}, {"max", queue.max}};
  }
  return streams;
}

json idle_json(const std::optional<IdleGaps>& idle) {
  if (!idle) return nullptr;
  return {{"host_wait_ns", idle->host_wait_ns},
          {"kernel_wait_ns", idle->kernel_wait_ns},
          {"other_ns", idle->other_ns}};
}

// Peaks of the process: of its GPUs, or of the host where no GPU allocates.
json memory_json(const std::vector<MemoryPeak>& peaks) {
  if (peaks.empty()) return nullptr;
  int64_t allocated = 0, reserved = 0;
  for (const MemoryPeak& peak : peaks) {
    if (peak.is_gpu != peaks.front().is_gpu) continue;
    allocated += peak.allocated_bytes;
    reserved += peak.reserved_bytes;
  }
  return {{"peak_allocated", allocated}, {"peak_reserved", reserved}};
}

json event_json(const EvidenceEvent& event) {
  return {{"id", event.slice ? json(event.slice.value) : json()},
          {"begin_ns", event.begin_ns},
          {"end_ns", event.end_ns},
          {"name", event.name}};
}

json advice_json(const std::vector<Finding>& findings, size_t first_trace = 0) {
  json list = json::array();
  for (const Finding& finding : findings) {
    json evidence = json::object();
    for (const auto& [name, value] : finding.evidence) evidence[name] = value;
    evidence["trace"] = first_trace + finding.trace;
    evidence["events"] = json::array();
    for (const EvidenceEvent& event : finding.events) {
      evidence["events"].push_back(event_json(event));
    }
    list.push_back({{"rule", finding.rule},
                    {"severity", severity_name(finding.severity)},
                    {"message", finding.headline + ": " + finding.detail},
                    {"evidence", evidence},
                    {"estimated_speedup", or_null(finding.estimated_speedup)},
                    {"knob", finding.knob.empty() ? json() : json(finding.knob)}});
  }
  return list;
}

template <typename Rows, typename ToJson>
json list_json(const Rows& rows, ToJson to_json) {
  json list = json::array();
  for (const auto& row : rows) list.push_back(to_json(row));
  return list;
}

json trace_json(const Analysis& analysis, size_t index) {
  const Trace& trace = *analysis.trace;
  json object;
  object["path"] = trace.path();
  object["rank"] = or_null(trace.metadata().rank);
  object["world_size"] = or_null(trace.metadata().world_size);
  object["events"] = trace.event_count();
  object["skipped"] = issues_json(trace, true);
  object["repaired"] = issues_json(trace, false);
  object["dropped"] = dropped_events(trace);
  object["span_ns"] = trace.end_ns() - trace.begin_ns();
  object["steps"] = {{"count", analysis.step_times.count},
                     {"mean_ns", analysis.step_times.mean_ns},
                     {"deviation_ns", analysis.step_times.deviation_ns}};
  object["samples_per_step"] = or_null(samples_per_step(trace));
  object["step_breakdown_ns"] = breakdown_json(analysis);
  object["gpus"] = list_json(analysis.gpus, gpu_json);
  object["kernels"] = list_json(analysis.kernels, kernel_json);
  object["operators"] = list_json(analysis.operators, operator_json);
  object["copies"] = list_json(analysis.copies, copy_json);
  object["launches"] = launches_json(analysis.launches);
  object["queue"] = queue_json(analysis.queues);
  object["idle"] = idle_json(analysis.idle);
  object["collectives"] = collectives_json(analysis.communication);
  object["memory"] = memory_json(analysis.memory);
  object["advice"] = advice_json(advise(analysis), index);
  return object;
}

}  // namespace

std::string report_json(const Report& report) {
  json object;
  object["schema"] = "redline.report/1";
  object["traces"] = json::array();
  for (size_t i = 0; i < report.traces.size(); ++i) {
    object["traces"].push_back(trace_json(report.traces[i], i));
  }
  object["ranks"] = report.comparison ? ranks_json(*report.comparison) : json();
  object["advice"] = advice_json(report.findings);
  return object.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace redline::trace
