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
                                             const DeviceWorkTable& device, const HostTree& tree,
                                             const std::vector<Step>& steps);

enum class Phase : uint8_t { kForward, kBackward, kOptimizer };
constexpr size_t kPhaseCount = 3;
constexpr std::array<std::string_view, kPhaseCount> kPhaseNames = {"forward", "backward",
                                                                   "optimizer"};

/// Mean of a step, in unions of intervals.
struct PhaseTime {
  int64_t host_ns = 0;    ///< some thread is in an operator of the phase
  int64_t device_ns = 0;  ///< GPU work that the phase launched runs
};
using PhaseTimes = std::array<PhaseTime, kPhaseCount>;

/// An operator belongs to the optimizer inside an "Optimizer.step#…" or "Optimizer.zero_grad#…"
/// annotation but not in the closure that the step was given, else to the backward pass inside a
/// node of autograd's graph, else to the forward pass (not so the DataLoader's and collectives'
/// own). While the backward pass runs on autograd's threads, the thread that waits for it counts
/// for no phase. None where neither a backward pass nor an optimizer is in the steps.
[[nodiscard]] std::optional<PhaseTimes> phase_times(const Trace& trace,
                                                    const DeviceWorkTable& table,
                                                    const HostTree& tree,
                                                    const std::vector<Step>& steps);

}  // namespace redline::trace
