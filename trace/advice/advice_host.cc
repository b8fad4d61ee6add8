#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/format.h"
#include "base/terminal.h"
#include "base/text_search.h"
#include "trace/advice/advice_rules.h"
#include "trace/analysis/critical_path.h"
#include "trace/model/slice_view.h"

namespace redline::trace {
namespace {

constexpr double kLaunchShare = 0.15;
constexpr int64_t kManyKernels = 100;  // a step
constexpr double kWaitShare = 0.02;
constexpr double kTinyOperatorShare = 0.10;
constexpr int64_t kTinyOperatorNs = 20'000;
constexpr int64_t kManyTinyOperators = 200;  // a step
constexpr double kLowUtilization = 0.5;      // the TensorBoard plugin's
constexpr double kUnknownShare = 0.10;
constexpr double kRangeShare = 0.20;
constexpr size_t kRangeColumns = 30;
constexpr double kMostOfRange = 0.8;  // a range that spends less of itself so runs operators

// A launch takes some microseconds; one that takes a thousand was not on a core, or waited.
constexpr int64_t kStalledLaunchNs = 1'000'000;
constexpr double kStalledShare = 0.03;

// Calls in which the host waits for the GPU: those that synchronise, and copies to pageable memory.
std::vector<SliceId> waiting_calls(const Activity& activity) {
  const auto waits = activity.of(WorkKind::kSynchronization);
  std::vector<SliceId> calls(waits.begin(), waits.end());
  for (const SliceId copy : activity.of(WorkKind::kCopyToPageable)) {
    if (const SliceId call = activity.launcher(copy)) calls.push_back(call);
  }
  return calls;
}

// What the program did that made it wait: the outermost aten operator around the call, or the call
// itself.
std::string reason_of(const Activity& activity, SliceId call) {
  const Trace& trace = activity.trace();
  std::string_view reason = name_of(trace, call);
  const auto& parents = activity.analysis().host_tree.parent;
  for (SliceId at = parents[call.value]; at; at = parents[at.value]) {
    if (name_of(trace, at).starts_with("aten::")) reason = name_of(trace, at);
  }
  return std::string(reason);
}

// Where the program waits, if stacks were recorded: the innermost function around the call that is
// not torch's, such as "train.py(42): train_epoch". Empty if unknown.
std::string_view place_of(const Trace& trace, SliceId call) {
  const Interval at = interval_of(trace, call);
  const Track& track = track_of(trace, call);
  const auto& slices = trace.slices();
  std::string_view place;
  for (const Lane& lane : lanes_of(trace, track)) {
    const auto begins = of_lane(slices.begin_ns, lane);
    const auto after = std::ranges::upper_bound(begins, at.begin_ns);
    if (after == begins.begin()) continue;
    const SliceId around{lane.first.value + static_cast<uint32_t>(after - begins.begin()) - 1};
    const std::string_view name = name_of(trace, around);
    const bool is_own = slices.category[around.value] == Category::kPythonFunction &&
                        contains(name, ".py(") && !name.starts_with("torch/");
    if (is_own && slices.end_ns[around.value] >= at.end_ns) place = name;
  }
  return place;
}

// The line to write instead, depending on what made the program wait.
std::string_view cure_of_waiting(std::string_view reasons) {
  struct Cure {
    std::string_view reason, line;
  };
  constexpr auto kCures = std::to_array<Cure>({
      {"aten::item", "total += loss.detach() each step, and total.item() once in a hundred"},
      {"aten::nonzero",
       "torch.where(mask, a, b) has a fixed shape; tensor[mask] waits for its size"},
      {"aten::is_nonzero", "torch.where(condition, a, b) in place of an if on a tensor"},
      {"aten::to",
       "batch.to(device, non_blocking=True) from pin_memory=True, .cpu() once in a while"},
      {"cudaDeviceSynchronize", "take torch.cuda.synchronize() out of the loop"},
  });
  for (const Cure& cure : kCures) {
    if (reasons.starts_with(cure.reason)) return cure.line;
  }
  return "keep losses and metrics on the GPU (loss.detach()) and read them only once in a while";
}

// The two reasons with the longest waits: "aten::item and cudaDeviceSynchronize".
std::string reasons_of(const Activity& activity, std::span<const SliceId> calls) {
  std::map<std::string, std::pair<int64_t, int64_t>> reasons;  // time, count
  for (const SliceId call : calls) {
    auto& [time_ns, count] = reasons[reason_of(activity, call)];
    time_ns += duration_ns(activity.trace(), call);
    ++count;
  }
  std::vector<std::pair<int64_t, std::string>> sorted;
  for (const auto& [name, sums] : reasons) sorted.emplace_back(sums.first, name);
  std::sort(sorted.rbegin(), sorted.rend());
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(2, sorted.size()); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : " and ", sorted[i].second);
  }
  return text;
}

// Frameworks and libraries mark ranges, too: "DistributedDataParallel.forward", "## forward ##",
// "[pl][profile]run_training_batch", "Torch-Compiled Region: 0/0", "ncclAllReduce".
bool is_of_the_program(std::string_view range) {
  return range.find_first_of(".:#[(") == std::string_view::npos && !range.starts_with("Torch") &&
         !range.starts_with("nccl");
}

// A range of the program, and its time on the critical path in which no operator ran.
struct OwnTime {
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
        times[name].on_path_ns += part.interval.length_ns();
        times[name].calls.push_back(range);
      });
  return times;
}

// What makes a launch do more, beside a larger batch.
std::string_view cure_of_launches(const Activity& activity) {
  if (activity.lacks_pytorch()) return "or fewer and larger kernels,";
  return is_compiled(activity) ? "or the CUDA graphs of torch.compile(mode=\"reduce-overhead\"),"
                               : "torch.compile or CUDA graphs";
}

}  // namespace

std::optional<Finding> launch_bound(const Activity& activity) {
  const Analysis& analysis = activity.analysis();
  const KernelCount in_steps = activity.kernel_count();
  const int64_t kernels = in_steps.kernels / activity.step_count();
  if (analysis.gpus.empty() || kernels < kManyKernels) return std::nullopt;
  std::vector<SliceId> waits = waiting_calls(activity);
  for (const SliceId copy : activity.of(WorkKind::kPageableCopy)) {
    if (const SliceId call = activity.launcher(copy)) waits.push_back(call);
  }
  const int64_t waiting_ns = total_ns(subtract(activity.time_of(waits), activity.device_time()));
  const int64_t host_ns =
      analysis.breakdown.of(BreakdownPart::kCpu) + analysis.breakdown.of(BreakdownPart::kRuntime);
  const int64_t idle_ns = std::max<int64_t>(0, host_ns * activity.step_count() - waiting_ns);
  const StepShare part(activity, idle_ns);
  if (part.share < kLaunchShare) return std::nullopt;
  int64_t kernel_ns = 0, count = 0;
  for (const KernelRow& row : analysis.kernels) {
    if (row.is_communication()) continue;
    kernel_ns += row.total_ns;
    count += row.count;
  }
  Finding finding = finding_on("launch_bound", activity, idle_ns);
  finding.headline =
      fmt::format("Host-bound: the GPU waits {}{}", format_ns(part.per_step_ns), activity.a_step());
  const int64_t mean_ns = count == 0 ? 0 : kernel_ns / count;
  if (2 * in_steps.launches < in_steps.kernels) {
    finding.detail = fmt::format(
        "{} kernels{}, most of them launched by CUDA graphs: the host's time passes outside of "
        "these. Put more of the step into them, or take a larger batch",
        format_count(kernels), activity.a_step());
  } else {
    finding.detail = fmt::format(
        "for {} launches{} of {} each: a larger batch, {} give the GPU more work a launch",
        format_count(in_steps.launches / activity.step_count()), activity.a_step(),
        format_ns(mean_ns), cure_of_launches(activity));
  }
  finding.evidence.emplace_back("kernels", static_cast<double>(kernels));
  finding.evidence.emplace_back("mean_kernel_ns", static_cast<double>(mean_ns));
  finding.events = longest_idle_gaps(activity);
  finding.knob = larger_batch_knob(activity);
  return finding;
}

std::optional<Finding> synchronizing_calls(const Activity& activity) {
  if (activity.analysis().gpus.empty()) return std::nullopt;
  const std::vector<SliceId> calls = waiting_calls(activity);
  const int64_t won_ns = activity.idle_time_after_ns(calls);
  if (StepShare(activity, won_ns).share < kWaitShare) return std::nullopt;
  const StepShare spent(activity, total_ns(activity.time_of(calls)));
  Finding finding = finding_on("synchronizing_calls", activity, won_ns);
  finding.headline = fmt::format("The host waits for the GPU {}{}", format_ns(spent.per_step_ns),
                                 activity.a_step());
  finding.events = longest(activity.trace(), calls);
  const std::string reasons = reasons_of(activity, calls);
  const std::string_view place = place_of(activity.trace(), finding.events.front().slice);
  finding.detail =
      fmt::format("{}, most in {}{}{}: {}", how_often(activity, calls.size(), "call"), reasons,
                  place.empty() ? "" : ", the longest in ", place, cure_of_waiting(reasons));
  finding.evidence.emplace_back("waiting_ns", static_cast<double>(spent.per_step_ns));
  finding.evidence.emplace_back("calls", static_cast<double>(calls.size()));
  return finding;
}

std::optional<Finding> tiny_operators(const Activity& activity) {
  // With a GPU, launch_bound covers them.
  if (!activity.analysis().gpus.empty()) return std::nullopt;
  const Trace& trace = activity.trace();
  const std::vector<bool> have_child = have_children(trace, activity.analysis().host_tree);
  std::vector<SliceId> tiny;
  for_each_slice(trace, [&](SliceId slice, Category category) {
    if (category != Category::kCpuOp || have_child[slice.value]) return;
    if (duration_ns(trace, slice) >= kTinyOperatorNs) return;
    if (total_within_ns(activity.steps(), interval_of(trace, slice)) == 0) return;
    if (!activity.around(slice, WorkKind::kDataLoader)) tiny.push_back(slice);
  });
  const int64_t time_ns = total_ns(activity.time_of(tiny));
  const int64_t count = static_cast<int64_t>(tiny.size()) / activity.step_count();
  const StepShare part(activity, time_ns);
  if (count < kManyTinyOperators || part.share <= kTinyOperatorShare) return std::nullopt;
  Finding finding = finding_on("tiny_operators", activity, time_ns);
  finding.headline = fmt::format("Small work: {} operators under {}{}", format_count(count),
                                 format_ns(kTinyOperatorNs), activity.a_step());
  finding.detail = fmt::format("{} of {} goes into calls; a larger batch needs fewer of them",
                               format_percent(part.share), activity.the_step());
  finding.evidence.emplace_back("operators", static_cast<double>(count));
  finding.events = longest(trace, tiny);
  finding.knob = larger_batch_knob(activity);
  return finding;
}

// If a launch takes a millisecond while the GPU has nothing to do, it does not wait for a full
// queue: its thread was off the core, or another thread held the driver's lock.
std::optional<Finding> cpu_oversubscribed(const Activity& activity) {
  const Trace& trace = activity.trace();
  std::vector<SliceId> stalled;
  for (const SliceId call : activity.of(WorkKind::kLaunch)) {
    const Interval interval = interval_of(trace, call);
    if (interval.length_ns() < kStalledLaunchNs) continue;
    if (total_within_ns(activity.device_time(), interval) < interval.length_ns() / 2) {
      stalled.push_back(call);
    }
  }
  const int64_t idle_ns = total_ns(subtract(activity.time_of(stalled), activity.device_time()));
  const StepShare part(activity, idle_ns);
  const auto count = static_cast<int64_t>(stalled.size());
  // Fewer stalls than steps are kernels that are loaded when they are first used.
  if (part.share < kStalledShare || count < activity.step_count()) return std::nullopt;
  Finding finding = finding_on("cpu_oversubscribed", activity, idle_ns);
  finding.headline = fmt::format("Threads that launch kernels lose the CPU: {}{}",
                                 format_ns(part.per_step_ns), activity.a_step());
  const bool has_workers = !activity.lacks_dataloader();
  finding.detail = fmt::format("{} took over {} with the GPU idle: {}OMP_NUM_THREADS",
                               format_plural(count, "launch call"), format_ns(kStalledLaunchNs),
                               has_workers ? "fewer DataLoader workers, or " : "a smaller ");
  finding.evidence.emplace_back("launches", static_cast<double>(count));
  finding.events = longest(trace, stalled);
  if (has_workers) finding.knob = workers_knob(activity);
  return finding;
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
  const int64_t unknown_ns = analysis.breakdown.of(BreakdownPart::kOther) * activity.step_count();
  const StepShare part(activity, unknown_ns);
  if (part.share < kUnknownShare) return std::nullopt;
  Finding finding = finding_on("low_gpu_utilization", activity, unknown_ns);
  finding.headline = fmt::format("GPU {} runs kernels {} of the time", lowest->device,
                                 format_percent(lowest->utilization));
  finding.detail = fmt::format(
      "in {}{} nothing recorded went on: {}", format_ns(part.per_step_ns), activity.a_step(),
      activity.lacks_pytorch() ? "code on the host, or files (NVTX ranges would show which)"
                               : "Python between operators, or files (record --stacks shows it)");
  finding.evidence.emplace_back("utilization_share", lowest->utilization);
  finding.evidence.emplace_back("device", static_cast<double>(lowest->device));
  finding.events = longest_idle_gaps(activity);
  finding.knob = larger_batch_knob(activity);
  return finding;
}

// Neither the DataLoader's nor an operator's: a reader of the program's own, or a sleep.
std::optional<Finding> range_without_operators(const Activity& activity) {
  const Analysis& analysis = activity.analysis();
  const auto is_long = [&](int64_t ns) {
    return static_cast<double>(ns) > kRangeShare * static_cast<double>(activity.steps_ns());
  };
  const bool may_be = std::ranges::any_of(analysis.operators, [&](const OperatorRow& row) {
    return is_long(row.self_ns) && is_of_the_program(row.name);
  });
  if (!activity.has_operators() || !may_be) return std::nullopt;
  auto times = own_times_by_name(activity);
  std::erase_if(times, [&](const auto& range) {
    const auto whole_ns = static_cast<double>(total_ns(activity.time_of(range.second.calls)));
    return !is_long(range.second.on_path_ns) ||
           static_cast<double>(range.second.on_path_ns) < kMostOfRange * whole_ns;
  });
  if (times.empty()) return std::nullopt;
  auto& [name, own] = *std::ranges::max_element(
      times, {}, [](const auto& range) { return range.second.on_path_ns; });
  std::ranges::sort(own.calls);
  own.calls.erase(std::unique(own.calls.begin(), own.calls.end()), own.calls.end());
  const StepShare part(activity, own.on_path_ns);
  Finding finding = finding_on("range_without_operators", activity, own.on_path_ns);
  finding.headline = fmt::format("A range without operators: {}{}", format_ns(part.per_step_ns),
                                 activity.a_step());
  finding.detail = fmt::format(
      "{} of {} in \"{}\", whose code waits or computes without operators: {} show which",
      format_percent(part.share), activity.the_step(), elide(name, kRangeColumns),
      activity.lacks_python() ? "narrower ranges in it" : "narrower ranges, or record --stacks,");
  finding.evidence.emplace_back("calls", static_cast<double>(own.calls.size()));
  finding.events = longest(activity.trace(), own.calls);
  return finding;
}

}  // namespace redline::trace
