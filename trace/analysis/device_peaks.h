// What a device could do at most: a GPU as its vendor's datasheet has it (dense, without sparsity,
// at boost clock), a CPU as `redline doctor --measure` found.
//
// A device is known by its name. One that the table lacks has no peaks, and neither has a part of
// one (MIG, an MI300X in CPX mode), because a guess would be worse than nothing.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "trace/analysis/gpus.h"

namespace redline::trace {

enum class PeakType : uint8_t { kFp64, kFp32, kTf32, kBf16, kFp16, kFp8, kInt8 };
constexpr size_t kPeakTypeCount = 7;
constexpr std::array<std::string_view, kPeakTypeCount> kPeakTypeNames = {
    "fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8"};

struct DevicePeaks {
  /// 10^12 operations a second, by PeakType; nullopt where the device has no such units.
  std::array<std::optional<double>, kPeakTypeCount> tflops;
  std::optional<double> gb_per_s;  ///< 10^9 bytes a second of device memory
  /// To the other GPUs of its node together, in one direction; nullopt where it depends on the
  /// node.
  std::optional<double> link_gb_per_s;
  bool is_link_given = false;
  std::string source;  ///< the datasheet, "measured…" or "given"; empty: nothing known

  [[nodiscard]] std::optional<double> of(PeakType type) const {
    return tflops[static_cast<size_t>(type)];
  }
};

/// Computation is scaled by the multiprocessors that the device has, where they differ from the
/// datasheet's.
[[nodiscard]] DevicePeaks device_peaks(const DeviceProperties& device);

/// Of the CPU that a trace comes from, if it was measured here (trace/read/measured_peaks.h).
[[nodiscard]] DevicePeaks measured_cpu_peaks(const std::string& host, int64_t cores);

/// What the user says of the device: replaces what the table knows.
struct GivenPeaks {
  std::array<std::optional<double>, kPeakTypeCount> tflops;
  std::optional<double> gb_per_s;
  std::optional<double> link_gb_per_s;

  void apply_to(DevicePeaks& peaks) const;
};

/// Reads "989" (of every type) or "bf16=989,tf32=494.7" into `peaks`. The error says what is wrong.
[[nodiscard]] tl::expected<void, std::string> read_peak_tflops(const std::string& text,
                                                               GivenPeaks& peaks);

}  // namespace redline::trace
