// Tables by name: kernels, operators, copies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/statistics.h"
#include "trace/analysis/device_work.h"
#include "trace/analysis/host_tree.h"
#include "trace/emit/name_kinds.h"
#include "trace/model/model.h"

namespace redline::trace {

struct KernelRow {
  std::string name;
  std::optional<bool> uses_tensor_cores;  ///< nullopt on GPUs that are not NVIDIA's
  int64_t count = 0;
  int64_t total_ns = 0;
  int64_t min_ns = 0;
  int64_t max_ns = 0;
  /// Means over the calls, weighted by their time; nullopt if the trace does not say.
  std::optional<double> blocks_per_sm;
  std::optional<double> occupancy;  ///< estimated, 0..1

  [[nodiscard]] bool is_communication() const { return is_communication_kernel(name); }
  [[nodiscard]] int64_t mean_ns() const { return count == 0 ? 0 : total_ns / count; }
};

/// An operator or annotation; steps and collectives are left out.
struct OperatorRow {
  std::string name;
  int64_t count = 0;
  int64_t total_ns = 0;         ///< sum of durations; of nested calls of the same name each counts
  int64_t self_ns = 0;          ///< on the host, without the operators it calls
  int64_t device_self_ns = 0;   ///< GPU work launched by it and not by an operator inside it
  int64_t device_total_ns = 0;  ///< the same, including operators inside it
};

struct CopyRow {
  std::string kind;  ///< e.g. "HtoD (Pageable -> Device)", "Memset (Device)"
  int64_t count = 0;
  int64_t bytes = 0;
  int64_t total_ns = 0;
  /// Distribution over single copies, in bytes a second. Copies that took no time are left out.
  Distribution single_bandwidth;

  /// Bytes a second while copying; nullopt if the trace has no sizes.
  [[nodiscard]] std::optional<double> bandwidth() const;
};

/// True for the kernel names that NVIDIA's PyProf lists as using Tensor Cores, and for those of
/// later libraries.
[[nodiscard]] bool uses_tensor_cores(std::string_view kernel_name);

/// Whether the trace is of AMD's GPUs: their compute capability is no NVIDIA architecture's.
[[nodiscard]] bool is_amd(const Trace& trace);

/// Whether the GPUs may be NVIDIA's, which alone have Tensor Cores: the trace calls CUDA, or has no
/// calls at all.
[[nodiscard]] bool may_have_tensor_cores(const Trace& trace);

/// What begins at that time belongs to the interval.
[[nodiscard]] inline bool is_within(Interval time, int64_t begin_ns) {
  return time.begin_ns <= begin_ns && begin_ns < time.end_ns;
}
constexpr Interval kAlways{INT64_MIN, INT64_MAX};

/// Each table is sorted by total time (operators: by self time), longest first. It has what began
/// within `time`: kernels, and operators with all that they launched.
[[nodiscard]] std::vector<KernelRow> kernel_table(const Trace& trace, const DeviceWorkTable& device,
                                                  Interval time = kAlways);
[[nodiscard]] std::vector<OperatorRow> operator_table(const Trace& trace, const NameKinds& names,
                                                      const DeviceWorkTable& device,
                                                      const HostTree& tree,
                                                      Interval time = kAlways);
[[nodiscard]] std::vector<CopyRow> copy_table(const Trace& trace, const DeviceWorkTable& device);

}  // namespace redline::trace
