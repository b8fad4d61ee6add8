// Rules of time in which the host did something that the profiler did not see.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/format.h"
#include "base/terminal.h"
#include "base/text_search.h"
#include "trace/advice/advice_host.h"
#include "trace/advice/advice_rules.h"
#include "trace/analysis/critical_path.h"
#include "trace/model/slice_view.h"

namespace redline::trace {
namespace {

constexpr double kLowUtilization = 0.5;  // the TensorBoard plugin's
constexpr double kUnknownShare = 0.10;
constexpr double kRangeShare = 0.20;
constexpr size_t kRangeColumns = 30;
constexpr double kMostOfRange = 0.8;  // a range that spends less of itself so runs operators

bool has_stacks(const Trace& trace) {
  const auto& categories = trace.slices().category;
  return std::ranges::find(categories, Category::kPythonFunction) != categories.end();
}

// Frameworks and libraries mark ranges, too: "DistributedDataParallel.forward", "## forward ##",
// "[pl][profile]run_training_batch", "Torch-Compiled Region: 0/0", "ncclAllReduce".
bool is_of_the_program(std::string_view range) {
  return range.find_first_of(".:#[(") == std::string_view::npos && !range.starts_with("Torch") &&
         !range.starts_with("nccl");
}

// A range of the program, and its time on the critical path in which no operator ran.
struct OwnTime {
  std::string_view name;
  int64_t on_path_ns = 0;
  std::vector<SliceId> calls;
};

std::map<std::string_view, OwnTime> own_times_by_name(const Activity& activity) {
  const Analysis& analysis = activity.analysis();
  const Trace& trace = activity.trace();
  std::map<std::string_view, OwnTime> times;
  walk_critical_path(
      trace, NameKinds(trace), analysis.device_work, analysis.steps, [&](const PathPart& part) {
        if (part.kind != BreakdownPart::kOther || !part.slice) return;
        const bool is_node = is_host_node(trace.slices().category[part.slice.value]);
        const SliceId range =  // else around a function of Python
            is_node ? part.slice : analysis.host_tree.parent[part.slice.value];
        if (!range || trace.slices().category[range.value] != Category::kUserAnnotation) return;
        const std::string_view name = name_of(trace, range);
        if (!is_of_the_program(name)) return;
        OwnTime& own = times[name];
        own.name = name;
        own.on_path_ns += part.interval.length_ns();
        own.calls.push_back(range);
      });
  return times;
}

// The one with the most such time, if that is much of the steps and most of the range. Otherwise it
// has no calls.
OwnTime longest_own_range(const Activity& activity) {
  const auto is_long = [&](int64_t ns) {
    return static_cast<double>(ns) > kRangeShare * static_cast<double>(activity.steps_ns());
  };
  const bool may_be = std::ranges::any_of(
      activity.analysis().operators,
      [&](const OperatorRow& row) { return is_long(row.self_ns) && is_of_the_program(row.name); });
  OwnTime longest;
  if (!activity.has_operators() || !may_be) return longest;
  for (auto& [name, own] : own_times_by_name(activity)) {
    const auto whole_ns = static_cast<double>(total_ns(activity.time_of(own.calls)));
    if (!is_long(own.on_path_ns) || own.on_path_ns <= longest.on_path_ns) continue;
    if (static_cast<double>(own.on_path_ns) < kMostOfRange * whole_ns) continue;
    longest = std::move(own);
  }
  std::ranges::sort(longest.calls);
  longest.calls.erase(std::unique(longest.calls.begin(), longest.calls.end()), longest.calls.end());
  return longest;
}

// When no device works and no thread runs an operator or a call, and no other rule names the cause:
// a wait for a batch or in a collective, or a range of the program.
Intervals unknown_time(const Activity& activity) {
  const Trace& trace = activity.trace();
  const NameKinds names(trace);
  const Intervals idle = subtract(activity.steps(), activity.device_time());
  Coverage known(idle);
  for_each_slice(trace, [&](SliceId slice, Category category) {
    const uint8_t kinds = names.of(trace.slices().name[slice.value]);
    const bool is_named = category == Category::kUserAnnotation &&
                          (kinds & (kDataLoaderName | kCommunicationOpName)) != 0;
    if (is_named || is_operator_or_call(category)) known.add(interval_of(trace, slice));
  });
  for (const SliceId range : longest_own_range(activity).calls) {
    known.add(interval_of(trace, range));
  }
  return subtract(idle, known.take());
}

std::vector<SliceId> overheads_of(const Activity& activity, const Intervals& time) {
  std::vector<SliceId> overheads;
  for_each_slice(activity.trace(), [&](SliceId slice, Category category) {
    if (category != Category::kOverhead) return;
    if (total_within_ns(time, interval_of(activity.trace(), slice)) > 0) overheads.push_back(slice);
  });
  return overheads;
}

// The innermost slice of the thread that has most of the time and for which `counts` holds.
template <typename Predicate>
std::string_view innermost_of(const Trace& trace, const Track& thread, Interval time,
                              Predicate counts) {
  const auto& slices = trace.slices();
  const int64_t middle_ns = time.begin_ns + time.length_ns() / 2;
  std::string_view innermost;
  for (const Lane& lane : lanes_of(trace, thread)) {
    const auto begins = of_lane(slices.begin_ns, lane);
    const auto after = std::ranges::upper_bound(begins, middle_ns);
    if (after == begins.begin()) continue;
    const SliceId around{lane.first.value + static_cast<uint32_t>(after - begins.begin()) - 1};
    const int64_t within_ns = std::min(slices.end_ns[around.value], time.end_ns) -
                              std::max(slices.begin_ns[around.value], time.begin_ns);
    const std::string_view name = name_of(trace, around);
    if (counts(slices.category[around.value], name) && 2 * within_ns >= time.length_ns()) {
      innermost = name;
    }
  }
  return innermost;
}

// The range that the thread was in. An optimizer's that calls a closure says nothing: forward and
// backward run in it.
std::string_view range_of(const Activity& activity, const Track& thread, Interval time) {
  const bool has_closures = !activity.analysis().host_tree.closures.empty();
  return innermost_of(activity.trace(), thread, time,
                      [&](Category category, std::string_view name) {
                        return category == Category::kUserAnnotation && !is_any_step_name(name) &&
                               !(has_closures && name.starts_with("Optimizer."));
                      });
}

// ", the longest in train.py(42): augment" or, where no function is known and one such time a step
// is half of all, in a range. Of the threads that launch; "" if unknown.
std::string longest_place(const Activity& activity, const Intervals& time) {
  const Trace& trace = activity.trace();
  const std::vector<bool> launches = launching_lanes(activity);
  const Interval longest = *std::ranges::max_element(time, {}, &Interval::length_ns);
  std::string_view range;
  for (const Track& track : trace.tracks()) {
    if (track.lane_count == 0 || !launches[track.first_lane.value]) continue;
    const std::string_view place = place_of(trace, track, longest);
    if (!place.empty()) return fmt::format(", the longest in {}", place);
    if (range.empty()) range = range_of(activity, track, longest);
  }
  const bool is_much = 2 * activity.step_count() * longest.length_ns() >= total_ns(time);
  if (range.empty() || !is_much) return "";
  return fmt::format(", the longest in \"{}\"", elide(range, kRangeColumns));
}

std::string what_was_not_seen(const Activity& activity, const Intervals& time) {
  const bool has_frames = has_stacks(activity.trace());
  const std::string place = longest_place(activity, time);
  if (activity.lacks_pytorch()) {
    return fmt::format("no call ran: code on the host, or files{}{}", place,
                       has_frames ? "" : " (NVTX ranges would show more)");
  }
  return fmt::format("no operator ran: Python between operators, or files{}{}", place,
                     has_frames ? "" : " (record --stacks shows it)");
}

// The end of the sentence, which says how to see more of the range. `call` is its longest call.
std::string what_shows_more(const Activity& activity, SliceId call) {
  const Trace& trace = activity.trace();
  const auto place = place_of(trace, track_of(trace, call), interval_of(trace, call));
  if (!place.empty()) return fmt::format(", the longest in {}", place);
  if (activity.lacks_python()) return ": narrower ranges in it show which";
  return has_stacks(trace) ? ": narrower ranges show which"
                           : ": narrower ranges, or record --stacks, show which";
}

}  // namespace

std::string_view place_of(const Trace& trace, const Track& thread, Interval time) {
  return innermost_of(trace, thread, time, [](Category category, std::string_view name) {
    return category == Category::kPythonFunction && contains(name, ".py(") &&
           !name.starts_with("torch/");
  });
}

// For time in which nothing went on that the profiler saw, so that no other rule can name the
// cause.
std::optional<Finding> low_gpu_utilization(const Activity& activity) {
  const Analysis& analysis = activity.analysis();
  const std::vector<int32_t> working = working_devices(analysis.device_work);
  const GpuUse* lowest = nullptr;
  for (const GpuUse& gpu : analysis.gpus) {
    if (!std::ranges::binary_search(working, gpu.device)) continue;
    if (lowest == nullptr || gpu.utilization < lowest->utilization) lowest = &gpu;
  }
  if (lowest == nullptr || lowest->utilization >= kLowUtilization) return std::nullopt;
  const Intervals unknown = unknown_time(activity);
  const std::vector<SliceId> overheads = overheads_of(activity, unknown);
  const Intervals unseen = subtract(unknown, activity.time_of(overheads));
  const int64_t unseen_ns = total_ns(unseen), overhead_ns = total_ns(unknown) - unseen_ns;
  const StepShare part(activity, std::max(unseen_ns, overhead_ns));
  if (part.share < kUnknownShare) return std::nullopt;
  Finding finding;
  finding.rule = "low_gpu_utilization";
  if (!activity.has_operators() && !activity.lacks_pytorch()) {
    finding.detail =
        "operators were not recorded, so nobody can tell what the host did meanwhile: record them, "
        "too (torch.profiler's ProfilerActivity.CPU)";
  } else if (overhead_ns > unseen_ns) {
    finding.detail = fmt::format(
        "in {}{} the driver or the profiler itself was at work (\"{}\"): a run that is not "
        "recorded shows what is left of it",
        format_ns(part.per_step_ns), activity.a_step(),
        longest(activity.trace(), overheads).front().name);
  } else {
    finding = finding_on("low_gpu_utilization", activity, unseen_ns);
    finding.detail = fmt::format("in {}{} {}", format_ns(part.per_step_ns), activity.a_step(),
                                 what_was_not_seen(activity, unseen));
    finding.knob = larger_batch_knob(activity);
  }
  finding.headline = fmt::format("GPU {} runs kernels {} of the time", lowest->device,
                                 format_percent(lowest->utilization));
  finding.tell("utilization_share", lowest->utilization);
  finding.tell("device", lowest->device);
  finding.events = longest_idle_gaps(activity);
  return finding;
}

// Neither the DataLoader's nor an operator's: a reader of the program's own, or a sleep.
std::optional<Finding> range_without_operators(const Activity& activity) {
  const OwnTime own = longest_own_range(activity);
  if (own.calls.empty()) return std::nullopt;
  const StepShare part(activity, own.on_path_ns);
  Finding finding = finding_on("range_without_operators", activity, own.on_path_ns);
  finding.headline = fmt::format("A range without operators: {}{}", format_ns(part.per_step_ns),
                                 activity.a_step());
  finding.tell("calls", own.calls.size());
  finding.events = longest(activity.trace(), own.calls);
  finding.detail =
      fmt::format("{} of {} in \"{}\", whose code waits or computes without operators{}",
                  format_percent(part.share), activity.the_step(), elide(own.name, kRangeColumns),
                  what_shows_more(activity, finding.events.front().slice));
  return finding;
}

}  // namespace redline::trace
