#include "trace/breakdown.h"

#include <optional>

#include "trace/category.h"
#include "trace/communication.h"
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

StepPart host_part_of(std::string_view name) {
  if (is_dataloader_wait(name)) return StepPart::kDataLoader;
  return is_communication_op(name) ? StepPart::kCommunication : StepPart::kCpu;
}

std::optional<StepPart> part_of(Category category, std::string_view name) {
  switch (category) {
    case Category::kKernel:
      return is_communication_kernel(name) ? StepPart::kCommunication : StepPart::kKernel;
    case Category::kMemcpy:
      return StepPart::kMemcpy;
    case Category::kMemset:
      return StepPart::kMemset;
    case Category::kRuntime:
    case Category::kDriver:
      return StepPart::kRuntime;
    case Category::kCpuOp:
    case Category::kUserAnnotation:
      if (is_step_name(name)) return std::nullopt;
      return host_part_of(name);
    default:
      return std::nullopt;
  }
}

}  // namespace

bool is_dataloader_wait(std::string_view name) {
  constexpr std::string_view kEnd = ".__next__";
  if (starts_with(name, "enumerate(DataPipe)#")) return true;
  return starts_with(name, "enumerate(DataLoader)#") && name.size() > kEnd.size() &&
         name.substr(name.size() - kEnd.size()) == kEnd;
}

StepBreakdown break_down_steps(const Trace& trace, const std::vector<Step>& steps) {
  StepBreakdown breakdown;
  if (steps.empty()) return breakdown;
  std::vector<Interval> windows;
  windows.reserve(steps.size());
  for (const Step& step : steps) windows.push_back(step.window);

  std::array<std::vector<Interval>, kStepPartCount> slices;
  for_each_slice(trace, [&](SliceId slice, Category category) {
    if (const auto part = part_of(category, name_of(trace, slice))) {
      slices[static_cast<size_t>(*part)].push_back(interval_of(trace, slice));
    }
  });
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
