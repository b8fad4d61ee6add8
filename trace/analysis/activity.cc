#include "trace/analysis/activity.h"

#include <algorithm>
#include <array>

#include "base/parallel.h"
#include "base/statistics.h"
#include "base/text_search.h"
#include "trace/analysis/communication.h"
#include "trace/emit/name_kinds.h"
#include "trace/model/category.h"
#include "trace/model/loader_workers.h"
#include "trace/model/slice_view.h"

namespace redline::trace {
namespace {

using std::string_view;

constexpr std::array kDeviceKinds = {
    WorkKind::kFloat32Kernel,   WorkKind::kTf32Kernel,       WorkKind::kHalfKernel,
    WorkKind::kTransposeKernel, WorkKind::kCollectiveKernel, WorkKind::kOtherKernel,
    WorkKind::kPageableCopy,    WorkKind::kCopyToPageable,   WorkKind::kOtherCopy};

WorkKind operator_kind(string_view name) {
  constexpr auto kMatrix = std::to_array<string_view>(
      {"aten::mm", "aten::addmm", "aten::bmm", "aten::matmul", "aten::linear", "aten::baddbmm",
       "aten::addbmm", "aten::mkldnn_rnn_layer", "aten::mkldnn_rnn_layer_backward"});
  if (name.starts_with("Optimizer.step#")) return WorkKind::kOptimizer;
  if ((name_kinds(name) & kDataLoaderName) != 0) return WorkKind::kDataLoader;
  if (!name.starts_with("aten::")) return WorkKind::kNone;
  if (contains(name, "conv") && !contains(name, "convert")) return WorkKind::kConvolution;
  if (name == "aten::contiguous" || name == "aten::clone") return WorkKind::kContiguous;
  return is_any(name, kMatrix) ? WorkKind::kMatrixOperator : WorkKind::kNone;
}

WorkKind call_kind(string_view name) {
  constexpr auto kWaits = std::to_array<string_view>(
      {"cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize", "cudaMemcpy",
       "hipStreamSynchronize", "hipDeviceSynchronize", "hipEventSynchronize", "hipMemcpy",
       "hipMemcpyWithStream", "urEventWait", "urQueueFinish"});
  constexpr auto kAllocations =
      std::to_array<string_view>({"cudaMalloc", "cudaFree", "cuMemCreate", "cuMemMap", "cuMemUnmap",
                                  "cuMemRelease", "hipMalloc", "hipFree"});
  constexpr auto kLaunches =
      std::to_array<string_view>({"cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel",
                                  "cuLaunchKernelEx", "hipLaunchKernel", "hipExtLaunchKernel",
                                  "hipModuleLaunchKernel", "hipExtModuleLaunchKernel"});
  if (is_any(name, kLaunches)) return WorkKind::kLaunch;
  if (is_any(name, kWaits)) return WorkKind::kSynchronization;
  return is_any(name, kAllocations) ? WorkKind::kAllocation : WorkKind::kNone;
}

// Whether a product computes in FP64 or in complex numbers, which neither TF32 nor 16 bits replace:
// "volta_dgemm_128x64_nn", "cutlass_80_tensorop_d884gemm_64x64", "sm80_xmma_gemm_f64f64_f64f64".
// Words count, because "batchedgemm" may be of any type.
bool is_double_or_complex(string_view name) {
  if (contains(name, "f64f64") || contains(name, "<double")) return true;
  while (!name.empty()) {
    const size_t end = std::min(name.find_first_of("_ :<>(,"), name.size());
    string_view word = name.substr(0, end);
    name.remove_prefix(std::min(end + 1, name.size()));
    if (word.starts_with("cf32")) return true;
    if (word.empty() || !contains("cdz", word.substr(0, 1))) continue;
    word.remove_prefix(std::min(word.find_first_not_of("0123456789", 1), word.size()));
    if (word.starts_with("gemm")) return true;
  }
  return false;
}

WorkKind kernel_kind(string_view name) {
  constexpr auto kMatrix =
      std::to_array<string_view>({"gemm", "wgrad", "dgrad", "fprop", "convolve", "winograd",
                                  "scudnn", "nvjet", "conv2d", "3dconv"});
  // Kernels that products launch besides the product itself: offsets, transforms of filters,
  // reductions of split sums.
  constexpr auto kHelpers = std::to_array<string_view>(
      {"Offsets", "splitKreduce", "reduce_wgrad", "layer_norm", "fbgemm"});
  if (is_communication_kernel(name)) return WorkKind::kCollectiveKernel;
  if (contains_any(name, {"nchwToNhwc", "nhwcToNchw"})) {
    return WorkKind::kTransposeKernel;
  }
  // Of Tensile and hipBLASLt the types of operands, result and sums are a word of the name.
  constexpr auto kShortOfTensile = std::to_array<string_view>(
      {"_BBS_", "_BSS_", "_B_BS_", "_HHS_", "_HSS_", "_H_HS_", "_HB_", "_HBH_"});
  if (contains(name, "Cijk_")) {
    return contains_any(name, kShortOfTensile) ? WorkKind::kHalfKernel : WorkKind::kOtherKernel;
  }
  const bool tensor_cores = uses_tensor_cores(name);
  if (!tensor_cores && (!contains_any(name, kMatrix) || contains_any(name, kHelpers))) {
    return WorkKind::kOtherKernel;
  }
  if (is_double_or_complex(name)) return WorkKind::kOtherKernel;
  // Types of 16 bits or fewer. Products in them may run without Tensor Cores, for example with one
  // row.
  constexpr auto kShortTypes = std::to_array<string_view>(
      {"f16", "half", "Half", "e4m3", "BFloat16", "bfloat16", "igemm_int8"});
  if (!tensor_cores) {
    return contains_any(name, kShortTypes) ? WorkKind::kHalfKernel : WorkKind::kFloat32Kernel;
  }
  // CUTLASS names the instruction: 1688 takes TF32, unless the name says which 16 bits. PyTorch's
  // attention in FP32 is made of three products in TF32.
  const bool tf32 = contains(name, "tf32") ||
                    (contains(name, "tensorop_s1688") && !contains(name, "f16")) ||
                    (contains(name, "fmha_cutlass") && contains(name, "_f32_"));
  return tf32 ? WorkKind::kTf32Kernel : WorkKind::kHalfKernel;
}

WorkKind copy_kind(string_view name) {
  if (contains(name, "Pageable -> Device")) return WorkKind::kPageableCopy;
  return contains(name, "Device -> Pageable") ? WorkKind::kCopyToPageable : WorkKind::kOtherCopy;
}

}  // namespace

WorkKind work_kind_of(Category category, string_view name) {
  switch (category) {
    case Category::kCpuOp:
    case Category::kUserAnnotation:
      return operator_kind(name);
    case Category::kRuntime:
    case Category::kDriver:
      return call_kind(name);
    case Category::kKernel:
      return kernel_kind(name);
    case Category::kMemcpy:
      return copy_kind(name);
    case Category::kMemset:
      return WorkKind::kOtherCopy;
    default:
      return WorkKind::kNone;
  }
}

WorkKinds::WorkKinds(const Trace& trace) : trace_(trace) {
  for (auto& kinds : known_) kinds.resize(trace.string_count(), WorkKind::kCount);
}

// An operator and a kernel may have the same name, so each group of categories has its own table.
size_t WorkKinds::group_of(Category category) {
  if (is_host_node(category)) return 0;
  if (is_launch(category)) return 1;
  return category == Category::kKernel ? 2 : 3;
}

WorkKind WorkKinds::of(Category category, StringId name) {
  if (!name) return work_kind_of(category, {});
  WorkKind& kind = known_[group_of(category)][name.value];
  if (kind == WorkKind::kCount) kind = work_kind_of(category, trace_.string(name));
  return kind;
}

WorkKind WorkKinds::known(Category category, StringId name) const {
  const WorkKind kind = name ? known_[group_of(category)][name.value] : WorkKind::kNone;
  return kind == WorkKind::kCount ? WorkKind::kNone : kind;
}

Activity::Activity(const Analysis& analysis)
    : analysis_(analysis), recorded_(*analysis.trace), kinds_(*analysis.trace) {
  steps_ = windows_of(analysis.steps);
  steps_ns_ = total_ns(steps_);
  run_on_threads(2, [&](unsigned thread) { thread == 0 ? sort_slices() : measure_device(); });
}

void Activity::sort_slices() {
  const auto& names = trace().slices().name;
  IntervalCursor steps(steps_);
  for_each_slice(trace(), [&](SliceId slice, Category category) {
    const WorkKind kind = kinds_.of(category, names[slice.value]);
    has_operators_ |= category == Category::kCpuOp;
    has_dataloader_ |= kind == WorkKind::kDataLoader;
    if (kind == WorkKind::kNone || !steps.touches(interval_of(trace(), slice))) return;
    slices_[static_cast<size_t>(kind)].push_back(slice);
  });
}

void Activity::measure_device() {
  WorkKinds kinds(trace());  // its own, because sort_slices() uses kinds_ on another thread
  std::vector<Coverage> times(device_times_.size(), Coverage(steps_));
  Coverage all(steps_);
  for (const DeviceWork& row : analysis_.device_work.rows) {
    times[static_cast<size_t>(kinds.of(row.category, row.name))].add(row.interval);
    all.add(row.interval);
  }
  for (size_t i = 0; i < times.size(); ++i) device_times_[i] = times[i].take();
  device_time_ = all.take();
}

KernelCount Activity::kernel_count() const {
  KernelCount count;
  std::vector<bool> is_counted(trace().slice_count());
  for (const WorkKind kind :
       {WorkKind::kFloat32Kernel, WorkKind::kTf32Kernel, WorkKind::kHalfKernel,
        WorkKind::kTransposeKernel, WorkKind::kCollectiveKernel, WorkKind::kOtherKernel}) {
    for (const SliceId kernel : of(kind)) {
      ++count.kernels;
      const SliceId launch = launcher(kernel) ? launcher(kernel) : kernel;
      if (!is_counted[launch.value]) ++count.launches;
      is_counted[launch.value] = true;
    }
  }
  return count;
}

Intervals Activity::time_of(std::span<const SliceId> slices) const {
  Coverage time(steps_);
  for (const SliceId slice : slices) time.add(interval_of(trace(), slice));
  return time.take();
}

int64_t Activity::alone_ns(Intervals time, std::span<const WorkKind> own) const {
  for (const WorkKind kind : kDeviceKinds) {
    if (std::ranges::find(own, kind) != own.end()) continue;
    if (!time.empty() && !time_of(kind).empty()) time = subtract(time, time_of(kind));
  }
  return total_ns(time);
}

int64_t Activity::without_stalls_ns(const Intervals& time) const {
  constexpr int64_t kMostMedians = 3;
  std::vector<int64_t> of_steps;
  for (const Step& step : analysis_.steps) {
    if (const int64_t ns = total_within_ns(time, step.window); ns > 0) of_steps.push_back(ns);
  }
  if (of_steps.empty()) return 0;
  const int64_t most = kMostMedians * upper_median(of_steps);
  int64_t sum_ns = 0;
  for (const int64_t ns : of_steps) sum_ns += std::min(ns, most);
  return sum_ns;
}

SliceId Activity::around(SliceId host_slice, WorkKind kind) const {
  if (!host_slice) return {};
  const auto& slices = trace().slices();
  const auto is_one = [&](SliceId slice) {
    return kinds_.known(slices.category[slice.value], slices.name[slice.value]) == kind;
  };
  SliceId at = analysis_.host_tree.parent[host_slice.value];
  while (at && !is_one(at)) at = analysis_.host_tree.parent[at.value];
  return at;
}

Intervals Activity::waits_for_workers() const {
  constexpr int64_t kReadyBatchNs = 1'000'000;  // handing over one that is ready takes less
  std::vector<SliceId> waits;
  for (const SliceId wait : of(WorkKind::kDataLoader)) {
    const bool is_ready = duration_ns(trace(), wait) <= kReadyBatchNs;
    if (is_of_workers(name_of(trace(), wait)) && !is_ready) waits.push_back(wait);
  }
  return time_of(waits);
}

int64_t Activity::idle_time_after_ns(std::span<const SliceId> calls) const {
  const Intervals spent = time_of(calls), waits = waits_for_workers();
  int64_t ahead_ns = 0, won_ns = 0;
  auto call = spent.begin();
  auto wait = waits.begin();
  for (const Interval& idle : subtract(subtract(steps_, device_time_), waits)) {
    // The batch comes when its worker has made it, however far ahead the host is.
    for (; wait != waits.end() && wait->end_ns <= idle.begin_ns; ++wait) {
      while (call != spent.end() && call->begin_ns < wait->end_ns) ++call;
      ahead_ns = 0;
    }
    for (; call != spent.end() && call->begin_ns < idle.end_ns; ++call) {
      ahead_ns += call->length_ns();
    }
    const int64_t used_ns = std::min(ahead_ns, idle.length_ns());
    ahead_ns -= used_ns;
    won_ns += used_ns;
  }
  return won_ns;
}

}  // namespace redline::trace
