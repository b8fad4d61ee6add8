#include "trace/analysis/roofline.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/format.h"
#include "base/text_search.h"

namespace redline::trace {
namespace {

// Products of FP32 run on ordinary units or, rounded to TF32, on Tensor Cores: only the kernels'
// names tell which. AMD's have a word for the types of a product: S_B is FP32, S_MX_B rounded.
std::optional<PeakType> type_of_fp32_product(const StringTable& names, const OperatorShape& row,
                                             const DevicePeaks& peaks) {
  if (!peaks.of(PeakType::kTf32)) return PeakType::kFp32;
  constexpr auto kRounded =
      std::to_array<std::string_view>({"tf32", "s1688", "xf32", "_S_MX_B_", "_SX_B_"});
  constexpr auto kExact =
      std::to_array<std::string_view>({"sgemm", "_ffma_", "f32f32_f32f32_f32", "scudnn", "simt",
                                       "gemv", "_SB_", "_S_B_", "_fp32_"});
  for (const ShapeKernel& kernel : row.kernels) {
    const std::string_view name = names.at(kernel.name);
    if (contains_any(name, kRounded)) return PeakType::kTf32;
    if (contains_any(name, kExact)) return PeakType::kFp32;
  }
  return std::nullopt;
}

std::optional<PeakType> type_of_product(const StringTable& names, const OperatorShape& row,
                                        const DevicePeaks& peaks) {
  switch (row.work.type) {
    case ElementType::kFp64:
      return PeakType::kFp64;
    case ElementType::kFp32:
      return type_of_fp32_product(names, row, peaks);
    case ElementType::kBf16:
      return PeakType::kBf16;
    case ElementType::kFp16:
      return PeakType::kFp16;
    case ElementType::kFp8:
      return PeakType::kFp8;
    case ElementType::kInt8:
      return PeakType::kInt8;
    default:
      return std::nullopt;
  }
}

// Everything but products runs on ordinary units, which compute 16 bits in FP32.
std::optional<PeakType> type_of_pass(ElementType type) {
  if (type == ElementType::kFp64) return PeakType::kFp64;
  return type >= ElementType::kFp8 ? std::optional(PeakType::kFp32) : std::nullopt;
}

std::optional<PeakType> peak_type(const StringTable& names, const OperatorShape& row,
                                  const DevicePeaks& peaks) {
  return row.work.is_product ? type_of_product(names, row, peaks) : type_of_pass(row.work.type);
}

// What one call takes at the least for its operations; nullopt where that is not known.
std::optional<double> least_compute_ns(const OperatorShape& row, std::optional<PeakType> type,
                                       const DevicePeaks& peaks) {
  const auto peak = type ? peaks.of(*type) : std::nullopt;
  if (!peak || !row.work.needed_flops) return std::nullopt;
  return static_cast<double>(*row.work.needed_flops) / (*peak * 1e3);
}

void set_roof(const StringTable& names, const OperatorShape& row, const DevicePeaks& peaks,
              RooflinePoint& point) {
  const auto least_ns = least_call_ns(names, row, peaks);
  if (!least_ns) return;
  const double memory_ns = static_cast<double>(*row.work.bytes) / *peaks.gb_per_s;
  point.bound = *least_ns > memory_ns ? Bound::kCompute : Bound::kMemory;
  const double roof_ns = static_cast<double>(row.count) * *least_ns;
  const auto taken_ns = static_cast<double>(row.taken_ns());
  point.percent_of_peak = 100 * roof_ns / taken_ns;
  point.lost_ns = std::max<int64_t>(0, std::llround(taken_ns - roof_ns));
}

}  // namespace

RooflinePoint roofline_point(const StringTable& names, const OperatorShape& row,
                             const DevicePeaks& peaks) {
  RooflinePoint point;
  if (row.taken_ns() <= 0) return point;
  const double calls_per_ns = static_cast<double>(row.count) / static_cast<double>(row.taken_ns());
  const OperatorWork& work = row.work;
  if (work.flops) point.tflops_per_s = static_cast<double>(*work.flops) * calls_per_ns / 1e3;
  if (work.bytes) point.gb_per_s = static_cast<double>(*work.bytes) * calls_per_ns;
  if (work.needed_flops && work.bytes.value_or(0) > 0) {
    point.flops_per_byte =
        static_cast<double>(*work.needed_flops) / static_cast<double>(*work.bytes);
  }
  point.type = peak_type(names, row, peaks);
  set_roof(names, row, peaks, point);
  return point;
}

bool crosses_a_link(std::string_view work) {
  return contains_any(work, {"HtoD", "DtoH", "PtoP", "HostToDevice", "DeviceToHost"});
}

bool crosses_a_link(const StringTable& names, const OperatorShape& row) {
  return std::ranges::any_of(row.kernels, [&](const ShapeKernel& kernel) {
    return crosses_a_link(names.at(kernel.name));
  });
}

std::optional<double> least_call_ns(const StringTable& names, const OperatorShape& row,
                                    const DevicePeaks& peaks, double times) {
  if (!row.work.bytes || !peaks.gb_per_s || crosses_a_link(names, row)) return std::nullopt;
  const auto compute_ns = least_compute_ns(row, peak_type(names, row, peaks), peaks);
  // Without products it is memory that binds, even if the peak is not known.
  if (!compute_ns && row.work.is_product) return std::nullopt;
  const auto weights = static_cast<double>(row.work.weight_bytes);
  const double bytes = weights + (static_cast<double>(*row.work.bytes) - weights) * times;
  return std::max(compute_ns.value_or(0) * times, bytes / *peaks.gb_per_s);
}

ModelUse model_use(const StringTable& names, const OperatorShapes& shapes,
                   const std::vector<Step>& steps, const DevicePeaks& peaks) {
  ModelUse use;
  if (shapes.rows.empty() || steps.empty()) return use;
  int64_t all_ns = shapes.outside_ns, modelled_ns = 0, with_peak_ns = 0, steps_ns = 0;
  Count flops = 0, again = 0;
  double least_ns = 0, least_again_ns = 0;
  for (const OperatorShape& row : shapes.rows) {
    const int64_t row_ns = row.taken_ns();
    all_ns += row_ns;
    if (!row.work.is_modelled()) continue;
    modelled_ns += row_ns;
    if (row.work.is_product) {
      const int64_t calls_again = row.recomputed_step_count;
      flops = plus(flops, times(row.work.needed_flops, row.step_count - calls_again));
      again = plus(again, times(row.work.needed_flops, calls_again));
      const auto each_ns = least_compute_ns(row, peak_type(names, row, peaks), peaks);
      if (!each_ns) continue;
      least_ns += *each_ns * static_cast<double>(row.step_count - calls_again);
      least_again_ns += *each_ns * static_cast<double>(calls_again);
    }
    with_peak_ns += row_ns;
  }
  for (const Step& step : steps) steps_ns += step.window.length_ns();
  const auto step_count = static_cast<int64_t>(steps.size());
  if (flops) use.flops_per_step = *flops / step_count;
  if (again) use.recomputed_flops_per_step = *again / step_count;
  if (all_ns <= 0 || steps_ns <= 0) return use;
  use.modelled_share = share_of(modelled_ns, all_ns);
  if (least_ns > 0 && share_of(with_peak_ns, all_ns) >= kLeastModelledShare) {
    use.mfu = least_ns / static_cast<double>(steps_ns);
    use.hfu = (least_ns + least_again_ns) / static_cast<double>(steps_ns);
  }
  return use;
}

}  // namespace redline::trace
