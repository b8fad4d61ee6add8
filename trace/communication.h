// What counts as communication between ranks, and the table of collectives.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/model.h"
#include "trace/steps.h"

namespace redline::trace {

/// A collective's kernel on the GPU: "ncclKernel_…" before NCCL 2.19, "ncclDevKernel_…" since.
[[nodiscard]] bool is_communication_kernel(std::string_view name);

/// What a process group does on the CPU: "nccl:all_reduce", "gloo:all_reduce" and the like.
[[nodiscard]] bool is_communication_op(std::string_view name);

/// All calls of one collective with one message size in one group.
struct Collective {
  std::string name;
  std::string group;             ///< process group name, empty where the trace does not say
  std::optional<int64_t> bytes;  ///< of all calls; none where the trace has no sizes
  int64_t count = 0;
  int64_t total_ns = 0;
  int64_t exposed_ns = 0;  ///< the part with no computation of the same process beside it
  std::optional<double> bus_bandwidth;  ///< bytes/s, as nccl-tests define it
};

/// Kernels where the GPU ran collectives, else the process group's own annotations. Sorted by total
/// time, longest first. Exposed time is what computation does not hide: kernels of the same device,
/// or operators of the same process.
[[nodiscard]] std::vector<Collective> find_collectives(const Trace& trace);

/// Mean time a step in which collectives and no computation are under way.
[[nodiscard]] int64_t mean_exposed_communication_ns(const Trace& trace,
                                                    const std::vector<Step>& steps);

}  // namespace redline::trace
