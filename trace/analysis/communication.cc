#include "trace/analysis/communication.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/statistics.h"
#include "trace/analysis/tables.h"
#include "trace/model/slice_view.h"

namespace redline::trace {
namespace {

std::vector<bool> computing_names(const Trace& trace, bool on_device) {
  const int communicating =
      on_device ? kCommunicationKernelName : kCommunicationOpName | kCommunicationCallName;
  std::vector<bool> computes(trace.string_count(), true);
  for (uint32_t i = 0; i < computes.size(); ++i) {
    computes[i] = (name_kinds(trace.string(StringId{i})) & communicating) == 0;
  }
  return computes;
}

// When each host thread waits in an operator that returns once a collective is done. DTensor calls
// it inside operators of its own, which do not compute then.
std::map<TrackId, Intervals> waits_by_track(const Trace& trace) {
  std::map<TrackId, Intervals> waits;
  const StringId name = trace.find_string("_c10d_functional::wait_tensor");
  if (!name) return waits;
  for (const Lane& lane : trace.lanes()) {
    for (uint32_t i = lane.first.value; i < lane.end(); ++i) {
      if (trace.slices().name[i] == name) waits[lane.track].push_back(interval_of(trace, {i}));
    }
  }
  for (auto& [track, intervals] : waits) intervals = merge(std::move(intervals));
  return waits;
}

// The part of `within` in which the device computes or, on the host, an operator does. Operators
// inside another computing operator are skipped, because they add nothing.
Intervals computation(const Trace& trace, const HostTree& tree, int32_t device,
                      const Intervals& within) {
  const bool on_device = device != kHostDevice;
  const Category wanted = on_device ? Category::kKernel : Category::kCpuOp;
  const auto computes = computing_names(trace, on_device);
  const Slices& slices = trace.slices();
  const auto counts = [&](SliceId slice) {
    const StringId name = slices.name[slice.value];
    return slices.category[slice.value] == wanted && (!name || computes[name.value]);
  };
  const auto waits = on_device ? std::map<TrackId, Intervals>() : waits_by_track(trace);
  Coverage busy(within);
  for (const Lane& lane : trace.lanes()) {
    if (on_device && trace.tracks()[lane.track.value].device != device) continue;
    const auto waiting = waits.find(lane.track);
    std::vector<Interval> beside_waits;
    for (uint32_t i = lane.first.value; i < lane.end(); ++i) {
      if (!counts({i})) continue;
      if (!on_device && tree.parent[i] && counts(tree.parent[i])) continue;
      if (waiting == waits.end()) {
        busy.add(interval_of(trace, {i}));
      } else {
        beside_waits.push_back(interval_of(trace, {i}));
      }
    }
    if (waiting == waits.end()) continue;
    for (const Interval& work : subtract(merge(std::move(beside_waits)), waiting->second)) {
      busy.add(work);
    }
  }
  return busy.take();
}

using IntervalsByDevice = std::map<int32_t, Intervals>;

IntervalsByDevice time_of(const Trace& trace, const std::vector<CollectiveCall>& calls) {
  IntervalsByDevice by_device;
  for (const CollectiveCall& call : calls) {
    if (call.is_timed) by_device[call.device].push_back(interval_of(trace, call.slice));
  }
  for (auto& [device, intervals] : by_device) intervals = merge(std::move(intervals));
  return by_device;
}

IntervalsByDevice computation_beside(const Trace& trace, const HostTree& tree,
                                     const IntervalsByDevice& calls) {
  IntervalsByDevice busy;
  for (const auto& [device, within] : calls) {
    busy[device] = computation(trace, tree, device, within);
  }
  return busy;
}

Intervals exposed_time(const IntervalsByDevice& calls, const IntervalsByDevice& busy) {
  Intervals exposed;
  for (const auto& [device, intervals] : calls) {
    exposed = unite(exposed, subtract(intervals, busy.at(device)));
  }
  return exposed;
}

void add_call(Collective& row, const CollectiveCall& call) {
  if (row.count == 0) row.first_seq = call.seq;
  row.last_seq = call.seq;
  row.seq_recorded = call.seq_recorded;
  row.ranks = std::max(row.ranks, call.ranks);
  if (call.bytes >= 0) row.bytes = saturating_sum(row.bytes.value_or(0), call.bytes);
  ++row.count;
}

void add_time(Collective& row, int64_t length_ns, int64_t hidden_ns) {
  row.total_ns = row.total_ns.value_or(0) + length_ns;
  row.exposed_ns = row.exposed_ns.value_or(0) + length_ns - hidden_ns;
}

void add_bandwidths(Collective& row, CollectiveKind kind) {
  if (row.bytes.value_or(0) <= 0 || row.total_ns.value_or(0) <= 0) return;
  row.algorithm_bandwidth =
      static_cast<double>(*row.bytes) * 1e9 / static_cast<double>(*row.total_ns);
  if (row.ranks > 1) row.bus_bandwidth = *row.algorithm_bandwidth * bus_factor(kind, row.ranks);
}

std::vector<Collective> make_table(const Trace& trace, const CollectiveCalls& collectives,
                                   const IntervalsByDevice& busy) {
  std::map<std::tuple<StringId, uint32_t, CollectiveKind, int64_t>, Collective> rows;
  for (const CollectiveCall& call : collectives.calls) {
    const StringId name = trace.slices().name[call.slice.value];
    Collective& row = rows[{name, call.group, call.kind, call.bytes}];
    add_call(row, call);
    if (!call.is_timed) continue;
    const Interval interval = interval_of(trace, call.slice);
    add_time(row, interval.length_ns(), total_within_ns(busy.at(call.device), interval));
  }
  std::vector<Collective> table;
  for (auto& [key, row] : rows) {
    const auto& [name, group, kind, bytes] = key;
    row.name = trace.string(name);
    row.kind = kind;
    row.group = collectives.groups[group].name;
    add_bandwidths(row, kind);
    table.push_back(std::move(row));
  }
  std::ranges::sort(table, [](const Collective& left, const Collective& right) {
    // The longest first, those of unknown length last.
    return std::tuple(right.total_ns, std::string_view(left.name), left.bytes, left.group) <
           std::tuple(left.total_ns, std::string_view(right.name), right.bytes, right.group);
  });
  return table;
}

Communication communication_of(const Trace& trace, CollectiveCalls collectives,
                               const HostTree& tree) {
  Communication communication;
  communication.collectives = std::move(collectives);
  const auto& calls = communication.collectives.calls;
  if (calls.empty()) return communication;
  const IntervalsByDevice in_calls = time_of(trace, calls);
  const IntervalsByDevice busy = computation_beside(trace, tree, in_calls);
  communication.table = make_table(trace, communication.collectives, busy);
  communication.exposed = exposed_time(in_calls, busy);
  communication.is_timed = std::ranges::all_of(calls, &CollectiveCall::is_timed);
  return communication;
}

}  // namespace

Communication find_communication(const Trace& trace, const NameKinds& names,
                                 const DeviceWorkTable& device, const HostTree& tree) {
  return communication_of(trace, find_collective_calls(trace, names, device, tree), tree);
}

Communication communication_within(const Trace& trace, const CollectiveCalls& calls,
                                   const HostTree& tree, Interval time) {
  CollectiveCalls within{calls.groups, {}};
  for (const CollectiveCall& call : calls.calls) {
    if (is_within(time, trace.slices().begin_ns[call.slice.value])) within.calls.push_back(call);
  }
  return communication_of(trace, std::move(within), tree);
}

int64_t mean_exposed_ns(const Communication& communication, const std::vector<Step>& steps) {
  if (steps.empty()) return 0;
  int64_t sum_ns = 0;
  for (const Step& step : steps) sum_ns += total_within_ns(communication.exposed, step.window);
  return sum_ns / static_cast<int64_t>(steps.size());
}

}  // namespace redline::trace
