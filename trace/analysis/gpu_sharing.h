// Which GPUs the ranks of a job compute on, and whether they share some.
//
// The index of a device says little: each process of a job may see other GPUs, and count them from
// 0. So GPUs are told apart by their UUIDs, which only Redline's own traces have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "trace/analysis/rank_summary.h"

namespace redline::trace {

/// A rank that has a CUDA context on another rank's GPU, and does nothing there.
struct StrayContext {
  size_t rank = 0;   ///< index into the ranks that were given
  size_t owner = 0;  ///< index of the rank that computes on that GPU
};

struct GpuSharing {
  /// How many different GPUs the ranks compute on, each counted on the one where it computes
  /// longest. nullopt if the trace of a rank does not say which that is.
  std::optional<int64_t> gpus;
  /// The ranks (indices) of each GPU on which two or more compute.
  std::vector<std::vector<size_t>> shared;
  std::vector<StrayContext> strays;

  /// Whether the rank with this index computes on a GPU on which another one does.
  [[nodiscard]] bool is_shared(size_t rank) const;
};

[[nodiscard]] GpuSharing find_gpu_sharing(std::span<const RankSummary* const> ranks);

/// The GPU on which the rank computes longest; nullptr if it used none, or if its trace does not
/// tell GPUs apart.
[[nodiscard]] const DeviceProperties* main_gpu(const RankSummary& rank);

}  // namespace redline::trace
