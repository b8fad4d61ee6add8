#include "trace/summary/summary_file.h"

#include <algorithm>

#include "base/json_values.h"
#include "trace/analysis/analysis.h"
#include "trace/emit/collective_names.h"

namespace redline {

using nlohmann::json;

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Interval, begin_ns, end_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Distribution, count, mean, deviation, min, p25, p50, p75, max)

namespace trace {

template <typename Tag>
void to_json(json& object, const Id<Tag>& id) {
  object = id ? json(id.value) : json();
}
template <typename Tag>
void from_json(const json& object, Id<Tag>& id) {
  id = object.is_null() ? Id<Tag>::none() : Id<Tag>{object.get<uint32_t>()};
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PhaseCount, phase, count)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LoadIssue, issue, count, first_offset)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RecordingMember, recording, rank, world_size)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RecordedTrace, member, ring_process, ring_span)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TraceFacts, path, folder, recorded, rank, world_size, backend,
                                   host, events, slices, phase_counts, issues, begin_ns, end_ns,
                                   dropped, merged_ranks, reason, samples_per_step, tokens_per_step,
                                   batches_digest, is_inference, is_amd)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Step, number, host, window)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StepTimes, count, mean_ns, deviation_ns, min_ns, median_ns,
                                   max_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PhaseTime, host_ns, device_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DeviceProperties, device, name, memory_bytes, compute_major,
                                   compute_minor, multiprocessors)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GpuUse, device, properties, name, span_ns, busy_ns, idle_ns,
                                   compute_ns, non_compute_ns, communication_ns, memory_ns,
                                   communication_overlap, utilization, sm_efficiency, occupancy,
                                   tensor_core_share, tensor_core_eligible_share, mix_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OperatorRow, name, count, total_ns, self_ns, device_self_ns,
                                   device_total_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CopyRow, kind, count, bytes, total_ns, single_bandwidth)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ShapeKernel, name, count, total_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OperatorWork, flops, needed_flops, bytes, type, is_product,
                                   moved_elements)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OperatorShape, name, input_dims, input_types, count, step_count,
                                   recomputed_count, recomputed_step_count, recomputed_ns, work,
                                   device_ns, host_ns, kernels)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OperatorShapes, rows, outside_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ModuleWork, calls, host_ns, device_ns, flops)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ModuleNode, name, type, number, parent, depth, self, total,
                                   exposed_ns, allocated_bytes, kept_bytes, kernels)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ModuleTree, nodes, has_names, has_memory)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DevicePeaks, tflops, gb_per_s, link_gb_per_s, is_link_given,
                                   source)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LaunchStatistics, count, calls, graph_launches, graph_count,
                                   short_count, host_ns, device_ns, delay_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(QueueLength, device, stream, length, time_mean, full_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(IdleGaps, host_wait_ns, kernel_wait_ns, other_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StreamIdle, device, stream, gaps)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MemoryPoint, time_ns, allocated_bytes, reserved_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MemoryHolder, name, bytes, count)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MemoryPeak, is_gpu, device, allocated_bytes, reserved_bytes,
                                   peak_time_ns, timeline, holders, other_holders, earlier_bytes,
                                   unknown_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PathPart, slice, kind, interval, name)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PathName, name, kind, count, total_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CriticalPath, steps, mean_ns, names, longest)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(KernelSequence, names, first, count, total_ns, gap_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ProcessGroup, name, ranks)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(HostClock, host, offset_ns)
void to_json(json& object, const TimedCall& call) {
  object = {call.group, call.kind, call.slice,    call.bytes,
            call.seq,   call.step, call.begin_ns, call.end_ns};
}
void from_json(const json& list, TimedCall& call) {
  list.at(0).get_to(call.group);
  list.at(1).get_to(call.kind);
  list.at(2).get_to(call.slice);
  list.at(3).get_to(call.bytes);
  list.at(4).get_to(call.seq);
  list.at(5).get_to(call.step);
  list.at(6).get_to(call.begin_ns);
  list.at(7).get_to(call.end_ns);
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankCollectives, groups, calls, has_seqs, has_numbered_steps,
                                   clock)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(EvidenceEvent, slice, begin_ns, end_ns, name)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Finding, rule, severity, headline, detail, evidence, events,
                                   estimated_speedup, knob, placeholder)

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StepBreakdown, part_ns)

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(KernelRow, name, uses_tensor_cores, count, total_ns, min_ns,
                                   max_ns, blocks_per_sm, occupancy)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Collective, name, kind, group, ranks, bytes, first_seq, last_seq,
                                   seq_recorded, count, total_ns, exposed_ns, algorithm_bandwidth,
                                   bus_bandwidth)

// `names` is a list of strings, to which ids point.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankSummary, facts, steps, step_times, breakdown, phases,
                                   devices, has_device_work, gpus, kernels, operators, shapes,
                                   modules, peaks, copies, collectives, exposed_communication_ns,
                                   own_work, timed_collectives, launches, queues, stream_idle, idle,
                                   memory, critical_path, sequences, findings, longest_steps)

namespace {

// Indices within the summary, and the numbers of enumerators, which stand for rows of tables.
bool has_valid_numbers(const RankSummary& summary) {
  const auto& nodes = summary.modules.nodes;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].parent >= std::max<size_t>(i, 1)) return false;
  }
  const auto is_part = [](const auto& part) {
    return static_cast<size_t>(part.kind) < kStepPartCount;
  };
  const auto is_collective = [](const auto& call) { return call.kind <= CollectiveKind::kOther; };
  const auto& collectives = summary.timed_collectives;
  const auto& path = summary.critical_path;
  return std::ranges::all_of(collectives.calls, is_collective) &&
         std::ranges::all_of(
             collectives.calls,
             [&](const TimedCall& call) { return call.group < collectives.groups.size(); }) &&
         std::ranges::all_of(summary.collectives, is_collective) &&
         std::ranges::all_of(summary.facts.issues,
                             [](const LoadIssue& issue) {
                               return static_cast<size_t>(issue.issue) < issue_table().size();
                             }) &&
         (!path || (std::ranges::all_of(path->names, is_part) &&
                    std::ranges::all_of(path->longest, is_part)));
}

// The keys are in alphabetical order, so "schema" comes first.
std::string line_of(const char* key, json value) {
  const json line = {
      {"schema", kSummarySchema}, {"version", REDLINE_VERSION}, {key, std::move(value)}};
  return json_text(line) + "\n";
}

}  // namespace

std::string summary_line(const RankSummary& summary) {
  const auto names = std::make_shared<StringTable>();
  json rank = detached(summary, names);
  rank["unrecorded_gpu"] = summary.unrecorded_gpu;
  rank["partial_gpu"] = summary.partial_gpu;
  rank["process"] = summary.facts.recorded.process;
  rank["processes"] = summary.facts.processes;
  rank["unknown_slices"] = summary.facts.unknown_slices;
  rank["names"] = json::array();
  for (uint32_t i = 0; i < names->size(); ++i) rank["names"].push_back(names->at({i}));
  return line_of("summary", std::move(rank));
}

std::string unreadable_line(const ReadError& error) {
  return line_of("unreadable", {{"path", error.path}, {"message", error.message}});
}

tl::expected<SummaryLine, std::string> read_summary_line(
    std::string_view line, const std::shared_ptr<StringTable>& names) {
  const json object = json::parse(line, nullptr, false);
  if (object.is_discarded() && line.starts_with(kSummaryBegin)) {
    return tl::unexpected(std::string("is damaged"));
  }
  const std::string schema = text_in(object, "schema"), version = text_in(object, "version");
  if (!schema.starts_with(kSummarySchema.substr(0, kSummarySchema.find('/') + 1))) {
    return tl::unexpected(std::string("is no summary of a rank"));
  }
  if (schema != kSummarySchema) {
    return tl::unexpected("has the form " + schema + ", this Redline reads " +
                          std::string(kSummarySchema) + ": summarize the traces anew");
  }
  if (version != REDLINE_VERSION) {
    return tl::unexpected("is of Redline " + version +
                          ", this is " REDLINE_VERSION ": summarize the traces anew");
  }
  try {
    if (object.contains("unreadable")) {
      const json& error = object.at("unreadable");
      return ReadError{error.at("message").get<std::string>(), error.at("path").get<std::string>()};
    }
    const json& rank = object.at("summary");
    RankSummary summary = rank.get<RankSummary>();
    // Summaries that were written before these were known do not have them.
    summary.facts.recorded.process = rank.value("process", "");
    summary.facts.processes = rank.value("processes", int64_t{0});
    summary.facts.unknown_slices = rank.value("unknown_slices", int64_t{0});
    summary.unrecorded_gpu = rank.value("unrecorded_gpu", std::optional<std::string>());
    summary.partial_gpu = rank.value("partial_gpu", std::optional<std::string>());
    const auto own = std::make_shared<StringTable>();
    for (const json& name : rank.at("names")) own->intern(name.get_ref<const std::string&>());
    summary.names = own;
    if (has_valid_numbers(summary)) return detached(std::move(summary), names);
  } catch (const json::exception&) {
    // As below.
  }
  return tl::unexpected(std::string("is damaged"));
}

}  // namespace trace
}  // namespace redline
