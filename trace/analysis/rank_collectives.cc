#include "trace/analysis/rank_collectives.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "trace/analysis/steps.h"
#include "trace/model/slice_view.h"
#include "trace/read/recorded_facts.h"

namespace redline::trace {
namespace {

/// The steps that the trace numbers, all of them, by `host`.
std::vector<Step> numbered_steps(const Trace& trace) {
  std::vector<Step> steps = annotated_steps(trace);
  std::erase_if(steps, [](const Step& step) { return !step.number; });
  return steps;
}

// Groups without names cannot be told apart, so only those of the whole job have the same calls on
// all ranks. (PyTorch of about 2.2 writes sizes of groups, but no names.)
bool is_of_a_nameless_part(const Trace& trace, const ProcessGroup& group,
                           const CollectiveCall& call) {
  const int whole = trace.metadata().world_size.value_or(call.ranks);
  return group == ProcessGroup() && call.ranks != whole;
}

}  // namespace

HostClock host_clock(const Metadata& metadata) {
  constexpr int64_t kMostNs = INT64_MAX / 4;  // 73 years; differences do not overflow
  HostClock clock{metadata.host, std::nullopt};
  // The recorder's two clocks at the begin of the window, from which it makes all times.
  const RecordedFacts recorded(metadata);
  const nlohmann::json& windows = recorded.value("redline", "clocks");
  if (!windows.is_array() || windows.empty()) return clock;
  const nlohmann::json& clocks = windows[0];
  int64_t times_ns[2];
  for (const size_t i : {0U, 1U}) {
    const auto found = clocks.find(i == 0 ? "realtime_ns" : "monotonic_ns");
    if (found == clocks.end() || !found->is_number_integer()) return clock;
    times_ns[i] = found->get<int64_t>();
    if (times_ns[i] < 0 || times_ns[i] > kMostNs) return clock;
  }
  clock.offset_ns = times_ns[0] - times_ns[1];
  return clock;
}

RankCollectives rank_collectives(const Trace& trace, const CollectiveCalls& collectives) {
  RankCollectives all;
  all.groups = collectives.groups;
  all.clock = host_clock(trace.metadata());
  const std::vector<Step> steps = numbered_steps(trace);
  all.has_numbered_steps = !steps.empty();
  for (const CollectiveCall& call : collectives.calls) {
    all.has_seqs = all.has_seqs && call.seq_recorded;
    if (!holds_all_ranks(call.kind) || !call.is_timed) continue;
    if (is_of_a_nameless_part(trace, collectives.groups[call.group], call)) continue;
    const SliceId host = call.launch ? call.launch : call.slice;
    const Step* step = step_at(steps, &Step::host, trace.slices().begin_ns[host.value]);
    const Interval interval = interval_of(trace, call.slice);
    all.calls.push_back({.group = call.group,
                         .kind = call.kind,
                         .slice = call.slice,
                         .bytes = call.bytes,
                         .seq = call.seq,
                         .step = step ? *step->number : TimedCall::kNoStep,
                         .begin_ns = interval.begin_ns,
                         .end_ns = interval.end_ns});
  }
  return all;
}

}  // namespace redline::trace
