// The rules of advice.h, one function each. A rule returns nullopt if the trace does not show the
// problem.
#pragma once

#include <optional>
#include <string>

#include "trace/advice/advice.h"
#include "trace/analysis/activity.h"
#include "trace/analysis/replay.h"

namespace redline::trace {

using Rule = std::optional<Finding> (*)(const Activity& activity);

// advice_startup.cc
[[nodiscard]] std::optional<Finding> startup_recorded(const Activity& activity);
[[nodiscard]] std::optional<Finding> first_step_recorded(const Activity& activity);

// advice_input.cc
[[nodiscard]] std::optional<Finding> dataloader_wait(const Activity& activity);
[[nodiscard]] std::optional<Finding> pageable_copies(const Activity& activity);

// advice_precision.cc
[[nodiscard]] std::optional<Finding> tensor_cores_unused(const Activity& activity);
[[nodiscard]] std::optional<Finding> tf32_off(const Activity& activity);
[[nodiscard]] std::optional<Finding> float32_on_cpu(const Activity& activity);

// advice_convolution.cc
[[nodiscard]] std::optional<Finding> layout_transposes(const Activity& activity);
[[nodiscard]] std::optional<Finding> cudnn_benchmark_off(const Activity& activity);

// advice_host.cc
[[nodiscard]] std::optional<Finding> launch_bound(const Activity& activity);
[[nodiscard]] std::optional<Finding> synchronizing_calls(const Activity& activity);
[[nodiscard]] std::optional<Finding> tiny_operators(const Activity& activity);
[[nodiscard]] std::optional<Finding> cpu_oversubscribed(const Activity& activity);

// advice_page_faults.cc
[[nodiscard]] std::optional<Finding> page_faults(const Activity& activity);

// advice_host_unrecorded.cc
[[nodiscard]] std::optional<Finding> low_gpu_utilization(const Activity& activity);
[[nodiscard]] std::optional<Finding> range_without_operators(const Activity& activity);

// advice_optimizer.cc
[[nodiscard]] std::optional<Finding> optimizer_per_parameter(const Activity& activity);

// advice_devices.cc
[[nodiscard]] std::optional<Finding> data_parallel(const Activity& activity);
[[nodiscard]] std::optional<Finding> gpus_take_turns(const Activity& activity);
[[nodiscard]] std::optional<Finding> gpu_throttled(const Activity& activity);

// advice_roof.cc
[[nodiscard]] std::optional<Finding> fusible_kernels(const Activity& activity);
[[nodiscard]] std::optional<Finding> unfused_attention(const Activity& activity);
[[nodiscard]] std::optional<Finding> misaligned_products(const Activity& activity);
[[nodiscard]] std::optional<Finding> recomputation(const Activity& activity);
[[nodiscard]] std::optional<Finding> small_batch(const Activity& activity);

// advice_memory.cc
[[nodiscard]] std::optional<Finding> memory_unused(const Activity& activity);
[[nodiscard]] std::optional<Finding> device_memory_full(const Activity& activity);
[[nodiscard]] std::optional<Finding> allocator_retries(const Activity& activity);
[[nodiscard]] std::optional<Finding> batch_of_one(const Activity& activity);
/// A value for Finding::knob, such as "batch_size=32..512". The range goes from the samples that a
/// rank's loader gives at once now up to what its GPU's memory may hold. If the trace does not say
/// how many samples a step takes, it is autotune's default range. Empty without PyTorch, and where
/// there is no room.
[[nodiscard]] std::string larger_batch_knob(const Activity& activity);
/// False if an allocation on a GPU failed, or if over 90 % of its memory are held and mostly in
/// use.
[[nodiscard]] bool has_room_for_a_larger_batch(const Activity& activity);
[[nodiscard]] std::string smaller_batch_knob(const Activity& activity);

// advice_ranks.cc
/// The end of what `communication` says of one rank. Where all ranks are loaded, it is taken away.
constexpr std::string_view kMayWait =
    "; or this rank waits for a later one: report on the traces of all ranks";
[[nodiscard]] std::optional<Finding> communication(const Activity& activity);
[[nodiscard]] std::optional<Finding> accumulation_reduces(const Activity& activity);
[[nodiscard]] std::optional<Finding> straggler(const RankComparison& comparison,
                                               std::span<const RankSummary* const> ranks);
[[nodiscard]] std::optional<Finding> gpu_shared(const RankComparison& comparison,
                                                std::span<const RankSummary* const> ranks);
[[nodiscard]] std::optional<Finding> stray_contexts(const RankComparison& comparison,
                                                    std::span<const RankSummary* const> ranks);
[[nodiscard]] std::vector<EvidenceEvent> longest_steps(const Trace& trace);  ///< at most five

// advice_common.cc

/// How many ranks the job has at least. Many traces do not name its size, but that of a group.
[[nodiscard]] int64_t least_ranks(const RankSummary& rank);

/// Speed-up if `removed_ns` of `whole_ns` went away; nullopt if `removed_ns` is not less than
/// `whole_ns`.
[[nodiscard]] std::optional<double> speedup_without(int64_t removed_ns, int64_t whole_ns);

/// A time summed over all steps, expressed as the mean a step and as a share of all steps' time.
struct StepShare {
  int64_t per_step_ns = 0;
  double share = 0;

  StepShare(const Activity& activity, int64_t total_ns);
};

/// A finding whose cure would remove `total_ns` from all steps together. Its evidence has
/// "removable_ns" (a step) and "step_share".
[[nodiscard]] Finding finding_on(const char* rule, const Activity& activity, int64_t total_ns);

/// The same for a cure that would change the recording like `change`: it is replayed with it, as
/// `redline what-if` does. Without a bound where steps are so large that this takes long.
[[nodiscard]] Finding finding_on(const char* rule, const Activity& activity, const Change& change);

/// Work of a device by the time that the step has there, everything else by the step's annotation:
/// a host may be steps ahead of its devices.
[[nodiscard]] bool begins_in_steps(const Activity& activity, SliceId slice);

/// How many steps "a step" is of: those that are marked or, where none are, those of the optimizer;
/// nullopt without either.
[[nodiscard]] std::optional<int64_t> training_steps(const Activity& activity);

/// "2 calls a step" or, where that would be none, "1 call in 4 steps".
[[nodiscard]] std::string how_often(const Activity& activity, size_t count, const char* what);

[[nodiscard]] bool is_compiled(const Activity& activity);  ///< by torch.compile, at least in part
[[nodiscard]] bool uses_autocast(const Activity& activity);
[[nodiscard]] bool recomputes(const Activity& activity);  ///< in backward, to save memory

/// The longest of `slices`, at most five.
[[nodiscard]] std::vector<EvidenceEvent> longest(const Trace& trace,
                                                 std::span<const SliceId> slices);
[[nodiscard]] EvidenceEvent event_of(const Trace& trace, SliceId slice);

/// The longest times within the steps in which no device works; at most five.
[[nodiscard]] std::vector<EvidenceEvent> longest_idle_gaps(const Activity& activity);

/// A value for Finding::knob, such as "num_workers=0..8". The range ends at the number of cores
/// that the recorded process could use (at most 16), or at 4 if the trace does not say.
[[nodiscard]] std::string workers_knob(const Activity& activity);

/// The properties that the trace gives for the device; null if it gives none.
[[nodiscard]] const DeviceProperties* properties_of(const Analysis& analysis, int32_t device);

}  // namespace redline::trace
