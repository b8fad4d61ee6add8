#include <algorithm>
#include <cmath>

#include "trace/analysis/link_use.h"
#include "trace/report/report.h"
#include "trace/report/report_figures.h"
#include "trace/report/report_json_parts.h"
#include "trace/report/report_modules.h"
#include "trace/report/report_roofline.h"
#include "trace/report/run_report.h"

namespace redline::trace {
namespace {

using json = nlohmann::ordered_json;

json events_by_phase_json(const TraceFacts& facts) {
  json counts = json::object();
  for (const PhaseCount& phase : facts.phase_counts) {
    counts[phase.phase.empty() ? "none" : phase.phase] = phase.count;
  }
  return counts;
}

json issues_json(const TraceFacts& facts, bool lost_data) {
  json counts = json::object();
  for (const LoadIssue& issue : facts.issues) {
    if (issue.info().lost_data == lost_data) counts[std::string(issue.info().name)] = issue.count;
  }
  return counts;
}

json breakdown_json(const RankSummary& summary) {
  json parts = json::object();
  for (size_t i = 0; i < kBreakdownPartCount; ++i) {
    parts[std::string(kBreakdownPartNames[i])] = summary.breakdown.part_ns[i];
  }
  return parts;
}

json phases_json(const std::optional<PhaseTimes>& phases) {
  if (!phases) return nullptr;
  json parts = json::object();
  for (size_t i = 0; i < kPhaseCount; ++i) {
    parts[std::string(kPhaseNames[i])] = {{"host_ns", (*phases)[i].host_ns},
                                          {"device_ns", (*phases)[i].device_ns}};
  }
  return parts;
}

json steps_json(const RankSummary& summary) {
  const StepTimes& times = summary.step_times;
  return {{"count", times.count},
          {"mean_ns", times.mean_ns},
          {"deviation_ns", times.deviation_ns},
          {"min_ns", times.min_ns},
          {"median_ns", times.median_ns},
          {"max_ns", times.max_ns},
          {"durations_ns",
           list_json(summary.steps, [](const Step& step) { return step.window.length_ns(); })}};
}

// Times in whole nanoseconds.
json ns_json(const Distribution& times) {
  const auto whole = [](double ns) { return std::llround(ns); };
  return {{"mean_ns", whole(times.mean)}, {"deviation_ns", whole(times.deviation)},
          {"min_ns", whole(times.min)},   {"p25_ns", whole(times.p25)},
          {"p50_ns", whole(times.p50)},   {"p75_ns", whole(times.p75)},
          {"max_ns", whole(times.max)}};
}

json distribution_json(const Distribution& values) {
  return {{"count", values.count}, {"mean", values.mean}, {"deviation", values.deviation},
          {"min", values.min},     {"p25", values.p25},   {"p50", values.p50},
          {"p75", values.p75},     {"max", values.max}};
}

json mix_json(const GpuUse& gpu) {
  json parts = json::object();
  for (size_t i = 0; i < kWorkMixCount; ++i) {
    parts[std::string(kWorkMixNames[i])] = gpu.mix_ns[i];
  }
  return parts;
}

json gpu_json(const GpuUse& gpu) {
  json memory, capability;
  if (gpu.properties && gpu.properties->memory_bytes > 0) memory = gpu.properties->memory_bytes;
  if (gpu.properties && gpu.properties->compute_major > 0) {
    capability = std::to_string(gpu.properties->compute_major) + "." +
                 std::to_string(gpu.properties->compute_minor);
  }
  return {{"device", gpu.device},
          {"name", text_or_null(gpu.name)},
          {"memory_bytes", memory},
          {"compute_capability", capability},
          {"span_ns", gpu.span_ns},
          {"busy_ns", gpu.busy_ns},
          {"idle_ns", gpu.idle_ns},
          {"compute_ns", gpu.compute_ns},
          {"non_compute_ns", gpu.non_compute_ns},
          {"communication_ns", gpu.communication_ns},
          {"memory_ns", gpu.memory_ns},
          {"communication_overlap", gpu.communication_overlap},
          {"utilization", gpu.utilization},
          {"sm_efficiency", gpu.sm_efficiency},
          {"occupancy", gpu.occupancy},
          {"tensor_core_share", gpu.tensor_core_share},
          {"tensor_core_eligible_share", gpu.tensor_core_eligible_share},
          {"mix_ns", mix_json(gpu)}};
}

json kernel_json(const KernelRow& row) {
  return {{"name", row.name},
          {"type", row.is_communication() ? "communication" : "compute"},
          {"count", row.count},
          {"total_ns", row.total_ns},
          {"mean_ns", row.mean_ns()},
          {"min_ns", row.min_ns},
          {"max_ns", row.max_ns},
          {"tensor_cores", row.uses_tensor_cores},
          {"blocks_per_sm", row.blocks_per_sm},
          {"occupancy", row.occupancy}};
}

json operator_json(const OperatorRow& row) {
  return {{"name", row.name},
          {"count", row.count},
          {"total_ns", row.total_ns},
          {"self_ns", row.self_ns},
          {"device_self_ns", row.device_self_ns},
          {"device_total_ns", row.device_total_ns}};
}

json copy_json(const CopyRow& row) {
  return {{"kind", row.kind},
          {"count", row.count},
          {"bytes", row.bytes},
          {"total_ns", row.total_ns},
          {"bandwidth", row.bandwidth()},
          {"single_bandwidth",
           row.single_bandwidth.count > 0 ? distribution_json(row.single_bandwidth) : json()}};
}

json launches_json(const std::optional<LaunchStatistics>& launches) {
  if (!launches) return nullptr;
  return {{"count", launches->count},
          {"calls", launches->calls},
          {"graph_launches", launches->graph_launches},
          {"graph_count", launches->graph_count},
          {"host_mean_ns", std::llround(launches->host_ns.mean)},
          {"device_mean_ns", std::llround(launches->device_ns.mean)},
          {"delay_mean_ns", std::llround(launches->delay_ns.mean)},
          {"short_count", launches->short_count},
          {"host", ns_json(launches->host_ns)},
          {"device", ns_json(launches->device_ns)},
          {"delay", ns_json(launches->delay_ns)}};
}

// Keys are streams, or "device/stream" if several devices have a stream of that number.
json queue_json(const std::vector<QueueLength>& queues) {
  if (queues.empty()) return nullptr;
  const bool one_device = queues.front().device == queues.back().device;
  json streams = json::object();
  for (const QueueLength& queue : queues) {
    const std::string stream = std::to_string(queue.stream);
    json row = distribution_json(queue.length);
    row["time_mean"] = queue.time_mean;
    row["full_ns"] = queue.full_ns;
    streams[one_device ? stream : std::to_string(queue.device) + "/" + stream] = std::move(row);
  }
  return streams;
}

json gaps_json(const IdleGaps& gaps) {
  return {{"host_wait_ns", gaps.host_wait_ns},
          {"kernel_wait_ns", gaps.kernel_wait_ns},
          {"other_ns", gaps.other_ns}};
}

json idle_json(const RankSummary& summary) {
  if (!summary.idle) return nullptr;
  json idle = gaps_json(*summary.idle);
  idle["streams"] = list_json(summary.stream_idle, [](const StreamIdle& stream) {
    json row = {{"device", stream.device}, {"stream", stream.stream}};
    row.update(gaps_json(stream.gaps));
    return row;
  });
  return idle;
}

json memory_device_json(const MemoryPeak& peak, int64_t begin_ns) {
  const json timeline = list_json(peak.timeline, [&](const MemoryPoint& point) {
    return json{point.time_ns - begin_ns, point.allocated_bytes,
                peak.reserved_bytes ? json(point.reserved_bytes) : json()};
  });
  const json holders = list_json(peak.holders, [](const MemoryHolder& holder) {
    return json{
        {"operator", text_or_null(holder.name)}, {"bytes", holder.bytes}, {"count", holder.count}};
  });
  return {{"device", peak.is_gpu ? json(peak.device) : json()},
          {"peak_allocated", peak.allocated_bytes},
          {"peak_reserved", peak.reserved_bytes},
          {"peak_at_ns", peak.peak_time_ns - begin_ns},
          {"timeline", timeline},
          {"holders", holders},
          {"other_holders_bytes", peak.other_holders.bytes},
          {"earlier_bytes", peak.earlier_bytes},
          {"unknown_bytes", peak.unknown_bytes}};
}

// The memory peaks of the process's GPUs, or of the host if no GPU allocates.
json memory_json(const RankSummary& summary) {
  const std::vector<MemoryPeak>& peaks = summary.memory;
  if (peaks.empty()) return nullptr;
  int64_t allocated = 0;
  std::optional<int64_t> reserved;
  json devices = json::array();
  for (const MemoryPeak& peak : peaks) {
    devices.push_back(memory_device_json(peak, summary.facts.begin_ns));
    if (peak.is_gpu != peaks.front().is_gpu) continue;
    allocated += peak.allocated_bytes;
    if (peak.reserved_bytes) reserved = reserved.value_or(0) + *peak.reserved_bytes;
  }
  return {{"peak_allocated", allocated}, {"peak_reserved", reserved}, {"devices", devices}};
}

json event_json(const EvidenceEvent& event) {
  return {{"id", event.slice ? json(event.slice.value) : json()},
          {"begin_ns", event.begin_ns},
          {"end_ns", event.end_ns},
          {"name", event.name}};
}

json advice_json(const std::vector<Finding>& findings, size_t first_trace = 0) {
  return list_json(findings, [&](const Finding& finding) {
    json evidence = json::object();
    for (const auto& [name, value] : finding.evidence) evidence[name] = value;
    evidence["trace"] = first_trace + finding.trace;
    evidence["events"] = list_json(finding.events, event_json);
    return json{{"rule", finding.rule},
                {"severity", severity_name(finding.severity)},
                {"message", finding.headline + ": " + finding.detail},
                {"evidence", evidence},
                {"estimated_speedup", finding.estimated_speedup},
                {"knob", text_or_null(finding.knob)},
                {"placeholder", text_or_null(finding.placeholder)}};
  });
}

json trace_json(const RankSummary& summary, size_t index, std::optional<double> link_gb_per_s) {
  const TraceFacts& facts = summary.facts;
  json object;
  object["path"] = facts.path;
  object["rank"] = facts.rank;
  object["world_size"] = facts.world_size;
  object["events"] = facts.events;
  object["issues"] = list_json(facts.issues, [](const LoadIssue& issue) {
    return json{{"name", issue.info().name},
                {"count", issue.count},
                {"first_offset", issue.first_offset},
                {"lost", issue.info().lost_data}};
  });
  object["events_by_phase"] = events_by_phase_json(facts);
  object["skipped"] = issues_json(facts, true);
  object["repaired"] = issues_json(facts, false);
  object["dropped"] = facts.dropped;
  object["gpu_not_recorded"] =
      summary.unrecorded_gpu ? json{{"reason", text_or_null(*summary.unrecorded_gpu)}} : json();
  object["gpu_partly_recorded"] = summary.partial_gpu;
  const int64_t mixed = std::max(facts.merged_ranks, facts.processes);
  object["merged_ranks"] = mixed > 1 ? json(mixed) : json();
  object["reason"] = text_or_null(facts.reason);
  object["span_ns"] = facts.end_ns - facts.begin_ns;
  object["steps"] = steps_json(summary);
  object["samples_per_step"] = facts.samples_per_step;
  object["tokens_per_step"] = facts.tokens_per_step;
  const auto latency = batch_latency({&summary, 1});
  object["latency_ns"] =
      latency ? json{{"p50", latency->p50_ns}, {"p90", latency->p90_ns}, {"p99", latency->p99_ns}}
              : json();
  object["step_breakdown_ns"] = breakdown_json(summary);
  object["phases"] = phases_json(summary.phases);
  object["gpus"] = list_json(summary.gpus, gpu_json);
  object["kernels"] = list_json(summary.kernels, kernel_json);
  object["operators"] = list_json(summary.operators, operator_json);
  object["operators_by_shape"] = operators_by_shape_json(summary);
  object["roofline"] = roofline_json(summary);
  object["modules"] = modules_json(summary);
  object["copies"] = list_json(summary.copies, copy_json);
  object["launches"] = launches_json(summary.launches);
  object["queue"] = queue_json(summary.queues);
  object["idle"] = idle_json(summary);
  object["collectives"] = collectives_json(summary.collectives, link_gb_per_s);
  object["critical_path"] = critical_path_json(*summary.names, summary.critical_path);
  object["sequences"] = sequences_json(*summary.names, summary.sequences);
  object["memory"] = memory_json(summary);
  object["advice"] = advice_json(summary.findings, index);
  return object;
}

json hang_json(const std::optional<Hang>& hang) {
  if (!hang) return nullptr;
  return {{"kind", hang_kind_name(hang->kind)},
          {"ranks", hang->ranks},
          {"host", text_or_null(hang->host)},
          {"group", text_or_null(hang->group)},
          {"sequence", hang->sequence},
          {"operation", text_or_null(hang->operation)},
          {"step", hang->step},
          {"waiting_ranks", hang->waiting_ranks},
          {"stack", hang->stack},
          {"error", text_or_null(hang->error)}};
}

}  // namespace

std::string report_json(const Report& report) {
  json object;
  object["schema"] = "redline.report/1";
  object["traces"] = json::array();
  const auto link_gb_per_s = link_peak(report.traces);
  for (size_t i = 0; i < report.traces.size(); ++i) {
    object["traces"].push_back(trace_json(report.traces[i], i, link_gb_per_s));
  }
  object["hang"] = hang_json(report.hang);
  object["unreadable"] = report.unreadable;
  object["ranks_of_several_processes"] = ranks_of_several_processes(report);
  object["ranks"] = report.comparison ? ranks_json(*report.comparison) : json();
  object["advice"] = advice_json(report.findings);
  object["run"] = report.run ? run_json(*report.run) : json();
  return json_text(object, 2) + "\n";
}

}  // namespace redline::trace
