#include "trace/analysis/phases.h"

#include "base/intervals.h"
#include "trace/model/slice_view.h"

namespace redline::trace {
namespace {

// By NameKinds of the slice and all around it.
std::optional<Phase> phase_of(uint8_t kinds) {
  if ((kinds & kOptimizerName) != 0) return Phase::kOptimizer;
  if ((kinds & kBackwardName) != 0) return Phase::kBackward;
  if ((kinds & (kDataLoaderName | kCommunicationOpName)) != 0) return std::nullopt;
  return Phase::kForward;
}

using Gathered = std::vector<Coverage>;  // of the steps, by phase

Gathered gather_host(const Trace& trace, const HostTree& tree, const Intervals& steps) {
  Gathered host(kPhaseCount, Coverage(steps));
  const auto& categories = trace.slices().category;
  for_each_slice(trace, [&](SliceId slice, Category category) {
    if (!is_host_node(category)) return;
    const auto phase = phase_of(tree.kinds_around[slice.value]);
    if (!phase) return;
    // A user's own annotations may lie around anything; what is in them tells.
    if (*phase == Phase::kForward && category != Category::kCpuOp) return;
    const SliceId parent = tree.parent[slice.value];
    const bool is_inside = parent && categories[parent.value] == Category::kCpuOp &&
                           phase_of(tree.kinds_around[parent.value]) == phase;
    if (is_inside) return;
    if (*phase != Phase::kOptimizer || tree.closures.empty()) {
      host[static_cast<size_t>(*phase)].add(interval_of(trace, slice));
      return;
    }
    for (const Interval& part : tree.without_closures(interval_of(trace, slice))) {
      host[static_cast<size_t>(*phase)].add(part);
    }
  });
  return host;
}

Gathered gather_device(const DeviceTable& table, const HostTree& tree, const Intervals& steps) {
  Gathered device(kPhaseCount, Coverage(steps));
  for (const DeviceWork& work : table.rows) {
    if (!work.launch || !tree.parent[work.launch.value]) continue;
    if (const auto phase = phase_of(tree.kinds_around[work.launch.value])) {
      device[static_cast<size_t>(*phase)].add(work.interval);
    }
  }
  return device;
}

}  // namespace

std::optional<PhaseTimes> phase_times(const Trace& trace, const DeviceTable& table,
                                      const HostTree& tree, const std::vector<Step>& steps) {
  if (steps.empty()) return std::nullopt;
  std::vector<Interval> step_windows;
  for (const Step& step : steps) step_windows.push_back(step.window);
  const Intervals windows = merge(std::move(step_windows));
  const auto count = static_cast<int64_t>(steps.size());

  Gathered host = gather_host(trace, tree, windows), device = gather_device(table, tree, windows);
  PhaseTimes times;
  for (size_t i = 0; i < kPhaseCount; ++i) {
    times[i].host_ns = total_ns(host[i].take()) / count;
    times[i].device_ns = total_ns(device[i].take()) / count;
  }
  const auto is_there = [&](Phase phase) { return times[static_cast<size_t>(phase)].host_ns > 0; };
  if (!is_there(Phase::kBackward) && !is_there(Phase::kOptimizer)) return std::nullopt;
  return times;
}

}  // namespace redline::trace
