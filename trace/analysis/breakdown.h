// Where an average step goes: what it is spent on.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "trace/analysis/device_work.h"
#include "trace/analysis/host_tree.h"
#include "trace/analysis/steps.h"
#include "trace/model/model.h"

namespace redline::trace {

/// Mean nanoseconds a step, by part. Each instant of a step counts for exactly one part, so the
/// parts sum to the step: for the first of kernel, memcpy, memset, communication, runtime,
/// dataloader and cpu that is under way (the TensorBoard plugin's order), or for "other" if none
/// is. The plugin knows collectives only by operators' external ids, and it misses "cuda_runtime"
/// calls and annotated DataLoaders of newer traces. Here collectives' kernels count as
/// communication in any trace, and such calls and annotations count, too.
using StepParts = std::array<int64_t, kBreakdownPartCount>;
struct StepBreakdown {
  StepParts part_ns{};
  std::vector<StepParts> of_steps;  ///< the parts of one step, for each step

  [[nodiscard]] int64_t of(BreakdownPart part) const { return part_ns[static_cast<size_t>(part)]; }
};

[[nodiscard]] StepBreakdown break_down_steps(const Trace& trace, const NameKinds& names,
                                             const DeviceWorkTable& device, const HostTree& tree,
                                             const std::vector<Step>& steps);

}  // namespace redline::trace
