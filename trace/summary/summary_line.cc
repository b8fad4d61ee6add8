#include "trace/summary/summary_file.h"

#include <algorithm>

#include "base/json_values.h"
#include "trace/analysis/analysis.h"
#include "trace/emit/collective_names.h"

namespace redline {

using nlohmann::json;

// A struct's JSON in both directions, by the names of its fields. A field that is not named does
// not compile: those that the line lacks, or has elsewhere, stand in brackets.
#define REDLINE_FIELDS_BY(Json, Type, ...)                           \
  Json(Type, __VA_ARGS__) inline void fields_of(const Type& value) { \
    [[maybe_unused]] const auto& [__VA_ARGS__] = value;              \
  }
#define REDLINE_FIELDS(Type, ...) \
  REDLINE_FIELDS_BY(NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE, Type, __VA_ARGS__)
#define REDLINE_UNBRACKETED(...) __VA_ARGS__
#define REDLINE_FIELDS_BUT(left_out, Type, ...)                                       \
  NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Type, __VA_ARGS__)                               \
  inline void fields_of(const Type& value) {                                          \
    [[maybe_unused]] const auto& [REDLINE_UNBRACKETED left_out, __VA_ARGS__] = value; \
  }

REDLINE_FIELDS(Interval, begin_ns, end_ns)
REDLINE_FIELDS(Distribution, count, mean, deviation, min, p25, p50, p75, max)

namespace trace {

template <typename Tag>
void to_json(json& object, const Id<Tag>& id) {
  object = id ? json(id.value) : json();
}
template <typename Tag>
void from_json(const json& object, Id<Tag>& id) {
  id = object.is_null() ? Id<Tag>::none() : Id<Tag>{object.get<uint32_t>()};
}

REDLINE_FIELDS(PhaseCount, phase, count)
REDLINE_FIELDS(LoadIssue, issue, count, first_offset)
REDLINE_FIELDS_BUT((last_ns), RecordingMember, recording, rank, world_size)
REDLINE_FIELDS_BUT((process, is_merged), RecordedTrace, member, ring_process, ring_span)
REDLINE_FIELDS_BUT((processes, unknown_slices), TraceFacts, path, folder, recorded, rank,
                   world_size, backend, host, events, slices, phase_counts, issues, begin_ns,
                   end_ns, dropped, merged_ranks, reason, samples_per_step, tokens_per_step,
                   batches_digest, is_inference, is_amd)
REDLINE_FIELDS_BUT((slice), Step, number, host, window)
REDLINE_FIELDS(StepTimes, count, mean_ns, deviation_ns, min_ns, median_ns, max_ns)
REDLINE_FIELDS(PhaseTime, host_ns, device_ns)
// Summaries that were written before the last two were known do not have them.
REDLINE_FIELDS_BY(NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT, DeviceProperties, device, name,
                  memory_bytes, compute_major, compute_minor, multiprocessors, uuid, has_context)
REDLINE_FIELDS(GpuUse, device, properties, name, span_ns, busy_ns, idle_ns, compute_ns,
               non_compute_ns, communication_ns, memory_ns, communication_overlap, utilization,
               sm_efficiency, occupancy, tensor_core_share, tensor_core_eligible_share, mix_ns)
REDLINE_FIELDS(OperatorRow, name, count, total_ns, self_ns, device_self_ns, device_total_ns)
REDLINE_FIELDS(CopyRow, kind, count, bytes, total_ns, single_bandwidth)
REDLINE_FIELDS(ShapeKernel, name, count, total_ns)
REDLINE_FIELDS_BUT((weight_bytes), OperatorWork, flops, needed_flops, bytes, type, is_product,
                   moved_elements)
REDLINE_FIELDS(OperatorShape, name, input_dims, input_types, count, step_count, recomputed_count,
               recomputed_step_count, recomputed_ns, work, device_ns, host_ns, kernels)
REDLINE_FIELDS_BUT((calls, row_of_work), OperatorShapes, rows, outside_ns)
REDLINE_FIELDS(ModuleWork, calls, host_ns, device_ns, flops)
REDLINE_FIELDS(ModuleNode, name, type, number, parent, depth, self, total, exposed_ns,
               allocated_bytes, kept_bytes, kernels)
REDLINE_FIELDS_BUT((of_call, of_work), ModuleTree, nodes, has_names, has_memory)
REDLINE_FIELDS(DevicePeaks, tflops, gb_per_s, link_gb_per_s, is_link_given, source)
REDLINE_FIELDS(LaunchStatistics, count, calls, graph_launches, graph_count, short_count, host_ns,
               device_ns, delay_ns)
REDLINE_FIELDS(QueueLength, device, stream, length, time_mean, full_ns)
REDLINE_FIELDS(IdleGaps, host_wait_ns, kernel_wait_ns, other_ns)
REDLINE_FIELDS(StreamIdle, device, stream, gaps)
REDLINE_FIELDS(MemoryPoint, time_ns, allocated_bytes, reserved_bytes)
REDLINE_FIELDS(MemoryHolder, name, bytes, count)
REDLINE_FIELDS_BUT((points), MemoryPeak, is_gpu, device, allocated_bytes, reserved_bytes,
                   peak_time_ns, timeline, holders, other_holders, earlier_bytes, unknown_bytes)
REDLINE_FIELDS(PathPart, slice, kind, interval, name)
REDLINE_FIELDS(PathName, name, kind, count, total_ns)
REDLINE_FIELDS(CriticalPath, steps, mean_ns, names, longest)
REDLINE_FIELDS(KernelSequence, names, first, count, total_ns, gap_ns)
REDLINE_FIELDS(ProcessGroup, name, ranks)
REDLINE_FIELDS(HostClock, host, offset_ns)
void to_json(json& object, const TimedCall& call) {
  const auto& [group, kind, slice, bytes, seq, step, begin_ns, end_ns] = call;
  object = {group, kind, slice, bytes, seq, step, begin_ns, end_ns};
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

REDLINE_FIELDS(RankCollectives, groups, calls, has_seqs, has_numbered_steps, clock)
REDLINE_FIELDS(EvidenceEvent, slice, begin_ns, end_ns, name)
REDLINE_FIELDS_BUT((trace), Finding, rule, severity, headline, detail, evidence, events,
                   estimated_speedup, knob, placeholder)

REDLINE_FIELDS_BUT((of_steps), StepBreakdown, part_ns)

REDLINE_FIELDS(KernelRow, name, uses_tensor_cores, count, total_ns, min_ns, max_ns, blocks_per_sm,
               occupancy)
REDLINE_FIELDS(Collective, name, kind, group, ranks, bytes, first_seq, last_seq, seq_recorded,
               count, total_ns, exposed_ns, algorithm_bandwidth, bus_bandwidth)

// `names` is a list of strings, to which ids point.
REDLINE_FIELDS_BUT((names, unrecorded_gpu, partial_gpu, times), RankSummary, facts, steps,
                   step_times, breakdown, phases, devices, has_device_work, gpus, kernels,
                   operators, shapes, modules, peaks, copies, collectives, exposed_communication_ns,
                   own_work, timed_collectives, launches, queues, stream_idle, idle, memory,
                   critical_path, sequences, findings, longest_steps)

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
