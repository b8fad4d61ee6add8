// Rules about several GPUs in one process, about one GPU of several processes, and about a GPU that
// is slowed down from outside.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/format.h"
#include "base/integer.h"
#include "base/text_search.h"
#include "trace/advice/advice_rules.h"
#include "trace/model/slice_view.h"

namespace redline::trace {
namespace {

constexpr double kReplicationShare = 0.02;
constexpr double kWorkingShare = 0.10;  // of the step: a GPU that does less takes no turn
constexpr double kTogetherShare = 0.10;
constexpr double kThrottledShare = 0.10;

// The calls with which torch.nn.DataParallel copies the model to all GPUs, splits the batch and
// gathers the results in each step. Empty if the trace has no DataParallel.
std::vector<SliceId> replication_calls(const Activity& activity) {
  constexpr auto kCalls = std::to_array<std::string_view>(
      {"Broadcast", "BroadcastBackward", "Scatter", "ScatterBackward", "Gather", "GatherBackward"});
  const Trace& trace = activity.trace();
  const StringId forward = trace.find_string("DataParallel.forward");
  bool is_data_parallel = false;
  std::vector<SliceId> calls;
  for_each_slice(trace, [&](SliceId slice, Category category) {
    if (!is_host_node(category)) return;
    if (forward && trace.slices().name[slice.value] == forward) is_data_parallel = true;
    if (is_any(name_of(trace, slice), kCalls)) calls.push_back(slice);
  });
  return is_data_parallel ? calls : std::vector<SliceId>();
}

struct DeviceTime {
  int32_t device = 0;
  Intervals busy;  // only times within the steps
};

std::vector<DeviceTime> times_of_devices(const Activity& activity) {
  std::vector<DeviceTime> times;
  const DeviceWorkTable& table = activity.analysis().device_work;
  for (size_t i = 0; i < table.streams.size();) {
    const int32_t device = table.streams[i].device;
    Coverage busy(activity.steps());
    for (; i < table.streams.size() && table.streams[i].device == device; ++i) {
      for (const DeviceWork& work : table.of(table.streams[i])) busy.add(work.interval);
    }
    times.push_back({device, busy.take()});
    const double worked = StepShare(activity, total_ns(times.back().busy)).share;
    if (worked < kWorkingShare) times.pop_back();
  }
  return times;
}

// The time within the steps in which a counter is above 0. Each value holds until the next one.
int64_t time_above_zero_ns(const Activity& activity, const Counter& counter) {
  std::vector<Interval> above;
  for (size_t i = 0; i < counter.value.size(); ++i) {
    if (counter.value[i] <= 0) continue;
    const bool is_last = i + 1 == counter.value.size();
    above.push_back(
        {counter.time_ns[i], is_last ? activity.trace().end_ns() : counter.time_ns[i + 1]});
  }
  return total_ns(intersect(activity.steps(), merge(std::move(above))));
}

// " -i GPU-8f3a…" for "GPU 0": CUDA's number counts only the GPUs that the process sees, so
// nvidia-smi's may be another. Without the id nvidia-smi shows all GPUs.
std::string option_for(const Analysis& analysis, std::string_view gpu) {
  const auto number = parse_integer<int32_t>(gpu.substr(4));
  const DeviceProperties* device = number ? properties_of(analysis, *number) : nullptr;
  const bool is_known =
      device != nullptr && !device->uuid.empty() && !contains(device->name, "MIG");
  return is_known ? " -i " + device->uuid : "";
}

std::string cure_of_throttling(const Analysis& analysis, std::string_view gpu,
                               std::string_view reason) {
  const std::string option = option_for(analysis, gpu);
  if (reason == "power cap") {
    return fmt::format("nvidia-smi{} -q -d POWER shows its limit, {}-pl WATTS raises it", option,
                       option.empty() ? "-i ID " : "");
  }
  if (reason == "heat") return fmt::format("cool it (nvidia-smi{} -q -d TEMPERATURE)", option);
  return fmt::format("nvidia-smi{} -q -d PERFORMANCE tells more", option);
}

}  // namespace

std::optional<Finding> data_parallel(const Activity& activity) {
  const std::vector<SliceId> calls = replication_calls(activity);
  if (calls.empty()) return std::nullopt;
  const int64_t time_ns = total_ns(activity.time_of(calls));
  const StepShare part(activity, time_ns);
  if (part.share < kReplicationShare) return std::nullopt;
  Finding finding = finding_on("data_parallel", activity, time_ns);
  finding.headline = fmt::format("DataParallel copies the model: {}{}", format_ns(part.per_step_ns),
                                 activity.a_step());
  finding.detail = fmt::format(
      "{} of {}, in one process for all GPUs: DistributedDataParallel under torchrun has a process "
      "a GPU and copies nothing",
      format_percent(part.share), activity.the_step());
  finding.tell("calls", calls.size());
  finding.events = longest(activity.trace(), calls);
  return finding;
}

// One process has layers on two or more GPUs, each of which waits for the others.
std::optional<Finding> gpus_take_turns(const Activity& activity) {
  const std::vector<DeviceTime> times = times_of_devices(activity);
  if (times.size() < 2) return std::nullopt;
  Intervals any, together;
  int64_t longest_ns = 0;
  for (const DeviceTime& time : times) {
    together = unite(together, intersect(any, time.busy));
    any = unite(any, time.busy);
    longest_ns = std::max(longest_ns, total_ns(time.busy));
  }
  const auto any_ns = static_cast<double>(total_ns(any));
  const auto together_share = static_cast<double>(total_ns(together)) / any_ns;
  if (together_share > kTogetherShare) return std::nullopt;
  Finding finding = finding_on("gpus_take_turns", activity, total_ns(any) - longest_ns);
  finding.headline = fmt::format("{} GPUs work in turn, not together", times.size());
  finding.detail = fmt::format(
      "two of them work at once for {} of their time: cut the batch into micro-batches "
      "(torch.distributed.pipelining), or have each GPU run the whole model on its own samples (in "
      "training DDP, FSDP)",
      format_percent(together_share));
  finding.tell("gpus", times.size());
  finding.tell("together_share", together_share);
  finding.events = longest_idle_gaps(activity);
  if (finding.events.empty()) {
    const Interval first = times.front().busy.front();
    finding.events.push_back({SliceId::none(), first.begin_ns, first.end_ns,
                              fmt::format("GPU {} alone", times.front().device)});
  }
  return finding;
}

// Reads the counters "GPU 0 throttled: heat" (profiler/host/gpu_samples.cc).
std::optional<Finding> gpu_throttled(const Activity& activity) {
  const Trace& trace = activity.trace();
  const Counter* worst = nullptr;
  int64_t worst_ns = 0;
  for (const Counter& counter : trace.counters()) {
    const std::string_view name = trace.string(counter.name);
    if (!name.starts_with("GPU ") || !contains(name, " throttled: ")) continue;
    const int64_t time_ns = time_above_zero_ns(activity, counter);
    if (time_ns <= worst_ns) continue;
    worst = &counter;
    worst_ns = time_ns;
  }
  const StepShare part(activity, worst_ns);
  if (worst == nullptr || part.share < kThrottledShare) return std::nullopt;
  const std::string_view name = trace.string(worst->name);
  const size_t at = name.find(" throttled: ");
  const std::string_view gpu = name.substr(0, at), reason = name.substr(at + 12);
  Finding finding;
  finding.rule = "gpu_throttled";
  finding.headline = fmt::format("{} is slowed by {}", gpu, reason);
  finding.detail = fmt::format(
      "for {} of the steps its clocks were lowered: {}; autotune --objective energy finds "
      "what does more per joule",
      format_percent(part.share), cure_of_throttling(activity.analysis(), gpu, reason));
  finding.tell("throttled_share", part.share);
  const auto first = std::ranges::find_if(worst->value, [](double value) { return value > 0; });
  const int64_t since_ns = worst->time_ns[static_cast<size_t>(first - worst->value.begin())];
  finding.events = {{SliceId::none(), since_ns, since_ns, std::string(name)}};
  return finding;
}

namespace {

constexpr const char* kSetDevice =
    "torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"])) before the first use of CUDA";

std::vector<int> numbers_of(const RankComparison& comparison, const std::vector<size_t>& indices) {
  std::vector<int> numbers;
  for (const size_t i : indices) numbers.push_back(comparison.times[i].rank);
  return numbers;
}

}  // namespace

// What each rank would gain on a GPU of its own nobody knows: its kernels wait for the others' or
// run beside them, and are slower for it.
std::optional<Finding> gpu_shared(const RankComparison& comparison,
                                  std::span<const RankSummary* const> ranks) {
  const GpuSharing& sharing = comparison.gpu_sharing;
  if (sharing.shared.empty()) return std::nullopt;
  const std::vector<size_t>& group = sharing.shared.front();
  const RankSummary& first = *ranks[group.front()];
  const DeviceProperties& gpu = *main_gpu(first);
  Finding finding;
  finding.rule = "gpu_shared";
  finding.headline =
      sharing.shared.size() == 1
          ? capitalized(format_ranks(numbers_of(comparison, group))) + " share one GPU"
          : fmt::format("{} of {} GPUs are shared by ranks", sharing.shared.size(),
                        sharing.gpus.value_or(std::ssize(sharing.shared)));
  const std::string cure =
      first.devices.size() > 1
          ? fmt::format("each process sees {} GPUs, so give each its own: {}", first.devices.size(),
                        kSetDevice)
          : "each process sees this GPU only: let each see one of its own (CUDA_VISIBLE_DEVICES, "
            "Slurm's --gpus-per-task), or start one rank with a larger batch";
  finding.detail = fmt::format("{} ({}) runs the kernels of {}, which slow each other down; {}",
                               gpu.name.empty() ? "GPU" : gpu.name, gpu.uuid,
                               format_ranks(numbers_of(comparison, group)), cure);
  finding.tell("gpus", sharing.shared.size());
  finding.tell("ranks", group.size());
  finding.events = first.longest_steps;
  finding.trace = group.front();
  return finding;
}

std::optional<Finding> stray_contexts(const RankComparison& comparison,
                                      std::span<const RankSummary* const> ranks) {
  const GpuSharing& sharing = comparison.gpu_sharing;
  if (sharing.strays.empty()) return std::nullopt;
  const size_t owner = sharing.strays.front().owner;
  std::vector<size_t> guests;
  for (const StrayContext& stray : sharing.strays) {
    if (stray.owner == owner) guests.push_back(stray.rank);
  }
  Finding finding;
  finding.rule = "stray_context";
  const std::string who = guests.size() == 1
                              ? capitalized(format_ranks(numbers_of(comparison, guests))) + " has"
                              : format_plural(std::ssize(guests), "rank") + " have";
  finding.headline =
      fmt::format("{} a context on {}'s GPU", who, format_ranks(numbers_of(comparison, {owner})));
  finding.detail = fmt::format(
      "which takes memory there and does nothing: {}, and load checkpoints with map_location",
      kSetDevice);
  finding.tell("contexts", sharing.strays.size());
  finding.events = ranks[guests.front()]->longest_steps;
  finding.trace = guests.front();
  return finding;
}

}  // namespace redline::trace
