#include "trace/analysis/breakdown.h"

#include <optional>

#include "base/intervals.h"
#include "trace/analysis/loader_waits.h"
#include "trace/model/category.h"
#include "trace/model/slice_view.h"

namespace redline::trace {
namespace {

// The times that each part covers within the given ones (the steps, or what is left of them).
class PartTimes {
 public:
  explicit PartTimes(const Intervals& within) : parts_(kBreakdownPartCount, Coverage(within)) {}

  void add(BreakdownPart part, Interval interval) {
    parts_[static_cast<size_t>(part)].add(interval);
  }
  [[nodiscard]] Intervals take(BreakdownPart part) {
    return parts_[static_cast<size_t>(part)].take();
  }

 private:
  std::vector<Coverage> parts_;
};

// nullopt for steps, because they contain everything.
std::optional<BreakdownPart> host_part_of(uint8_t kinds) {
  if ((kinds & kStepName) != 0) return std::nullopt;
  if ((kinds & kDataLoaderName) != 0) return BreakdownPart::kDataLoader;
  return (kinds & kCommunicationOpName) != 0 ? BreakdownPart::kCommunication : BreakdownPart::kCpu;
}

std::optional<BreakdownPart> host_part_of(const Trace& trace, const NameKinds& names,
                                          SliceId slice) {
  return host_part_of(names.of(trace.slices().name[slice.value]));
}

// Adds runtime calls and collectives.
void gather_host(const Trace& trace, const NameKinds& names, PartTimes& times) {
  for_each_slice(trace, [&](SliceId slice, Category category) {
    if (is_launch(category)) {
      times.add(BreakdownPart::kRuntime, interval_of(trace, slice));
    } else if (is_host_node(category)) {
      const auto part = host_part_of(trace, names, slice);
      if (part == BreakdownPart::kCommunication) times.add(*part, interval_of(trace, slice));
    }
  });
}

// What is left of `left` without the time of all other operators. Lanes are subtracted one after
// the other, because the outer ones leave little for the next. Lanes that hold little are collected
// first, because each subtraction copies all that is left.
Intervals without_operators(const Trace& trace, const NameKinds& names, const HostTree& tree,
                            Intervals left) {
  const auto is_operator = [&](SliceId slice) {
    return host_part_of(trace, names, slice) == BreakdownPart::kCpu;
  };
  constexpr size_t kWorthIt = 4;
  std::vector<Interval> taken;
  const auto take_away = [&] {
    left = subtract(left, merge(std::move(taken)));
    taken = {};
  };
  for (const Lane& lane : trace.lanes()) {
    Coverage covered(left);
    for (uint32_t i = lane.first.value; i < lane.end(); ++i) {
      if (!is_host_node(trace.slices().category[i]) || !is_operator({i})) continue;
      if (tree.parent[i] && is_operator(tree.parent[i])) continue;  // its parent covers it
      covered.add(interval_of(trace, {i}));
    }
    const Intervals of_lane = covered.take();
    taken.insert(taken.end(), of_lane.begin(), of_lane.end());
    if (taken.size() * kWorthIt > left.size()) take_away();
  }
  take_away();
  return left;
}

}  // namespace

StepBreakdown break_down_steps(const Trace& trace, const NameKinds& names,
                               const DeviceWorkTable& device, const HostTree& tree,
                               const std::vector<Step>& steps) {
  StepBreakdown breakdown;
  if (steps.empty()) return breakdown;
  const auto count = static_cast<int64_t>(steps.size());
  Intervals left = windows_of(steps);
  breakdown.of_steps.resize(steps.size());
  const auto give = [&](BreakdownPart part, Intervals rest) {
    const auto p = static_cast<size_t>(part);
    breakdown.part_ns[p] = (total_ns(left) - total_ns(rest)) / count;
    for (size_t i = 0; i < steps.size(); ++i) {
      breakdown.of_steps[i][p] =
          total_within_ns(left, steps[i].window) - total_within_ns(rest, steps[i].window);
    }
    left = std::move(rest);
  };
  // The device's parts come first, because they leave little of the steps for the others.
  const Intervals in_steps = left;
  PartTimes on_device(in_steps);
  for (const DeviceWork& row : device.rows) on_device.add(part_of(row), row.interval);
  for (const BreakdownPart part :
       {BreakdownPart::kKernel, BreakdownPart::kMemcpy, BreakdownPart::kMemset}) {
    give(part, subtract(left, on_device.take(part)));
  }
  const Intervals beside_device = left;
  PartTimes on_host(beside_device);
  gather_host(trace, names, on_host);
  for (const Interval& call : on_device.take(BreakdownPart::kCommunication)) {
    on_host.add(BreakdownPart::kCommunication, call);
  }
  for (const BreakdownPart part : {BreakdownPart::kCommunication, BreakdownPart::kRuntime}) {
    give(part, subtract(left, on_host.take(part)));
  }
  give(BreakdownPart::kDataLoader, subtract(left, loader_waits(trace, tree, beside_device)));
  give(BreakdownPart::kCpu, without_operators(trace, names, tree, left));
  give(BreakdownPart::kOther, {});
  return breakdown;
}

}  // namespace redline::trace
