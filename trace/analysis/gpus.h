// How busy each GPU was, and with what.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/intervals.h"
#include "trace/analysis/device_work.h"
#include "trace/analysis/host_tree.h"
#include "trace/analysis/steps.h"
#include "trace/model/model.h"

namespace redline::trace {

enum class DeviceState : uint8_t { kIdle, kCompute, kExposedCommunication, kOverlapped, kCopy };
constexpr size_t kDeviceStateCount = 5;

struct DeviceSpan {
  Interval interval;
  DeviceState state = DeviceState::kIdle;
};

/// What one device did inside the window (nullopt: all devices together), sorted by begin, without
/// idle time. An instant counts as kCopy only if nothing but copies ran.
[[nodiscard]] std::vector<DeviceSpan> device_states(const DeviceWorkTable& table,
                                                    std::optional<int32_t> device, Interval window);

/// What the trace says of a device ("deviceProperties").
struct DeviceProperties {
  int32_t device = 0;
  std::string name;
  int64_t memory_bytes = 0;
  int compute_major = 0;  ///< NVIDIA's compute capability; 0 where the trace gives none, or of AMD
  int compute_minor = 0;
  int multiprocessors = 0;  ///< 0 where the trace gives none
  /// The same in every process and unlike that of any other GPU; empty where the trace gives none,
  /// or of AMD.
  std::string uuid;
  bool has_context = false;  ///< the process has a CUDA context there; only Redline's traces say so
};

[[nodiscard]] std::vector<DeviceProperties> device_properties(const Trace& trace);

/// Of the device that a kernel names; nullptr where that is not sure. ROCm numbers a kernel's
/// device otherwise than the list (before GPUs, CPUs are counted), so where all in the list are of
/// one kind it is that kind, and else nobody knows.
[[nodiscard]] const DeviceProperties* properties_of(const std::vector<DeviceProperties>& devices,
                                                    int32_t device, bool is_amd);

/// The devices that the process works on, in order. It does not where its kernels take less than a
/// hundredth of those on another device: it has put a tensor there.
[[nodiscard]] std::vector<int32_t> working_devices(const DeviceWorkTable& table);

/// What ran at an instant: any mix of computation (1), communication (2) and copies (4), except the
/// empty one.
constexpr size_t kWorkMixCount = 7;
constexpr std::array<std::string_view, kWorkMixCount> kWorkMixNames = {
    "compute",        "communication",        "compute_communication",       "memory",
    "compute_memory", "communication_memory", "compute_communication_memory"};

/// Times are unions of intervals, from the first to the last activity of the device, as
/// HolisticTraceAnalysis defines them: span = idle + busy, busy = compute + non_compute.
/// Utilization, SM efficiency and occupancy are over the steps, as the TensorBoard plugin defines
/// them.
struct GpuUse {
  int32_t device = 0;
  std::optional<DeviceProperties> properties;  ///< nullopt if the trace lacks them
  std::string name;                            ///< empty if the trace does not say
  int64_t span_ns = 0;
  int64_t busy_ns = 0;
  int64_t idle_ns = 0;
  int64_t compute_ns = 0;
  int64_t non_compute_ns = 0;
  int64_t communication_ns = 0;
  int64_t memory_ns = 0;
  /// Share of the communication time that computation hides; nullopt without communication.
  std::optional<double> communication_overlap;
  double utilization = 0;  ///< share of the steps in which a kernel ran
  /// Mean over the time of the steps of min(1, blocks per SM of the running kernels); time without
  /// a kernel counts as 0.
  std::optional<double> sm_efficiency;
  std::optional<double> occupancy;  ///< mean estimated occupancy of kernels, weighted by time
  /// Share of kernel time in kernels that use Tensor Cores, by their names. nullopt on GPUs that
  /// are not NVIDIA's: AMD's Matrix Cores and Intel's are not counted.
  std::optional<double> tensor_core_share;
  /// Share of kernel time that matrix products and convolutions launched, which can use Tensor
  /// Cores.
  std::optional<double> tensor_core_eligible_share;
  /// Busy time by what ran at once, in the order of kWorkMixNames: the parts sum to busy_ns.
  std::array<int64_t, kWorkMixCount> mix_ns{};
};

[[nodiscard]] std::vector<GpuUse> gpu_use(const Trace& trace, const DeviceWorkTable& table,
                                          const HostTree& tree, const std::vector<Step>& steps,
                                          const std::vector<DeviceProperties>& properties);

}  // namespace redline::trace
