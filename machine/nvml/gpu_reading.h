// The state of one GPU at one moment, as NVML reports it. A figure that NVML does not report is
// absent and never 0: an older driver or GPU may not know it, a MIG instance does not have it, or
// this user has no permission.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "machine/nvml/nvml_library.h"

namespace redline::nvml {

struct GpuReading {
  int64_t time_ns = 0;           ///< CLOCK_MONOTONIC
  bool is_lost = false;          ///< the GPU fell off the bus, and tells nothing any more
  uint64_t failures = 0;         ///< calls that failed, although this GPU has answered them before
  uint64_t narrow_counters = 0;  ///< traffic counters left out: 32 bits overflow unnoticed
  std::optional<double> busy =
      {};  ///< share (0..1) of the last sample period in which a kernel ran
  std::optional<double> memory_busy = {};  ///< share in which its memory was read or written
  std::optional<int64_t> memory_bytes = {};
  std::optional<int64_t> memory_used_bytes = {};
  std::optional<double> power_w = {};
  std::optional<double> power_limit_w = {};
  std::optional<int64_t> sm_clock_mhz = {};
  std::optional<int64_t> memory_clock_mhz = {};
  std::optional<int64_t> temperature_c = {};
  std::optional<uint64_t> throttle_reasons = {};  ///< nvmlClocksEventReasons
  std::optional<uint64_t> ecc_corrected = {};     ///< since the driver was loaded
  std::optional<uint64_t> ecc_uncorrected = {};
  // These count up since the driver was loaded.
  std::optional<uint64_t> pcie_received_bytes = {};
  std::optional<uint64_t> pcie_sent_bytes = {};
  std::optional<uint64_t> nvlink_received_bytes = {};
  std::optional<uint64_t> nvlink_sent_bytes = {};
  // Bytes per second, measured only if the counters above are absent.
  std::optional<double> pcie_received_rate = {};
  std::optional<double> pcie_sent_rate = {};
};

/// How fast a counter counted, in units per second; nullopt if it is not known, or began anew.
template <typename Count>
[[nodiscard]] std::optional<double> rate(const std::optional<Count>& before,
                                         const std::optional<Count>& now, double seconds) {
  if (!before || !now || *now < *before || seconds <= 0) return std::nullopt;
  return static_cast<double>(*now - *before) / seconds;
}

/// Bytes per second between two readings.
struct GpuTraffic {
  std::optional<double> pcie_received = {};
  std::optional<double> pcie_sent = {};
  std::optional<double> nvlink_received = {};
  std::optional<double> nvlink_sent = {};
};
[[nodiscard]] GpuTraffic traffic_between(const GpuReading& before, const GpuReading& now);

/// Why the clocks are lower than they could be, in words. Two of NVML's reasons are left out,
/// because nothing is wrong then: the GPU is idle, or somebody has set its clocks.
struct ThrottleReason {
  uint64_t bits;
  const char* name;
};
inline constexpr ThrottleReason kThrottleReasons[] = {
    {kPowerCap, "power cap"},
    {kSoftwareThermal | kHardwareThermal, "heat"},
    {kPowerBrake, "power brake"},
    {kSyncBoost, "sync boost"},
    {kHardwareSlowdown, "hardware slowdown"},
};
[[nodiscard]] std::vector<std::string> throttle_names(uint64_t reasons);

class GpuReader {
 public:
  GpuReader(const Library& library, nvmlDevice_t device) : library_(library), device_(device) {}

  /// With `may_wait`, PCIe traffic is measured for 40 ms if the GPU has no counter of it.
  [[nodiscard]] GpuReading read(bool may_wait);

 private:
  [[nodiscard]] bool ask(unsigned figure, int status);
  void read_load();
  void read_state();
  void read_traffic(bool may_wait);
  void read_errors();

  const Library& library_;
  nvmlDevice_t device_;
  GpuReading now_;
  uint32_t answered_ = 0;  ///< a bit for each figure that NVML has reported before
};

}  // namespace redline::nvml
