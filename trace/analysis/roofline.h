// How close operators come to what the device can do: the roofline model.
//
// An operator cannot be faster than its operations at the device's peak for their type, nor than
// its bytes at the memory's bandwidth. The longer of the two is its roof, and the time beyond it is
// lost. A figure that needs something unknown (no formula, no peaks, a type that the kernels do not
// tell) is nullopt.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "trace/analysis/device_peaks.h"
#include "trace/analysis/operator_shapes.h"

namespace redline::trace {

enum class Bound : uint8_t { kCompute, kMemory };
[[nodiscard]] constexpr std::string_view bound_name(Bound bound) {
  return bound == Bound::kCompute ? "compute" : "memory";
}

/// Of one row, over all of its calls.
struct RooflinePoint {
  std::optional<double> tflops_per_s;  ///< by OperatorWork::flops
  std::optional<double> gb_per_s;
  std::optional<double> flops_per_byte;  ///< by OperatorWork::needed_flops
  std::optional<PeakType> type;          ///< whose peak counts
  std::optional<Bound> bound;
  std::optional<double> percent_of_peak;  ///< of the peak that bounds it, 0..100
  std::optional<int64_t> lost_ns;         ///< GPU time beyond the roof
};

[[nodiscard]] RooflinePoint roofline_point(const StringTable& names, const OperatorShape& row,
                                           const DevicePeaks& peaks);

/// Whether GPU work of this name copies over PCIe or another link, whose bandwidth limits it
/// instead of that of the GPU's memory.
[[nodiscard]] bool crosses_a_link(std::string_view work);
[[nodiscard]] bool crosses_a_link(const StringTable& names, const OperatorShape& row);

/// What a call with so many times the batch takes at the least; nullopt where that is not known,
/// as of what crosses a link.
[[nodiscard]] std::optional<double> least_call_ns(const StringTable& names,
                                                  const OperatorShape& row,
                                                  const DevicePeaks& peaks, double times = 1);

/// How much of the steps' time the model's products would take at the device's peak.
struct ModelUse {
  /// OperatorWork::needed_flops of matrix products, convolutions and attention, a mean of the
  /// steps. What is computed again in backward counts once, and stands apart.
  Count flops_per_step;
  Count recomputed_flops_per_step;
  std::optional<double> mfu;  ///< 0..1; nullopt without peaks, or if too little is modelled
  std::optional<double> hfu;  ///< the same with what is computed again
  /// Share of the GPU work, without collectives, that operators with known operations launched.
  std::optional<double> modelled_share;
};
/// With less than this share modelled, a model's use would come out too low.
constexpr double kLeastModelledShare = 0.95;

[[nodiscard]] ModelUse model_use(const StringTable& names, const OperatorShapes& shapes,
                                 const std::vector<Step>& steps, const DevicePeaks& peaks);

}  // namespace redline::trace
