// What a process did in its steps: forward, backward, optimizer, waiting for data.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/intervals.h"
#include "trace/analysis/device_work.h"
#include "trace/analysis/host_tree.h"
#include "trace/analysis/steps.h"
#include "trace/model/model.h"

namespace redline::trace {

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

/// The time in which some thread is in an operator of the phase (see
/// phase_times()), or in the DataLoader. Threads run side by side, so the times
/// need not sum to the step.
struct HostPhases {
  std::array<int64_t, kPhaseCount> phase_ns{};
  int64_t dataloader_ns = 0;

  [[nodiscard]] int64_t of(Phase phase) const { return phase_ns[static_cast<size_t>(phase)]; }
};

/// One for each step, over its window.
[[nodiscard]] std::vector<HostPhases> host_phases(const Trace& trace, const HostTree& tree,
                                                  const std::vector<Step>& steps);

/// Parts of a rank's own work, which is what is left of its steps without exposed communication.
enum class WorkPart : uint8_t { kDataLoader, kForward, kBackward, kOptimizer, kHost };
constexpr std::array<std::string_view, 5> kWorkPartNames = {"dataloader", "forward", "backward",
                                                            "optimizer", "host"};

/// For a sentence: "in backward".
[[nodiscard]] std::string_view place_of(WorkPart part);

/// Mean nanoseconds a step, by WorkPart. Each instant counts for one part, so they sum to the own
/// work: for the phase whose GPU work runs, else for the phase or the DataLoader that some thread
/// is in, else for the phase that its operators before and after belong to (a Python hook between
/// two operators), else for the host.
using OwnWork = std::array<int64_t, kWorkPartNames.size()>;

/// `exposed` is Communication::exposed.
[[nodiscard]] OwnWork own_work(const Trace& trace, const DeviceWorkTable& table,
                               const HostTree& tree, const std::vector<Step>& steps,
                               const Intervals& exposed);

}  // namespace redline::trace
