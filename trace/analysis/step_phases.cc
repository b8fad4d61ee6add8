#include "trace/analysis/step_phases.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/analysis/loader_waits.h"
#include "trace/model/slice_view.h"

namespace redline::trace {
namespace {

// The phase by the NameKinds of a slice and of all nodes around it.
std::optional<Phase> phase_of(uint8_t kinds) {
  if ((kinds & kOptimizerName) != 0) return Phase::kOptimizer;
  if ((kinds & kBackwardName) != 0) return Phase::kBackward;
  if ((kinds & (kDataLoaderName | kCommunicationOpName)) != 0) return std::nullopt;
  return Phase::kForward;
}

// Optimizers that hooks of a backward pass call, by the outermost slice of that pass.
using Hooked = std::unordered_map<uint32_t, std::vector<Interval>>;

Hooked optimizers_in_backward(const Trace& trace, const HostTree& tree) {
  Hooked hooked;
  const auto is_backward = [&](SliceId slice) {
    return slice && phase_of(tree.kinds_around[slice.value]) == Phase::kBackward;
  };
  for_each_slice(trace, [&](SliceId slice, Category category) {
    constexpr uint8_t kBoth = kOptimizerName | kBackwardName;
    if ((tree.kinds_around[slice.value] & kBoth) != kBoth || !is_host_node(category)) return;
    SliceId outermost = tree.parent[slice.value];
    if (!is_backward(outermost)) return;
    while (is_backward(tree.parent[outermost.value])) outermost = tree.parent[outermost.value];
    hooked[outermost.value].push_back(interval_of(trace, slice));
  });
  return hooked;
}

using Gathered = std::vector<Coverage>;  // by phase: times within the steps

Gathered gather_phases(const Trace& trace, const HostTree& tree, const Intervals& steps) {
  Gathered host(kPhaseCount, Coverage(steps));
  const Hooked hooked = optimizers_in_backward(trace, tree);
  const auto& categories = trace.slices().category;
  for_each_slice(trace, [&](SliceId slice, Category category) {
    if (!is_host_node(category)) return;
    const auto phase = phase_of(tree.kinds_around[slice.value]);
    if (!phase) return;
    // A user's own annotations may lie around anything, so only the operators
    // in them count.
    if (*phase == Phase::kForward && category != Category::kCpuOp) return;
    const SliceId parent = tree.parent[slice.value];
    const bool is_inside = parent && categories[parent.value] == Category::kCpuOp &&
                           phase_of(tree.kinds_around[parent.value]) == phase;
    if (is_inside) return;
    Coverage& times = host[static_cast<size_t>(*phase)];
    const Interval whole = interval_of(trace, slice);
    if (*phase == Phase::kOptimizer && !tree.closures.empty()) {
      for (const Interval& part : tree.without_closures(whole)) times.add(part);
    } else if (const auto within = hooked.find(slice.value); within != hooked.end()) {
      for (const Interval& part : subtract({whole}, merge(within->second))) times.add(part);
    } else {
      times.add(whole);
    }
  });
  return host;
}

Gathered gather_launched(const DeviceWorkTable& table, const HostTree& tree,
                         const Intervals& steps) {
  Gathered device(kPhaseCount, Coverage(steps));
  for (const DeviceWork& work : table.rows) {
    if (!work.launch || !tree.parent[work.launch.value]) continue;
    if (const auto phase = phase_of(tree.kinds_around[work.launch.value])) {
      device[static_cast<size_t>(*phase)].add(work.interval);
    }
  }
  return device;
}

constexpr WorkPart part_of(Phase phase) {
  switch (phase) {
    case Phase::kForward:
      return WorkPart::kForward;
    case Phase::kBackward:
      return WorkPart::kBackward;
    case Phase::kOptimizer:
      return WorkPart::kOptimizer;
  }
  return WorkPart::kHost;
}

constexpr size_t index(WorkPart part) { return static_cast<size_t>(part); }

using TimesByPart = std::array<Intervals, kWorkPartNames.size()>;

// By part, the time between two of its intervals with none of another part in between.
TimesByPart gaps_within(const TimesByPart& times) {
  struct Stretch {
    Interval interval;
    size_t part;
  };
  std::vector<Stretch> all;
  for (size_t part = 0; part < times.size(); ++part) {
    for (const Interval& interval : times[part]) all.push_back({interval, part});
  }
  std::ranges::sort(all, {}, [](const Stretch& stretch) { return stretch.interval.begin_ns; });
  TimesByPart gaps;
  for (size_t i = 1; i < all.size(); ++i) {
    const Interval gap{all[i - 1].interval.end_ns, all[i].interval.begin_ns};
    if (all[i - 1].part == all[i].part && gap.length_ns() > 0) gaps[all[i].part].push_back(gap);
  }
  return gaps;
}

}  // namespace

std::optional<PhaseTimes> phase_times(const Trace& trace, const DeviceWorkTable& table,
                                      const HostTree& tree, const std::vector<Step>& steps) {
  if (steps.empty()) return std::nullopt;
  const Intervals windows = windows_of(steps);
  const auto count = static_cast<int64_t>(steps.size());

  Gathered host = gather_phases(trace, tree, windows),
           device = gather_launched(table, tree, windows);
  PhaseTimes times;
  for (size_t i = 0; i < kPhaseCount; ++i) {
    times[i].host_ns = total_ns(host[i].take()) / count;
    times[i].device_ns = total_ns(device[i].take()) / count;
  }
  const auto is_there = [&](Phase phase) { return times[static_cast<size_t>(phase)].host_ns > 0; };
  if (!is_there(Phase::kBackward) && !is_there(Phase::kOptimizer)) return std::nullopt;
  return times;
}

std::vector<HostPhases> host_phases(const Trace& trace, const HostTree& tree,
                                    const std::vector<Step>& steps) {
  const Intervals windows = windows_of(steps);
  Gathered gathered = gather_phases(trace, tree, windows);
  std::array<Intervals, kPhaseCount> times;
  for (size_t i = 0; i < kPhaseCount; ++i) times[i] = gathered[i].take();
  const Intervals dataloader = loader_waits(trace, tree, windows);
  std::vector<HostPhases> phases;
  phases.reserve(steps.size());
  for (const Step& step : steps) {
    HostPhases& of_step = phases.emplace_back();
    for (size_t i = 0; i < kPhaseCount; ++i) {
      of_step.phase_ns[i] = total_within_ns(times[i], step.window);
    }
    of_step.dataloader_ns = total_within_ns(dataloader, step.window);
  }
  return phases;
}

std::string_view place_of(WorkPart part) {
  switch (part) {
    case WorkPart::kDataLoader:
      return "in the DataLoader";
    case WorkPart::kForward:
      return "in forward or the script around it";
    case WorkPart::kBackward:
      return "in backward";
    case WorkPart::kOptimizer:
      return "in the optimizer";
    case WorkPart::kHost:
      return "in its script or machine, in no phase alone";
  }
  return "";
}

OwnWork own_work(const Trace& trace, const DeviceWorkTable& table, const HostTree& tree,
                 const std::vector<Step>& steps, const Intervals& exposed) {
  OwnWork work{};
  if (steps.empty()) return work;
  Intervals left = subtract(windows_of(steps), exposed);
  const Intervals own = left;
  const auto give = [&](WorkPart part, const Intervals& times) {
    Intervals rest = subtract(left, times);
    work[index(part)] += total_ns(left) - total_ns(rest);
    left = std::move(rest);
  };
  Gathered launched = gather_launched(table, tree, own), host = gather_phases(trace, tree, own);
  TimesByPart times;
  for (const Phase phase : {Phase::kForward, Phase::kBackward, Phase::kOptimizer}) {
    give(part_of(phase), launched[static_cast<size_t>(phase)].take());
    times[index(part_of(phase))] = host[static_cast<size_t>(phase)].take();
  }
  times[index(WorkPart::kDataLoader)] = loader_waits(trace, tree, own);
  for (const TimesByPart& covered : {times, gaps_within(times)}) {
    for (size_t part = 0; part < covered.size(); ++part) {
      give(static_cast<WorkPart>(part), covered[part]);
    }
  }
  give(WorkPart::kHost, own);
  for (int64_t& part_ns : work) part_ns /= static_cast<int64_t>(steps.size());
  return work;
}

}  // namespace redline::trace
