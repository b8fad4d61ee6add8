#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/format.h"
#include "trace/advice/advice_host.h"
#include "trace/advice/advice_rules.h"
#include "trace/model/slice_view.h"
#include "trace/read/args.h"
#include "trace/read/text_cursor.h"

namespace redline::trace {
namespace {

constexpr double kFullMemory = 0.9;  // the TensorBoard plugin's
constexpr double kUnusedMemory = 0.5;
constexpr double kMostlyInUse = 0.8;  // of what the allocator holds
constexpr double kWorthALargerBatch = 1.1;
constexpr double kAllocationShare = 0.01;
constexpr const char* kAnyBatch = "batch_size=1..4096";  // autotune's default range
constexpr const char* kExpandable = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True";
constexpr double kLeastGrowth = 2;
constexpr double kGrowthOfUnknownMemory = 16;

struct MemoryUse {
  int32_t device;
  int64_t reserved_bytes, allocated_bytes, device_bytes;

  [[nodiscard]] double share() const {
    return static_cast<double>(reserved_bytes) / static_cast<double>(device_bytes);
  }
  [[nodiscard]] bool is_full() const { return share() > kFullMemory; }
  [[nodiscard]] bool is_mostly_in_use() const {
    return share_of(allocated_bytes, reserved_bytes) >= kMostlyInUse;
  }
};

// The use of the fullest device; nullopt if the trace does not say how much the allocator held in
// total.
std::optional<MemoryUse> fullest_device(const Analysis& analysis) {
  std::optional<MemoryUse> fullest;
  for (const MemoryPeak& peak : analysis.memory) {
    const DeviceProperties* device = properties_of(analysis, peak.device);
    if (!peak.is_gpu || device == nullptr || device->memory_bytes == 0) continue;
    if (peak.reserved_bytes.value_or(0) == 0) continue;
    const MemoryUse use{peak.device, *peak.reserved_bytes, peak.allocated_bytes,
                        device->memory_bytes};
    if (!fullest || use.share() > fullest->share()) fullest = use;
  }
  return fullest;
}

std::optional<int64_t> samples_of_rank(const TraceFacts& facts) {
  const auto samples = facts.samples_per_step;
  if (!samples) return std::nullopt;
  const double ranks = std::max(1, facts.world_size.value_or(1));
  return std::max<int64_t>(1, std::llround(*samples / ranks));
}

// The samples of one batch of a rank's loader: a step of accumulated gradients takes several. What
// autotune's batch_size sets is the batch.
std::optional<int64_t> samples_of_batch(const Activity& activity) {
  const auto samples = samples_of_rank(activity.analysis().facts);
  if (!samples) return std::nullopt;
  const NameKinds names(activity.trace());
  int64_t fetches = 0;
  for_each_slice(activity.trace(), [&](SliceId slice, Category category) {
    const StringId name = activity.trace().slices().name[slice.value];
    const bool is_fetch = is_host_node(category) && names.is(name, kDataLoaderName);
    if (is_fetch && begins_in_steps(activity, slice)) ++fetches;
  });
  const double a_step = static_cast<double>(fetches) /
                        static_cast<double>(std::max<int64_t>(1, activity.step_count()));
  return std::max<int64_t>(1, *samples / std::max<int64_t>(1, std::llround(a_step)));
}

// The event at which the allocator held the most.
std::vector<EvidenceEvent> peak_event(const Trace& trace, const MemoryUse& use) {
  const StringId name = trace.find_string("[memory]");
  TextCursor text(trace);
  for (const Instant& instant : trace.instants()) {
    if (instant.name != name) continue;
    const Args args(text.event_text(instant.text_offset));
    if (args.integer("Device Id") != use.device ||
        args.integer("Total Reserved") != use.reserved_bytes) {
      continue;
    }
    return {{SliceId::none(), instant.time_ns, instant.time_ns, "[memory]"}};
  }
  return {};
}

int64_t steps_with(const Activity& activity, std::span<const SliceId> slices) {
  const Intervals time = activity.time_of(slices);
  const auto& steps = activity.analysis().steps;
  return std::ranges::count_if(
      steps, [&](const Step& step) { return total_within_ns(time, step.window) > 0; });
}

// On a GPU. The caching allocator writes them where it finds no room with an empty cache, too,
// right before it throws.
std::vector<EvidenceEvent> out_of_memory_events(const Trace& trace) {
  constexpr int64_t kHost = 0;  // c10::DeviceType::CPU
  std::vector<EvidenceEvent> events;
  const StringId name = trace.find_string("[OutOfMemory]");
  if (!name) return events;
  for (const Instant& instant : trace.instants()) {
    if (instant.name != name) continue;
    const Args args(event_text(trace, instant.text_offset));
    if (args.integer("Device Type") == kHost) continue;
    events.push_back({SliceId::none(), instant.time_ns, instant.time_ns, "[OutOfMemory]"});
  }
  return events;
}

// By autocast, or because the model itself does.
bool uses_16_bits(const Activity& activity) {
  return uses_autocast(activity) ||
         std::ranges::any_of(activity.analysis().shapes.rows, [](const OperatorShape& row) {
           return row.work.is_product && bytes_of(row.work.type) == 2;
         });
}

// With them the allocator maps memory piece by piece.
bool uses_expandable_segments(const Activity& activity) {
  return std::ranges::any_of(activity.of(WorkKind::kAllocation), [&](SliceId call) {
    return name_of(activity.trace(), call).starts_with("cuMem");
  });
}

// Other threads, such as the one that pins a loader's batches, do not hold the GPU back.
std::vector<SliceId> allocations(const Activity& activity) {
  const auto all = activity.of(WorkKind::kAllocation);
  std::vector<SliceId> calls(all.begin(), all.end());
  const std::vector<bool> launches = launching_lanes(activity);
  const auto& lanes = activity.trace().slices().lane;
  std::erase_if(calls, [&](SliceId call) { return !launches[lanes[call.value].value]; });
  return calls;
}

}  // namespace

bool has_room_for_a_larger_batch(const Activity& activity) {
  if (!out_of_memory_events(activity.trace()).empty()) return false;
  const auto use = fullest_device(activity.analysis());
  return !use || !use->is_full() || !use->is_mostly_in_use();
}

std::string larger_batch_knob(const Activity& activity) {
  if (activity.lacks_pytorch()) return "";  // autotune has no hook there
  if (!has_room_for_a_larger_batch(activity)) return "";
  const auto samples = samples_of_batch(activity);
  if (!samples) return kAnyBatch;
  const auto use = fullest_device(activity.analysis());
  const double growth = std::max(kLeastGrowth, use ? 1 / use->share() : kGrowthOfUnknownMemory);
  const double most = std::ceil(static_cast<double>(*samples) * growth);
  return fmt::format("batch_size={}..{}", *samples, std::bit_ceil(static_cast<uint64_t>(most)));
}

std::string smaller_batch_knob(const Activity& activity) {
  const auto samples = samples_of_batch(activity);
  return samples ? fmt::format("batch_size=1..{}", *samples) : kAnyBatch;
}

// No gain is estimated, because users who ask for one answer at a time gain nothing by larger
// batches.
std::optional<Finding> batch_of_one(const Activity& activity) {
  const TraceFacts& facts = activity.analysis().facts;
  if (!facts.is_inference || samples_of_rank(facts) != 1) return std::nullopt;
  if (!has_room_for_a_larger_batch(activity)) return std::nullopt;
  Finding finding;
  finding.rule = "batch_of_one";
  finding.headline = "Each batch has one sample";
  finding.detail =
      "a larger batch shares the cost of each call among its samples, if an answer may wait for "
      "others";
  finding.tell("samples_per_step", *facts.samples_per_step);
  finding.knob = larger_batch_knob(activity);
  return finding;
}

// A larger batch needs more time on the multiprocessors, in the DataLoader and in copies, but it
// fills the idle time. So the largest possible gain is to fill all idle time.
std::optional<Finding> memory_unused(const Activity& activity) {
  const Analysis& analysis = activity.analysis();
  const auto use = fullest_device(analysis);
  const std::vector<int32_t> working = working_devices(analysis.device_work);
  if (!use || use->share() >= kUnusedMemory || working.size() != 1) return std::nullopt;
  if (!has_room_for_a_larger_batch(activity)) return std::nullopt;
  const auto gpu = std::ranges::find(analysis.gpus, working.front(), &GpuUse::device);
  if (gpu == analysis.gpus.end() || !gpu->sm_efficiency) return std::nullopt;
  const auto efficiency = gpu->sm_efficiency;
  const StepBreakdown& parts = analysis.breakdown;
  const double growing = *efficiency + static_cast<double>(parts.of(BreakdownPart::kDataLoader) +
                                                           parts.of(BreakdownPart::kMemcpy)) /
                                           static_cast<double>(analysis.step_times.mean_ns);
  if (growing <= 0 || 1 / growing < kWorthALargerBatch) return std::nullopt;
  Finding finding;
  finding.rule = "memory_unused";
  finding.estimated_speedup = 1 / growing;
  finding.headline = fmt::format("{} of GPU {}'s memory is never used",
                                 format_percent(1 - use->share()), use->device);
  finding.detail = fmt::format(
      "{} of {} held at the peak, and {} of the multiprocessors' time used: a larger batch fills "
      "both",
      format_bytes(use->reserved_bytes), format_bytes(use->device_bytes),
      format_percent(*efficiency));
  finding.tell("reserved_bytes", use->reserved_bytes);
  finding.tell("memory_share", use->share());
  finding.tell("sm_efficiency_share", *efficiency);
  finding.events = peak_event(activity.trace(), *use);
  finding.knob = larger_batch_knob(activity);
  return finding;
}

std::optional<Finding> device_memory_full(const Activity& activity) {
  const auto use = fullest_device(activity.analysis());
  if (!use || !use->is_full()) return std::nullopt;
  Finding finding;
  finding.rule = "device_memory_full";
  finding.tell("reserved_bytes", use->reserved_bytes);
  finding.tell("memory_share", use->share());
  finding.tell("allocated_bytes", use->allocated_bytes);
  finding.events = peak_event(activity.trace(), *use);
  if (!use->is_mostly_in_use()) {
    finding.headline =
        fmt::format("GPU {} memory: {} held, {} in use", use->device, format_percent(use->share()),
                    format_percent(share_of(use->allocated_bytes, use->device_bytes)));
    finding.detail = fmt::format(
        "{} of {} held at the peak, of which at most {} were in use: the rest is cached, or in "
        "fragments{}",
        format_bytes(use->reserved_bytes), format_bytes(use->device_bytes),
        format_bytes(use->allocated_bytes),
        uses_expandable_segments(activity) ? "" : fmt::format(", which {} avoids", kExpandable));
    return finding;
  }
  finding.headline =
      fmt::format("GPU {} memory is {} full", use->device, format_percent(use->share()));
  const bool has_amp = uses_16_bits(activity), has_checkpoints = recomputes(activity);
  const char* cure = "AMP or checkpointing makes room for a larger batch";
  if (has_amp) cure = "checkpointing makes room for a larger batch";
  if (has_checkpoints) cure = "AMP makes room for a larger batch";
  if (has_amp && has_checkpoints) cure = "only sharding (FSDP) or a smaller batch makes room";
  finding.detail = fmt::format("{} of {} at the peak: {}", format_bytes(use->reserved_bytes),
                               format_bytes(use->device_bytes), cure);
  if (!has_amp) finding.knob = "amp=off,bf16,fp16";
  if (has_amp && !has_checkpoints) finding.knob = "checkpointing=off,on";
  return finding;
}

// The caching allocator calls the driver only while it grows, or when it must give memory back to
// find room. If it does so in most of the steps, memory is fragmented or too small.
std::optional<Finding> allocator_retries(const Activity& activity) {
  const Trace& trace = activity.trace();
  const std::vector<SliceId> calls = allocations(activity);
  const std::vector<EvidenceEvent> failures = out_of_memory_events(trace);
  const int64_t won_ns = activity.idle_time_after_ns(calls);
  const StepShare part(activity, won_ns);
  const int64_t steps = steps_with(activity, calls);
  const bool in_most_steps = steps > 1 && 2 * steps > activity.step_count();
  if (failures.empty() && (!in_most_steps || part.share < kAllocationShare)) return std::nullopt;
  Finding finding = finding_on("allocator_retries", activity, won_ns);
  const bool expands = uses_expandable_segments(activity);
  if (failures.empty()) {
    finding.headline = fmt::format("Memory calls to the driver: {}{}", format_ns(part.per_step_ns),
                                   activity.a_step());
    finding.detail = fmt::format(
        "{} in {} of {} steps: no torch.cuda.empty_cache() in the loop, {}or a smaller batch",
        format_plural(calls.size(), "call"), steps, activity.step_count(),
        expands ? "" : fmt::format("{}, ", kExpandable));
  } else {
    finding.headline = failures.size() == 1 ? "Out of memory: an allocation failed"
                                            : "Out of memory: allocations failed " +
                                                  format_plural(failures.size(), "time");
    finding.detail =
        "PyTorch had emptied its cache in vain, so the program got an error, and may have lost a "
        "batch: a smaller batch";
    if (!uses_16_bits(activity)) finding.detail += expands ? " or AMP" : ", AMP";
    if (!expands) finding.detail += fmt::format(" or {}", kExpandable);
    if (won_ns == 0) finding.estimated_speedup.reset();
  }
  finding.tell("calls", calls.size());
  finding.tell("out_of_memory", failures.size());
  finding.events = failures.empty() ? longest(trace, calls) : failures;
  if (finding.events.size() > 5) finding.events.resize(5);
  finding.knob = smaller_batch_knob(activity);
  return finding;
}

}  // namespace redline::trace
