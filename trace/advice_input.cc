#include <fmt/format.h>

#include <algorithm>

#include "trace/advice_rules.h"
#include "trace/format.h"
#include "trace/slice_view.h"

namespace redline::trace {
namespace {

constexpr double kDataLoaderShare = 0.05;  // the TensorBoard plugin's
constexpr double kCopyShare = 0.005;

// Each copy with the call that made it: from pageable memory the host waits for it.
std::vector<SliceId> with_launchers(const Activity& activity, std::span<const SliceId> copies) {
  std::vector<SliceId> all(copies.begin(), copies.end());
  for (const SliceId copy : copies) {
    if (const SliceId call = activity.launcher(copy)) all.push_back(call);
  }
  return all;
}

}  // namespace

std::optional<Finding> dataloader_wait(const Activity& activity) {
  const auto waits = activity.of(Deed::kDataLoader);
  const int64_t wait_ns =
      activity.analysis().breakdown.of(StepPart::kDataLoader) * activity.step_count();
  const StepShare part(activity, wait_ns);
  if (part.share <= kDataLoaderShare) return std::nullopt;
  const bool single = std::any_of(waits.begin(), waits.end(), [&](SliceId slice) {
    return name_of(activity.trace(), slice).find("SingleProcess") != std::string_view::npos;
  });
  Finding finding = finding_on("dataloader_wait", activity, wait_ns);
  finding.headline =
      fmt::format("DataLoader: training waits {} a step", format_ns(part.per_step_ns));
  finding.detail =
      single ? fmt::format("num_workers is 0: batches are made between the steps, {} of the step",
                           format_percent(part.share))
             : fmt::format(
                   "the workers do not keep up, {} of the step: more of them, or less work "
                   "for each sample",
                   format_percent(part.share));
  finding.events = longest(activity.trace(), waits);
  finding.knob = "num_workers=0..16";
  return finding;
}

std::optional<Finding> pageable_copies(const Activity& activity) {
  const auto copies = activity.of(Deed::kPageableCopy);
  constexpr std::array kOwn = {Deed::kPageableCopy};
  const int64_t exposed_ns = total_ns(
      subtract(activity.time_of(with_launchers(activity, copies)), activity.device_time_but(kOwn)));
  const StepShare part(activity, exposed_ns);
  if (part.share <= kCopyShare) return std::nullopt;
  Finding finding = finding_on("pageable_copies", activity, exposed_ns);
  const int64_t copy_ns = total_ns(activity.time_of(copies)) / activity.step_count();
  finding.headline =
      fmt::format("Pageable host-to-device copies: {} a step", format_ns(part.per_step_ns));
  finding.detail = fmt::format(
      "the host waits for each of {} copies, {} of copying a step: pin_memory=True and "
      "non_blocking=True copy beside kernels",
      format_count(static_cast<int64_t>(copies.size())), format_ns(copy_ns));
  finding.evidence.emplace_back("copy_ns", static_cast<double>(copy_ns));
  finding.evidence.emplace_back("copies", static_cast<double>(copies.size()));
  finding.events = longest(activity.trace(), copies);
  finding.knob = "pin_memory=off,on";
  return finding;
}

}  // namespace redline::trace
