#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/format.h"
#include "base/text_search.h"
#include "trace/advice/advice_host.h"
#include "trace/advice/advice_rules.h"

namespace redline::trace {
namespace {

constexpr double kLaunchShare = 0.15;
constexpr int64_t kManyKernels = 100;  // a step
constexpr double kWaitShare = 0.02;
constexpr double kTinyOperatorShare = 0.10;
constexpr int64_t kTinyOperatorNs = 20'000;
constexpr int64_t kManyTinyOperators = 200;  // a step

// A launch takes some microseconds; one that takes a thousand was not on a core, or waited.
constexpr int64_t kStalledLaunchNs = 1'000'000;
constexpr double kStalledShare = 0.03;

// Calls in which a thread that launches kernels waits for the GPU: those that synchronise, and
// copies to pageable memory. Sorted by lane and begin.
std::vector<SliceId> waiting_calls(const Activity& activity) {
  const auto waits = activity.of(WorkKind::kSynchronization);
  std::vector<SliceId> calls(waits.begin(), waits.end());
  for (const SliceId copy : activity.of(WorkKind::kCopyToPageable)) {
    if (const SliceId call = activity.launcher(copy)) calls.push_back(call);
  }
  const std::vector<bool> launches = launching_lanes(activity);
  const auto& lanes = activity.trace().slices().lane;
  std::erase_if(calls, [&](SliceId call) { return !launches[lanes[call.value].value]; });
  std::ranges::sort(calls);  // a copy may be a call that synchronises
  calls.erase(std::unique(calls.begin(), calls.end()), calls.end());
  return calls;
}

// A copy to pageable memory and the call that then waits for it, in one operator, are one wait.
size_t count_of_waits(const Activity& activity, std::span<const SliceId> calls) {
  const Trace& trace = activity.trace();
  const auto& lanes = trace.slices().lane;
  const auto& parents = activity.analysis().host_tree.parent;
  const auto synchronises = [&](SliceId call) {
    return work_kind_of(Category::kRuntime, name_of(trace, call)) == WorkKind::kSynchronization;
  };
  size_t count = calls.size();
  for (size_t i = 1; i < calls.size(); ++i) {
    const SliceId call = calls[i], before = calls[i - 1];
    if (synchronises(call) && !synchronises(before) && lanes[call.value] == lanes[before.value] &&
        parents[call.value] == parents[before.value]) {
      --count;
    }
  }
  return count;
}

// The outermost aten operator around the call; none() if there is none.
SliceId outermost_operator(const Activity& activity, SliceId call) {
  const auto& parents = activity.analysis().host_tree.parent;
  SliceId outermost;
  for (SliceId at = parents[call.value]; at; at = parents[at.value]) {
    if (name_of(activity.trace(), at).starts_with("aten::")) outermost = at;
  }
  return outermost;
}

// What the program did that made it wait: that operator, or the call itself.
std::string reason_of(const Activity& activity, SliceId call) {
  const SliceId around = outermost_operator(activity, call);
  return std::string(name_of(activity.trace(), around ? around : call));
}

// Whether a function is of a library that many jobs train with, so that it is not the user's to
// change. Frames have their module's path within sys.path: "transformers/trainer.py(2503): train".
bool is_of_a_library(std::string_view place) {
  constexpr auto kLibraries = std::to_array<std::string_view>(
      {"accelerate/", "deepspeed/", "diffusers/", "lightning/", "lightning_fabric/", "mmengine/",
       "peft/", "pytorch_lightning/", "sentence_transformers/", "timm/", "torchmetrics/",
       "transformers/", "trl/", "ultralytics/"});
  return contains(place, "-packages/") || std::ranges::any_of(kLibraries, [&](const auto& library) {
           return place.starts_with(library);
         });
}

// When the gradients of fp16 are checked, when a product begins, and when an update does.
enum class Mark : uint8_t { kCheck, kProduct, kUpdate };

std::map<int64_t, Mark> marks_of_updates(const Activity& activity, StringId check) {
  const auto& slices = activity.trace().slices();
  std::map<int64_t, Mark> marks;
  for (const WorkKind kind : {WorkKind::kMatrixOperator, WorkKind::kConvolution}) {
    for (const SliceId slice : activity.of(kind)) {
      marks[slices.begin_ns[slice.value]] = Mark::kProduct;
    }
  }
  for_each_slice(activity.trace(), [&](SliceId slice, Category) {
    if (slices.name[slice.value] == check) marks[slices.begin_ns[slice.value]] = Mark::kCheck;
  });
  for (const SliceId update : activity.of(WorkKind::kOptimizer)) {
    const int64_t begin_ns = slices.begin_ns[update.value];
    // One around it, as of a wrapper, calls the scaler.
    const SliceId wrapper = activity.around(update, WorkKind::kOptimizer);
    if (wrapper && slices.begin_ns[wrapper.value] < begin_ns) {
      marks.erase(slices.begin_ns[wrapper.value]);
    }
    marks[begin_ns] = Mark::kUpdate;
  }
  return marks;
}

// Whether most of the waits are those in which GradScaler.step reads whether the gradients
// overflowed: the last ones between the check of the gradients and the update.
bool wait_for_scaler(const Activity& activity, std::span<const SliceId> calls) {
  const Trace& trace = activity.trace();
  const StringId check = trace.find_string("aten::_amp_foreach_non_finite_check_and_unscale_");
  if (!check) return false;
  struct LastReads {
    int64_t begin_ns = INT64_MIN, waiting_ns = 0;
  };
  std::map<int64_t, LastReads> last_before;  // by the begin of the update
  const std::map<int64_t, Mark> marks = marks_of_updates(activity, check);
  int64_t waiting_ns = 0, for_scaler_ns = 0;
  for (const SliceId call : calls) {
    waiting_ns += duration_ns(trace, call);
    const SliceId reads = outermost_operator(activity, call);
    const int64_t begin_ns = interval_of(trace, reads ? reads : call).begin_ns;
    const auto next = marks.upper_bound(begin_ns);
    if (next == marks.begin() || next == marks.end() || next->second != Mark::kUpdate) continue;
    if (std::prev(next)->second != Mark::kCheck) continue;
    LastReads& last = last_before[next->first];
    if (begin_ns > last.begin_ns) last = {begin_ns, 0};
    if (begin_ns == last.begin_ns) last.waiting_ns += duration_ns(trace, call);
  }
  for (const auto& [update_ns, last] : last_before) for_scaler_ns += last.waiting_ns;
  return 2 * for_scaler_ns > waiting_ns;
}

// The line to write instead, depending on what made the program wait and where. "" where it waits
// in a library, whose code the user does not write.
std::string_view cure_of_waiting(const Activity& activity, std::span<const SliceId> calls,
                                 std::string_view reasons, std::string_view place) {
  if (reasons.starts_with("aten::item") && wait_for_scaler(activity, calls)) {
    return "GradScaler reads whether gradients overflowed; with fused=True, Adam, AdamW and SGD "
           "look on the GPU, and bf16 needs no scaler";
  }
  const bool on_condition = reasons.starts_with("aten::is_nonzero");
  if (on_condition && contains(place, "transformers/trainer.py")) {
    return "TrainingArguments(logging_nan_inf_filter=False) does not look for NaN in each step";
  }
  if (is_of_a_library(place)) return "";
  if (on_condition && place.empty()) {
    return "torch.where(condition, a, b) in place of an if on a tensor; in the Trainer of "
           "transformers, logging_nan_inf_filter=False";
  }
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
  std::map<std::string, int64_t> reasons;
  for (const SliceId call : calls) {
    reasons[reason_of(activity, call)] += duration_ns(activity.trace(), call);
  }
  std::vector<std::pair<int64_t, std::string>> sorted;
  for (const auto& [name, time_ns] : reasons) sorted.emplace_back(time_ns, name);
  std::sort(sorted.rbegin(), sorted.rend());
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(2, sorted.size()); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : " and ", sorted[i].second);
  }
  return text;
}

// How long threads that launch kernels run operators and calls while no device works.
int64_t launching_ns(const Activity& activity, const Intervals& idle) {
  const Trace& trace = activity.trace();
  const HostTree& tree = activity.analysis().host_tree;
  const std::vector<bool> launches = launching_lanes(activity);
  Coverage time(idle);
  for_each_slice(trace, [&](SliceId slice, Category category) {
    if (!launches[trace.slices().lane[slice.value].value] || is_in_loader(tree, slice)) return;
    if (is_operator_or_call(category)) time.add(interval_of(trace, slice));
  });
  return total_ns(time.take());
}

// Operators of one name that make no call, of threads that launch kernels, and how long no device
// works meanwhile.
struct Computing {
  std::string_view name;
  int64_t idle_ns = 0;
  std::vector<SliceId> operators;
};

// The longest; none in a trace without calls.
Computing longest_computing(const Activity& activity, const Intervals& idle) {
  const Trace& trace = activity.trace();
  const auto& parents = activity.analysis().host_tree.parent;
  std::vector<bool> makes_calls(trace.slice_count());
  bool has_calls = false;
  for_each_slice(trace, [&](SliceId slice, Category category) {
    if (!is_launch(category)) return;
    has_calls = true;
    for (SliceId at = parents[slice.value]; at && !makes_calls[at.value]; at = parents[at.value]) {
      makes_calls[at.value] = true;
    }
  });
  if (!has_calls) return {};
  const std::vector<bool> launches = launching_lanes(activity);
  const auto computes = [&](SliceId slice) {
    return trace.slices().category[slice.value] == Category::kCpuOp && !makes_calls[slice.value] &&
           !is_in_loader(activity.analysis().host_tree, slice);
  };
  std::map<std::string_view, Computing> by_name;
  for_each_slice(trace, [&](SliceId slice, Category) {
    if (!computes(slice) || !launches[trace.slices().lane[slice.value].value]) return;
    if (const SliceId around = parents[slice.value]; around && computes(around)) return;
    const int64_t idle_ns = total_within_ns(idle, interval_of(trace, slice));
    if (idle_ns == 0) return;
    Computing& same = by_name[name_of(trace, slice)];
    same.idle_ns += idle_ns;
    same.operators.push_back(slice);
  });
  Computing longest;
  for (auto& [name, computing] : by_name) {
    if (computing.idle_ns <= longest.idle_ns) continue;
    longest = std::move(computing);
    longest.name = name;
  }
  return longest;
}

// What makes a launch do more.
std::string cure_of_launches(const Activity& activity) {
  if (activity.lacks_pytorch()) return "a larger batch, or fewer and larger kernels,";
  const bool has_room = has_room_for_a_larger_batch(activity);
  if (!is_compiled(activity)) {
    return fmt::format("{}torch.compile or CUDA graphs", has_room ? "a larger batch, " : "");
  }
  const char* graphs = "the CUDA graphs of torch.compile(mode=\"reduce-overhead\")";
  return has_room ? fmt::format("a larger batch, or {},", graphs) : graphs;
}

Finding bound_by_launches(const Activity& activity, KernelCount in_steps, int64_t idle_ns) {
  int64_t kernel_ns = 0, count = 0;
  for (const KernelRow& row : activity.analysis().kernels) {
    if (row.is_communication()) continue;
    kernel_ns += row.total_ns;
    count += row.count;
  }
  Finding finding = finding_on("launch_bound", activity, idle_ns);
  const int64_t kernels = in_steps.kernels / activity.step_count();
  const int64_t mean_ns = count == 0 ? 0 : kernel_ns / count;
  if (2 * in_steps.launches < in_steps.kernels) {
    finding.detail = fmt::format(
        "{} kernels{}, most of them launched by CUDA graphs: the host's time passes outside of "
        "these. Put more of the step into them{}",
        format_count(kernels), activity.a_step(),
        has_room_for_a_larger_batch(activity) ? ", or take a larger batch" : "");
  } else {
    finding.detail = fmt::format("for {} launches{} of {} each: {} give the GPU more work a launch",
                                 format_count(in_steps.launches / activity.step_count()),
                                 activity.a_step(), format_ns(mean_ns), cure_of_launches(activity));
  }
  finding.tell("kernels", kernels);
  finding.tell("mean_kernel_ns", mean_ns);
  finding.events = longest_idle_gaps(activity);
  finding.knob = larger_batch_knob(activity);
  return finding;
}

// Neither larger kernels nor CUDA graphs make such operators shorter.
Finding bound_by_operators(const Activity& activity, const Computing& computing, int64_t idle_ns) {
  const int64_t removable_ns = std::min(computing.idle_ns, idle_ns);
  Finding finding = finding_on("launch_bound", activity, removable_ns);
  finding.detail = fmt::format(
      "{} of it in {}, in which no launch was recorded: run it less often, on the GPU or on "
      "another thread",
      format_ns(StepShare(activity, removable_ns).per_step_ns), computing.name);
  finding.events = longest(activity.trace(), computing.operators);
  return finding;
}

}  // namespace

std::vector<bool> launching_lanes(const Activity& activity) {
  const Trace& trace = activity.trace();
  std::vector<bool> launches(trace.lanes().size());
  bool is_known = false;
  for (const DeviceWork& work : activity.analysis().device_work.rows) {
    if (!work.is_kernel() || !work.launch) continue;
    const Track& thread = track_of(trace, work.launch);
    if (launches[thread.first_lane.value]) continue;
    for (uint32_t i = 0; i < thread.lane_count; ++i) launches[thread.first_lane.value + i] = true;
    is_known = true;
  }
  if (!is_known) launches.assign(launches.size(), true);
  return launches;
}

std::optional<Finding> launch_bound(const Activity& activity) {
  const Analysis& analysis = activity.analysis();
  const KernelCount in_steps = activity.kernel_count();
  const int64_t steps = training_steps(activity).value_or(activity.step_count());
  if (analysis.gpus.empty() || in_steps.kernels / steps < kManyKernels) return std::nullopt;
  std::vector<SliceId> waits = waiting_calls(activity);
  for (const SliceId copy : activity.of(WorkKind::kPageableCopy)) {
    if (const SliceId call = activity.launcher(copy)) waits.push_back(call);
  }
  const Intervals waiting = subtract(activity.time_of(waits), activity.device_time());
  const int64_t host_ns =
      analysis.breakdown.of(BreakdownPart::kCpu) + analysis.breakdown.of(BreakdownPart::kRuntime);
  const Intervals idle = subtract(subtract(activity.steps(), activity.device_time()), waiting);
  const int64_t idle_ns =
      std::min(std::max<int64_t>(0, host_ns * activity.step_count() - total_ns(waiting)),
               launching_ns(activity, idle));
  const StepShare part(activity, idle_ns);
  if (part.share < kLaunchShare) return std::nullopt;
  const Computing computing = longest_computing(activity, idle);
  Finding finding = 2 * computing.idle_ns > idle_ns
                        ? bound_by_operators(activity, computing, idle_ns)
                        : bound_by_launches(activity, in_steps, idle_ns);
  finding.headline =
      fmt::format("Host-bound: the GPU waits {}{}", format_ns(part.per_step_ns), activity.a_step());
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
  const SliceId longest_call = finding.events.front().slice;
  const std::string_view place =
      place_of(activity.trace(), track_of(activity.trace(), longest_call),
               interval_of(activity.trace(), longest_call));
  const size_t count = count_of_waits(activity, calls);
  const std::string_view cure = cure_of_waiting(activity, calls, reasons, place);
  finding.detail =
      fmt::format("{}, most in {}{}{}{}{}", how_often(activity, count, "call"), reasons,
                  place.empty() ? "" : ", the longest in ", place, cure.empty() ? "" : ": ", cure);
  finding.tell("waiting_ns", spent.per_step_ns);
  finding.tell("calls", count);
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
  const auto all = static_cast<int64_t>(tiny.size());
  const int64_t steps = training_steps(activity).value_or(activity.step_count());
  const StepShare part(activity, time_ns);
  if (all / steps < kManyTinyOperators || part.share <= kTinyOperatorShare) return std::nullopt;
  const int64_t count = all / activity.step_count();
  Finding finding = finding_on("tiny_operators", activity, time_ns);
  finding.headline = fmt::format("Small work: {} operators under {}{}", format_count(count),
                                 format_ns(kTinyOperatorNs), activity.a_step());
  finding.detail = fmt::format("{} of {} goes into calls; a larger batch needs fewer of them",
                               format_percent(part.share), activity.the_step());
  finding.tell("operators", count);
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
  finding.tell("launches", count);
  finding.events = longest(trace, stalled);
  if (has_workers) finding.knob = workers_knob(activity);
  return finding;
}

}  // namespace redline::trace
