// Where an average step goes: by what it is spent on, and by phase (forward, backward, optimizer).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
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

enum class Phase : uint8_t { kForward, kBackward, kOptimizer };
constexpr size_t kPhaseCount = 3;
constexpr std::array<std::string_view, kPhaseCount> kPhaseNames = {"forward", "backward",
                                                                   "optimizer"};

/// Mean times a step. Intervals that overlap count once.
struct PhaseTime {
  int64_t host_ns = 0;    ///< time in which some thread is in an operator of the phase
  int64_t device_ns = 0;  ///< time in which GPU work runs that the phase launched
};
using PhaseTimes = std::array<PhaseTime, kPhaseCount>;

/// An operator belongs to the optimizer if it is inside an "Optimizer.step#…" or
/// "Optimizer.zero_grad#…" annotation, unless it is in the closure that was given to the step.
/// Otherwise it belongs to the backward pass if it is inside a node of autograd's graph. All others
/// belong to the forward pass, except the operators of the DataLoader and of collectives. While the
/// backward pass runs on autograd's threads, the thread that waits for it counts for no phase.
/// nullopt if the steps have neither a backward pass nor an optimizer.
[[nodiscard]] std::optional<PhaseTimes> phase_times(const Trace& trace,
                                                    const DeviceWorkTable& table,
                                                    const HostTree& tree,
                                                    const std::vector<Step>& steps);

}  // namespace redline::trace
