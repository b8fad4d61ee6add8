// Where an average step goes.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/analysis/device_work.h"
#include "trace/analysis/host_tree.h"
#include "trace/analysis/steps.h"
#include "trace/model/model.h"

namespace redline::trace {

/// Mean nanoseconds a step, by part. Each instant of a step counts once, for the first of kernel,
/// memcpy, memset, communication, runtime, dataloader, cpu that is under way (the TensorBoard
/// plugin's order), else as other: so the parts sum to the step. Unlike the plugin, which sees
/// operators' external ids only, collectives' kernels count as communication in any trace, and
/// "cuda_runtime" calls and annotated DataLoaders of newer traces are seen.
struct StepBreakdown {
  std::array<int64_t, kBreakdownPartCount> part_ns{};

  [[nodiscard]] int64_t of(StepPart part) const { return part_ns[static_cast<size_t>(part)]; }
};

[[nodiscard]] StepBreakdown break_down_steps(const Trace& trace, const NameKinds& names,
                                             const DeviceTable& device, const HostTree& tree,
                                             const std::vector<Step>& steps);

}  // namespace redline::trace
