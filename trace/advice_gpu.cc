#include <fmt/format.h>

#include <algorithm>

#include "trace/advice_rules.h"
#include "trace/format.h"
#include "trace/slice_view.h"

namespace redline::trace {
namespace {

// The TensorBoard plugin's limits.
constexpr double kLowUtilization = 0.5;
constexpr double kFullMemory = 0.9;
constexpr int kFirstTensorCoreGeneration = 7;  // compute capability
constexpr double kPageableCopyShare = 0.005;   // of the step

const DeviceProperties* properties_of(const Analysis& analysis, int32_t device) {
  const auto found =
      std::find_if(analysis.devices.begin(), analysis.devices.end(),
                   [&](const DeviceProperties& known) { return known.device == device; });
  return found == analysis.devices.end() ? nullptr : &*found;
}

// Kernel time that matrix operators launched, themselves or through operators inside them.
int64_t matrix_kernel_ns(const Analysis& analysis) {
  const Trace& trace = *analysis.trace;
  int64_t sum_ns = 0;
  for (const Flow& flow : trace.flows()) {
    if (flow.kind != FlowKind::kLaunch) continue;
    if (trace.slices().category[flow.to.value] != Category::kKernel) continue;
    for (SliceId at = analysis.host_tree.parent[flow.from.value]; at;
         at = analysis.host_tree.parent[at.value]) {
      if (!is_matrix_operator(name_of(trace, at))) continue;
      sum_ns += duration_ns(trace, flow.to);
      break;
    }
  }
  return sum_ns;
}

}  // namespace

std::optional<Finding> low_gpu_utilization(const Analysis& analysis) {
  const auto lowest = std::min_element(
      analysis.gpus.begin(), analysis.gpus.end(),
      [](const GpuUse& left, const GpuUse& right) { return left.utilization < right.utilization; });
  if (lowest == analysis.gpus.end() || lowest->utilization >= kLowUtilization) return std::nullopt;
  Finding finding;
  finding.rule = "low_gpu_utilization";
  if (lowest->utilization > 0) finding.estimated_speedup = 1 / lowest->utilization;
  finding.headline = fmt::format("GPU {} runs kernels {} of the time", lowest->device,
                                 format_percent(lowest->utilization));
  finding.detail = "a larger batch gives it more work for each launch from the host";
  finding.evidence = {{"utilization_share", lowest->utilization},
                      {"device", static_cast<double>(lowest->device)}};
  finding.knob = "batch_size=1..4096";
  return finding;
}

std::optional<Finding> tensor_cores_unused(const Analysis& analysis) {
  if (analysis.gpus.empty()) return std::nullopt;
  const GpuUse& gpu = analysis.gpus.front();
  const DeviceProperties* device = properties_of(analysis, gpu.device);
  if (device == nullptr || device->compute_major < kFirstTensorCoreGeneration) return std::nullopt;
  if (gpu.tensor_core_share.value_or(1) > 0) return std::nullopt;
  int64_t kernel_ns = 0;
  for (const KernelRow& row : analysis.kernels) kernel_ns += row.total_ns;
  const int64_t matrix_ns = matrix_kernel_ns(analysis);
  if (matrix_ns == 0) return std::nullopt;

  const double eligible = static_cast<double>(matrix_ns) / static_cast<double>(kernel_ns);
  const int64_t step_ns = analysis.step_times.mean_ns;
  const auto step_part_ns = static_cast<int64_t>(
      eligible * static_cast<double>(analysis.breakdown.of(StepPart::kKernel)));
  Finding finding;
  finding.rule = "tensor_cores_unused";
  finding.estimated_speedup = speedup_without(step_part_ns, step_ns);
  finding.headline = "FP32 matrix work beside idle Tensor Cores";
  finding.detail =
      fmt::format("{} of kernel time could use AMP, 0 % does", format_percent(eligible));
  finding.evidence = {{"eligible_kernel_share", eligible}, {"tensor_core_share", 0}};
  finding.knob =
      device->compute_major > kFirstTensorCoreGeneration ? "amp=off,bf16,fp16" : "amp=off,fp16";
  return finding;
}

std::optional<Finding> pageable_copies(const Analysis& analysis) {
  CopyRow sum;
  for (const CopyRow& row : analysis.copies) {
    if (row.kind.find("Pageable ->") == std::string::npos) continue;
    sum.count += row.count;
    sum.bytes += row.bytes;
    sum.total_ns += row.total_ns;
  }
  const auto steps = static_cast<int64_t>(analysis.steps.size());
  const int64_t time_ns = sum.total_ns / steps, step_ns = analysis.step_times.mean_ns;
  const double time_share = static_cast<double>(time_ns) / static_cast<double>(step_ns);
  if (time_share <= kPageableCopyShare) return std::nullopt;
  Finding finding;
  finding.rule = "pageable_copies";
  finding.estimated_speedup = speedup_without(time_ns, step_ns);
  finding.headline = fmt::format("Pageable host-to-device copies: {} a step", format_ns(time_ns));
  finding.detail = fmt::format("{} in {} copies; pinned memory copies faster, beside kernels",
                               format_bytes(sum.bytes), format_count(sum.count));
  finding.evidence = {{"copy_ns", static_cast<double>(time_ns)},
                      {"bytes", static_cast<double>(sum.bytes)},
                      {"step_share", time_share}};
  finding.knob = "pin_memory=off,on";
  return finding;
}

std::optional<Finding> device_memory_full(const Analysis& analysis) {
  for (const MemoryPeak& peak : analysis.memory) {
    const DeviceProperties* device = properties_of(analysis, peak.device);
    if (!peak.is_gpu || device == nullptr || device->memory_bytes == 0) continue;
    const double used =
        static_cast<double>(peak.reserved_bytes) / static_cast<double>(device->memory_bytes);
    if (used <= kFullMemory) continue;
    Finding finding;
    finding.rule = "device_memory_full";
    finding.headline = fmt::format("GPU {} memory is {} full", peak.device, format_percent(used));
    finding.detail =
        fmt::format("{} of {} at the peak: AMP or checkpointing make room",
                    format_bytes(peak.reserved_bytes), format_bytes(device->memory_bytes));
    finding.evidence = {{"reserved_bytes", static_cast<double>(peak.reserved_bytes)},
                        {"memory_share", used}};
    finding.knob = "amp=off,bf16,fp16";
    return finding;
  }
  return std::nullopt;
}

}  // namespace redline::trace
