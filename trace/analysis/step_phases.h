// What the host did in each step: forward, backward, optimizer, waiting for
// data.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "trace/analysis/breakdown.h"

namespace redline::trace {

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

}  // namespace redline::trace
