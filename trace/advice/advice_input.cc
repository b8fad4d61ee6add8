#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/format.h"
#include "base/statistics.h"
#include "base/text_search.h"
#include "trace/advice/advice_rules.h"
#include "trace/model/loader_workers.h"
#include "trace/model/slice_view.h"

namespace redline::trace {
namespace {

constexpr double kDataLoaderShare = 0.05;  // the TensorBoard plugin's
constexpr double kCopyShare = 0.005;
constexpr double kBusyShare = 0.8;
constexpr double kWaitingShare = 0.5;  // a worker that is busy for less than this mostly waits
constexpr double kFullMachine = 0.9;
constexpr size_t kEnoughWaits = 8;  // one in so many waits counts as few

/// Mean of the samples of all "busy %" counters whose names begin with `track`
/// (profiler/host/host_samples.h), as a share; nullopt if the trace has none.
std::optional<double> mean_busy_share(const Trace& trace, std::string_view track) {
  double sum = 0;
  size_t count = 0;
  for (const Counter& counter : trace.counters()) {
    const std::string_view name = trace.string(counter.name);
    if (!name.starts_with(track) || !name.ends_with("busy %")) continue;
    for (const double value : counter.value) sum += value;
    count += counter.value.size();
  }
  if (count == 0) return std::nullopt;
  return sum / (100 * static_cast<double>(count));
}

/// Explains the wait for a loader that has workers: how busy they are decides what helps.
void explain_workers(const Activity& activity, double share, Finding& finding) {
  const Trace& trace = activity.trace();
  const auto workers = mean_busy_share(trace, "DataLoader worker ");
  const auto cores = mean_busy_share(trace, "CPU: ");
  if (workers) finding.tell("workers_busy_share", *workers);
  if (workers && cores) finding.tell("cores_busy_share", *cores);
  if (workers && cores && *cores > kFullMachine) {
    finding.detail =
        fmt::format("all cores are busy {} of the time, and each worker has {} of one: {}",
                    format_percent(*cores), format_percent(*workers), "less work for each sample");
  } else if (workers && *workers >= kBusyShare) {
    finding.detail = fmt::format("the workers are busy {} of the time: use more workers",
                                 format_percent(*workers));
  } else if (workers && *workers <= kWaitingShare) {
    finding.detail = fmt::format(
        "the workers compute {} of the time and wait for the rest, for instance for the disk: use "
        "more workers",
        format_percent(*workers));
  } else {
    finding.detail = fmt::format(
        "the workers do not keep up, {} of {}: use more workers, or do less work for each sample",
        format_percent(share), activity.the_step());
  }
}

// Explains the wait for a loader without workers, whose batches take so long each.
void explain_single(const Activity& activity, std::span<const SliceId> waits, double share,
                    int64_t batch_ns, Finding& finding) {
  if (batch_ns < kHandOverNs) {
    finding.detail = fmt::format(
        "num_workers is 0: a batch takes {}, and handing one over from a worker about as long; a "
        "larger batch may help, or indexing the tensors if all data are in memory",
        format_ns(batch_ns));
    finding.knob = larger_batch_knob(activity);
    return;
  }
  const auto& kinds = activity.analysis().host_tree.kinds_around;
  const bool in_steps = std::ranges::any_of(
      waits, [&](SliceId slice) { return (kinds[slice.value] & kStepName) != 0; });
  const bool ahead = !in_steps && activity.analysis().steps.front().number.has_value();
  finding.detail = fmt::format(
      "num_workers is 0: {}, {} of {}",
      ahead ? "a thread makes the batches beside the steps" : "batches are made between the steps",
      format_percent(share), activity.the_step());
}

// If a few of many waits take most of the time, epochs begin with new workers that have fetched
// nothing ahead.
void explain_epoch_begins(const Activity& activity, std::span<const SliceId> waits,
                          Finding& finding) {
  if (waits.size() < kEnoughWaits) return;
  std::vector<int64_t> lengths;
  for (const SliceId wait : waits) lengths.push_back(duration_ns(activity.trace(), wait));
  std::sort(lengths.rbegin(), lengths.rend());
  const auto few = static_cast<std::ptrdiff_t>(waits.size() / kEnoughWaits);
  const int64_t long_ns = std::accumulate(lengths.begin(), lengths.begin() + few, int64_t{0});
  const int64_t all_ns = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  if (static_cast<double>(long_ns) < kBusyShare * static_cast<double>(all_ns)) return;
  finding.detail = fmt::format(
      "{} of it in {} of {} waits, as where an epoch begins: persistent_workers=True keeps the "
      "workers from one epoch to the next",
      format_percent(static_cast<double>(long_ns) / static_cast<double>(all_ns)), few,
      waits.size());
  finding.knob = "persistent_workers=off,on";
}

// The copies and the calls that made them, because the host waits for a copy from pageable memory.
std::vector<SliceId> with_launchers(const Activity& activity, std::span<const SliceId> copies) {
  std::vector<SliceId> all(copies.begin(), copies.end());
  for (const SliceId copy : copies) {
    if (const SliceId call = activity.launcher(copy)) all.push_back(call);
  }
  return all;
}

// Whether most bytes already go to the devices from pinned memory, as the batches of a loader that
// pins them do.
bool pins_most(const Analysis& analysis) {
  int64_t pinned = 0, pageable = 0;
  for (const CopyRow& row : analysis.copies) {
    if (contains(row.kind, "Pinned -> Device")) pinned = saturating_sum(pinned, row.bytes);
    if (contains(row.kind, "Pageable -> Device")) pageable = saturating_sum(pageable, row.bytes);
  }
  return pinned > pageable;
}

}  // namespace

std::optional<Finding> dataloader_wait(const Activity& activity) {
  int64_t wait_ns =
      activity.analysis().breakdown.of(BreakdownPart::kDataLoader) * activity.step_count();
  // A job may have several loaders: those that take longer count.
  std::vector<SliceId> waits, others;
  for (const SliceId slice : activity.of(WorkKind::kDataLoader)) {
    const bool has_workers = !contains(name_of(activity.trace(), slice), "SingleProcess");
    (has_workers ? waits : others).push_back(slice);
  }
  const bool single = total_ns(activity.time_of(others)) > total_ns(activity.time_of(waits));
  int64_t made_ns = 0;
  if (single) {
    waits = std::move(others);
    // Each batch takes about as long as the next, unless something else stops the thread, such as
    // Python's garbage collection. Of workers' batches, many in a row may be ready.
    made_ns = activity.without_stalls_ns(activity.time_of(waits));
    wait_ns = std::min(wait_ns, made_ns);
  }
  const StepShare part(activity, wait_ns);
  if (part.share <= kDataLoaderShare) return std::nullopt;
  Finding finding = finding_on("dataloader_wait", activity, wait_ns);
  finding.headline = fmt::format("DataLoader: training waits {}{}", format_ns(part.per_step_ns),
                                 activity.a_step());
  finding.events = longest(activity.trace(), waits);
  finding.knob = workers_knob(activity);
  if (single) {
    explain_single(activity, waits, part.share, made_ns / std::ssize(waits), finding);
  } else {
    explain_workers(activity, part.share, finding);
    explain_epoch_begins(activity, waits, finding);
  }
  return finding;
}

std::optional<Finding> pageable_copies(const Activity& activity) {
  const auto copies = activity.of(WorkKind::kPageableCopy);
  constexpr std::array kOwn = {WorkKind::kPageableCopy};
  const int64_t exposed_ns =
      activity.alone_ns(activity.time_of(with_launchers(activity, copies)), kOwn);
  const StepShare part(activity, exposed_ns);
  if (part.share <= kCopyShare) return std::nullopt;
  Finding finding = finding_on("pageable_copies", activity, exposed_ns);
  const int64_t copy_ns = total_ns(activity.time_of(copies)) / activity.step_count();
  const bool is_of_loader = !activity.lacks_dataloader() && !pins_most(activity.analysis());
  finding.headline = fmt::format("Pageable host-to-device copies: {}{}",
                                 format_ns(part.per_step_ns), activity.a_step());
  finding.detail = fmt::format(
      "the host waits for each, {} of copying{}: {} and non_blocking=True copy beside kernels",
      format_ns(copy_ns), activity.a_step(),
      is_of_loader ? "pin_memory=True" : "tensor.pin_memory()");
  finding.tell("copy_ns", copy_ns);
  finding.tell("copies", copies.size());
  finding.events = longest(activity.trace(), copies);
  if (is_of_loader) finding.knob = "pin_memory=off,on";
  return finding;
}

}  // namespace redline::trace
