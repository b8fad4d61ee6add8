#include "trace/breakdown.h"

#include <optional>

#include "trace/intervals.h"
#include "trace/slice_view.h"

namespace redline::trace {
namespace {

constexpr std::array<StepPart, kStepPartCount - 1> kPriority = {
    StepPart::kKernel,  StepPart::kMemcpy,     StepPart::kMemset, StepPart::kCommunication,
    StepPart::kRuntime, StepPart::kDataLoader, StepPart::kCpu};

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

using SlicesOfParts = std::array<std::vector<Interval>, kStepPartCount>;

StepPart device_part_of(const DeviceWork& row) {
  if (row.category == Category::kMemcpy) return StepPart::kMemcpy;
  if (row.category == Category::kMemset) return StepPart::kMemset;
  return row.is_communication ? StepPart::kCommunication : StepPart::kKernel;
}

// None for steps, which contain everything.
std::optional<StepPart> host_part_of(uint8_t kinds) {
  if ((kinds & kStepName) != 0) return std::nullopt;
  if ((kinds & kDataLoaderName) != 0) return StepPart::kDataLoader;
  return (kinds & kCommunicationOpName) != 0 ? StepPart::kCommunication : StepPart::kCpu;
}

void gather_host(const Trace& trace, const NameKinds& names, const HostTree& tree,
                 SlicesOfParts& slices) {
  const auto& columns = trace.slices();
  for_each_slice(trace, [&](SliceId slice, Category category) {
    if (category == Category::kRuntime || category == Category::kDriver) {
      slices[static_cast<size_t>(StepPart::kRuntime)].push_back(interval_of(trace, slice));
      return;
    }
    if (!is_host_node(category)) return;
    const auto part = host_part_of(names.of(columns.name[slice.value]));
    if (!part) return;
    // Inside an operator of the same part, a slice adds nothing.
    const SliceId parent = tree.parent[slice.value];
    if (parent && host_part_of(names.of(columns.name[parent.value])) == part) return;
    slices[static_cast<size_t>(*part)].push_back(interval_of(trace, slice));
  });
}

}  // namespace

bool is_dataloader_wait(std::string_view name) {
  constexpr std::string_view kEnd = ".__next__";
  if (starts_with(name, "enumerate(DataPipe)#")) return true;
  return starts_with(name, "enumerate(DataLoader)#") && name.size() > kEnd.size() &&
         name.substr(name.size() - kEnd.size()) == kEnd;
}

StepBreakdown break_down_steps(const Trace& trace, const NameKinds& names,
                               const DeviceTable& device, const HostTree& tree,
                               const std::vector<Step>& steps) {
  StepBreakdown breakdown;
  if (steps.empty()) return breakdown;
  std::vector<Interval> windows;
  windows.reserve(steps.size());
  for (const Step& step : steps) windows.push_back(step.window);

  SlicesOfParts slices;
  for (const DeviceWork& row : device.rows) {
    slices[static_cast<size_t>(device_part_of(row))].push_back(row.interval);
  }
  gather_host(trace, names, tree, slices);
  const auto count = static_cast<int64_t>(steps.size());
  Intervals left = merge(std::move(windows));
  for (const StepPart part : kPriority) {
    const auto index = static_cast<size_t>(part);
    const Intervals taken = intersect(left, merge(std::move(slices[index])));
    breakdown.part_ns[index] = total_ns(taken) / count;
    left = subtract(left, taken);
  }
  breakdown.part_ns[static_cast<size_t>(StepPart::kOther)] = total_ns(left) / count;
  return breakdown;
}

}  // namespace redline::trace
