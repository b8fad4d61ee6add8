#include "tuner/search/frontier.h"

#include <algorithm>
#include <cmath>

#include "tuner/space/hook_knobs.h"

namespace redline::tuner {
namespace {

/// Whether the loader's waiting batches filled the memory; then fewer batches of the same size may
/// fit.
bool by_loader(const FinishedTrial& trial) {
  return trial.result.outcome == Outcome::kShmFull || trial.result.not_started;
}

}  // namespace

Config memory_stratum(const History& history, const Config& config) {
  Config rest = history.effective(config);
  rest.erase("batch_size");
  std::erase_if(rest, [](const auto& entry) {
    const HookKnob* hook = find_hook_knob(entry.first);
    return hook && !hook->moves_memory;
  });
  return rest;
}

Frontier find_frontier(const History& history, const Config& config) {
  const Config wanted = memory_stratum(history, config);
  Frontier frontier;
  const auto waiting = batches_in_flight(history, config);
  for (const FinishedTrial& trial : history.trials()) {
    const auto batch = number_of(history.effective(trial.config), "batch_size");
    if (!batch || memory_stratum(history, trial.config) != wanted) continue;
    bool failed = trial.out_of_memory() || trial.result.outcome == Outcome::kHang;
    if (failed && by_loader(trial)) {
      const auto then = batches_in_flight(history, trial.config);
      failed = !then || !waiting || *waiting >= *then;
    }
    if (trial.ok()) {
      frontier.largest_ok = std::max(frontier.largest_ok.value_or(0), *batch);
    } else if (failed) {
      frontier.smallest_failed = std::min(frontier.smallest_failed.value_or(*batch), *batch);
    }
  }
  return frontier;
}

std::optional<double> Frontier::middle() const {
  // A hang at a size that ran in another trial tells nothing about memory.
  if (!largest_ok || !smallest_failed || *smallest_failed <= *largest_ok) return std::nullopt;
  return std::sqrt(static_cast<double>(*largest_ok) * static_cast<double>(*smallest_failed));
}

}  // namespace redline::tuner
