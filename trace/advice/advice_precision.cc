#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/text_search.h"
#include "trace/advice/advice_rules.h"
#include "trace/model/slice_view.h"

namespace redline::trace {
namespace {

constexpr double kMatrixShare = 0.20;  // of a step on the CPU
constexpr double kKernelShare = 0.01;  // of a step on a GPU
constexpr int kFirstTensorCores = 7;   // the first major compute capability with Tensor Cores
constexpr int kFirstBfloat16 = 8;

// Fused multiply-adds that a multiprocessor does in a cycle, from this compute capability on, by
// NVIDIA's architecture papers. By another precision no kernel can gain more than these rates
// differ.
struct Rates {
  int major, minor;
  double float32, tf32, half;
};
constexpr auto kRates = std::to_array<Rates>({{7, 0, 64, 64, 512},
                                              {8, 0, 64, 512, 1024},
                                              {8, 6, 128, 256, 512},
                                              {9, 0, 128, 1024, 2048},
                                              {10, 0, 128, 2048, 4096},
                                              {12, 0, 128, 256, 512}});

// By the datasheet if there is one. The Tensor Cores of consumer cards add up in FP32 at half the
// rate of their generation's other cards.
Rates rates_of(const DeviceProperties& device) {
  const DevicePeaks peaks = device_peaks(device);
  const auto float32 = peaks.of(PeakType::kFp32), half = peaks.of(PeakType::kFp16);
  if (float32 && half) {
    const double tf32 = peaks.of(PeakType::kTf32).value_or(*float32);
    return {device.compute_major, device.compute_minor, *float32, tf32, *half};
  }
  Rates rates = kRates.front();
  for (const Rates& known : kRates) {
    if (std::pair(known.major, known.minor) <=
        std::pair(device.compute_major, device.compute_minor)) {
      rates = known;
    }
  }
  if (!contains(device.name, "GeForce")) return rates;
  return {rates.major, rates.minor, rates.float32, std::max(rates.tf32 / 2, rates.float32),
          rates.half / 2};
}

// The small GPUs of the Turing generation have none (TU116, TU117), although their capability
// is 7.5.
bool has_tensor_cores(const DeviceProperties& device) {
  constexpr auto kSmallTuring = std::to_array<std::string_view>(
      {"GTX 16", "MX450", "MX550", "T400", "T500", "T550", "T600", "T1000", "T1200", "T2000"});
  return device.compute_major >= kFirstTensorCores && !contains_any(device.name, kSmallTuring);
}

const DeviceProperties* tensor_core_device(const Activity& activity) {
  const Analysis& analysis = activity.analysis();
  if (analysis.gpus.empty()) return nullptr;
  const DeviceProperties* device = properties_of(analysis, analysis.gpus.front().device);
  return device != nullptr && has_tensor_cores(*device) ? device : nullptr;
}

// The time in which kernels of this kind run and no other device work does.
int64_t exposed_ns(const Activity& activity, WorkKind kind) {
  const std::array own = {kind};
  return activity.alone_ns(activity.time_of(kind), own);
}

int64_t saved_ns(int64_t time_ns, double rate, double faster_rate) {
  return static_cast<int64_t>(static_cast<double>(time_ns) * (1 - rate / faster_rate));
}

int64_t sum_ns(const Activity& activity, std::span<const SliceId> slices) {
  int64_t sum = 0;
  for (const SliceId slice : slices) sum += duration_ns(activity.trace(), slice);
  return sum;
}

// Of the time of all kernels in the steps.
double share_of_kernels(const Activity& activity, std::span<const SliceId> slices) {
  const int64_t part_ns = sum_ns(activity, slices);
  int64_t whole_ns = 0;
  for (const WorkKind kind :
       {WorkKind::kFloat32Kernel, WorkKind::kTf32Kernel, WorkKind::kHalfKernel,
        WorkKind::kTransposeKernel, WorkKind::kCollectiveKernel, WorkKind::kOtherKernel}) {
    whole_ns += sum_ns(activity, activity.of(kind));
  }
  return share_of(part_ns, whole_ns);
}

// cuDNN's convolutions and recurrent layers have a switch of their own for TF32.
bool is_of_cudnn(const Activity& activity, SliceId kernel) {
  constexpr auto kOfCudnn = std::to_array<std::string_view>({"conv", "cudnn"});
  const Analysis& analysis = activity.analysis();
  const SliceId launch = activity.launcher(kernel);
  const SliceId around =
      launch ? operator_around(*analysis.trace, analysis.host_tree, launch) : SliceId::none();
  return contains_any(name_of(*analysis.trace, kernel), kOfCudnn) ||
         (around && contains_any(name_of(*analysis.trace, around), kOfCudnn));
}

/// Kernels in FP32 whose switch for TF32 may be off. Where it is on, the library chose FP32.
struct WithoutTf32 {
  std::vector<SliceId> kernels;
  bool has_products = false, has_cudnn = false;
};

WithoutTf32 without_tf32(const Activity& activity) {
  const auto is_on = [&](const char* key) {
    return activity.recorded().value("torch", key) == true;
  };
  const bool products_on = is_on("matmul_allow_tf32"), cudnn_on = is_on("cudnn_allow_tf32");
  WithoutTf32 found;
  for (const SliceId kernel : activity.of(WorkKind::kFloat32Kernel)) {
    const bool is_cudnns = is_of_cudnn(activity, kernel);
    if (is_cudnns ? cudnn_on : products_on) continue;
    found.kernels.push_back(kernel);
    (is_cudnns ? found.has_cudnn : found.has_products) = true;
  }
  return found;
}

// The trace has the types of what the operators are given, and no product is of 32 bits.
bool has_no_float32_products(const Analysis& analysis) {
  bool has_others = false;
  for (const OperatorShape& row : analysis.shapes.rows) {
    if (!row.work.is_product || row.work.type == ElementType::kUnknown) continue;
    if (row.work.type == ElementType::kFp32) return false;
    has_others = true;
  }
  return has_others;
}

}  // namespace

std::optional<Finding> tensor_cores_unused(const Activity& activity) {
  const DeviceProperties* device = tensor_core_device(activity);
  if (device == nullptr || uses_autocast(activity)) return std::nullopt;
  const Rates rates = rates_of(*device);
  const int64_t won_ns =
      saved_ns(exposed_ns(activity, WorkKind::kFloat32Kernel), rates.float32, rates.half) +
      saved_ns(exposed_ns(activity, WorkKind::kTf32Kernel), rates.tf32, rates.half);
  if (StepShare(activity, won_ns).share < kKernelShare) return std::nullopt;

  const auto float32 = activity.of(WorkKind::kFloat32Kernel),
             tf32 = activity.of(WorkKind::kTf32Kernel);
  const double float32_share = share_of_kernels(activity, float32);
  const double tf32_share = share_of_kernels(activity, tf32);
  const bool bfloat16 = device->compute_major >= kFirstBfloat16;
  Finding finding = finding_on("tensor_cores_unused", activity, won_ns);
  finding.headline = tf32.empty() ? "FP32 matrix work while Tensor Cores are idle"
                                  : "Matrix work in FP32 and TF32, none in 16 bits";
  // It halves the bytes of what lies between the products, too, but not of embeddings, losses and
  // the optimizer.
  finding.detail = fmt::format(
      "{} of kernel time could use AMP; {}'s units are {:.0f} x as fast in {}; what "
      "other kernels gain by it is not counted",
      format_percent(float32_share + tf32_share), device->name,
      rates.half / (float32_share >= tf32_share ? rates.float32 : rates.tf32),
      bfloat16 ? "bf16" : "fp16");
  finding.tell("eligible_kernel_share", float32_share + tf32_share);
  finding.tell("tf32_kernel_share", tf32_share);
  finding.events = longest(activity.trace(), float32_share >= tf32_share ? float32 : tf32);
  finding.knob = bfloat16 ? "amp=off,bf16,fp16" : "amp=off,fp16";
  return finding;
}

std::optional<Finding> tf32_off(const Activity& activity) {
  const DeviceProperties* device = tensor_core_device(activity);
  if (device == nullptr || device->compute_major < kFirstBfloat16) return std::nullopt;
  const Rates rates = rates_of(*device);
  const WithoutTf32 found = without_tf32(activity);
  constexpr std::array kFloat32 = {WorkKind::kFloat32Kernel};
  const int64_t alone_ns = activity.alone_ns(activity.time_of(found.kernels), kFloat32);
  const int64_t won_ns = saved_ns(alone_ns, rates.float32, rates.tf32);
  const StepShare part(activity, won_ns);
  if (part.share < kKernelShare) return std::nullopt;
  Finding finding = finding_on("tf32_off", activity, won_ns);
  const double kernel_share = share_of_kernels(activity, found.kernels);
  finding.headline = found.has_products ? "FP32 products that TF32 would run on Tensor Cores"
                                        : "FP32 convolutions that could run in TF32";
  const char* cure = "torch.set_float32_matmul_precision(\"high\") keeps";
  if (found.has_cudnn) cure = "torch.backends.cudnn.allow_tf32=True (PyTorch's default) keeps";
  if (found.has_cudnn && found.has_products) {
    cure =
        "torch.set_float32_matmul_precision(\"high\") for products and "
        "torch.backends.cudnn.allow_tf32=True (PyTorch's default) for convolutions keep";
  }
  finding.detail = fmt::format("{} of kernel time: {} the types as they are",
                               format_percent(kernel_share), cure);
  finding.tell("eligible_kernel_share", kernel_share);
  finding.events = longest(activity.trace(), found.kernels);
  finding.knob = "tf32=off,on";
  return finding;
}

std::optional<Finding> float32_on_cpu(const Activity& activity) {
  if (!activity.analysis().gpus.empty() || uses_autocast(activity)) return std::nullopt;
  const CpuPrecision precision = activity.recorded().cpu_precision();
  if (precision.uses_autocast || !precision.computes_bf16.value_or(true)) return std::nullopt;
  const bool is_float32 = precision.parameters.empty() || precision.parameters == "float32";
  if (!is_float32 || has_no_float32_products(activity.analysis())) return std::nullopt;
  std::vector<SliceId> operators;
  for (const WorkKind kind : {WorkKind::kConvolution, WorkKind::kMatrixOperator}) {
    operators.insert(operators.end(), activity.of(kind).begin(), activity.of(kind).end());
  }
  const int64_t time_ns = activity.without_stalls_ns(activity.time_of(operators));
  const StepShare part(activity, time_ns);
  if (part.share <= kMatrixShare) return std::nullopt;
  Finding finding = finding_on("float32_matrix_work", activity, time_ns);
  finding.headline = fmt::format("No autocast: {}{} in matrix work", format_ns(part.per_step_ns),
                                 activity.a_step());
  finding.detail =
      fmt::format("convolutions and products, {} of it; {}", format_percent(part.share),
                  precision.computes_bf16 ? "this CPU has instructions for bf16"
                                          : "bf16 helps where the CPU has it");
  finding.events = longest(activity.trace(), operators);
  finding.knob = "amp=off,bf16";
  return finding;
}

}  // namespace redline::trace
