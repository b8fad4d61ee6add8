#include "trace/run/gate.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/statistics.h"

namespace redline::trace {
namespace {

constexpr int64_t kFirstLook = 3;  // pairs
constexpr double kTail = 0.05;

using MoreRuns = std::optional<int64_t>;  // nullopt: too many

// How far the ratio is from the limit decides how narrow the interval must become.
MoreRuns more_runs_for(const RunComparison& runs, double ratio, double spread, double tail,
                       double limit, double pause_share = 0) {
  const auto now = static_cast<int64_t>(std::min(runs.before.size(), runs.after.size()));
  const double distance = std::abs(std::log(ratio) - std::log1p(limit)) - pause_share;
  for (int64_t more = 1; more <= kMostMoreRuns; ++more) {
    const auto count = static_cast<double>(now + more);
    const double degrees = runs.is_paired ? count - 1 : 2 * count - 2;
    if (student_t(degrees, tail) * spread * std::sqrt(2 / count) < distance) return more;
  }
  return std::nullopt;
}

// Undisturbed steps can show that a program is slower, but not that it is as fast.
MoreRuns more_runs_for_time(const RunComparison& runs, double limit) {
  const auto more_by = [&](const StepChange& step) {
    return more_runs_for(runs, step.ratio.value, step.spread, runs.step_tail_of_more, limit,
                         step.pause_share);
  };
  const MoreRuns by_all = more_by(runs.all_steps);
  if (!runs.undisturbed || runs.undisturbed->ratio.value <= 1 + limit) return by_all;
  const MoreRuns by_some = more_by(*runs.undisturbed);
  return by_all && (!by_some || *by_all < *by_some) ? by_all : by_some;
}

GateOutcome time_outcome(const RunComparison& runs, double limit) {
  const GateOutcome by_all = outcome_of(runs.all_steps.ratio, limit);
  if (by_all != GateOutcome::kCannotTell || !runs.is_by_undisturbed()) return by_all;
  return runs.undisturbed->ratio.low > 1 + limit ? GateOutcome::kSurelyBeyond : by_all;
}

GateVerdict outcomes_of(const RunComparison& runs, const GateLimits& limits) {
  GateVerdict verdict;
  if (limits.slower) verdict.time = time_outcome(runs, *limits.slower);
  if (limits.memory) {
    const std::optional<MemoryChange>& memory = gated_memory(runs);
    verdict.memory = memory ? outcome_of(memory->ratio, *limits.memory) : GateOutcome::kCannotTell;
  }
  return verdict;
}

}  // namespace

GateOutcome outcome_of(const ValueInterval& ratio, double limit) {
  if (ratio.low > 1 + limit) return GateOutcome::kSurelyBeyond;
  return ratio.high <= 1 + limit ? GateOutcome::kNoWorse : GateOutcome::kCannotTell;
}

GateOutcome GateVerdict::outcome() const {
  GateOutcome worst = GateOutcome::kNoWorse;
  for (const std::optional<GateOutcome>& each : {time, memory}) {
    if (each == GateOutcome::kSurelyBeyond) return *each;
    if (each == GateOutcome::kCannotTell) worst = *each;
  }
  return worst;
}

const std::optional<MemoryChange>& gated_memory(const RunComparison& runs) {
  return runs.device_memory ? runs.device_memory : runs.host_memory;
}

GateVerdict judge_change(const RunComparison& runs, const GateLimits& limits) {
  GateVerdict verdict = outcomes_of(runs, limits);
  std::vector<MoreRuns> missing;
  if (verdict.time == GateOutcome::kCannotTell) {
    missing.push_back(more_runs_for_time(runs, *limits.slower));
  }
  const std::optional<MemoryChange>& memory = gated_memory(runs);
  if (verdict.memory == GateOutcome::kCannotTell && memory) {
    missing.push_back(more_runs_for(runs, memory->ratio.value, memory->spread, runs.tail_of_more,
                                    *limits.memory));
  }
  const auto is_known = [](const MoreRuns& each) { return each.has_value(); };
  if (!missing.empty() && std::ranges::all_of(missing, is_known)) {
    verdict.more_runs = *std::ranges::max_element(missing);
  }
  return verdict;
}

bool is_look(int64_t pairs, int64_t planned) { return pairs >= kFirstLook || pairs == planned; }

double tail_of_look(int64_t pairs, int64_t planned) {
  if (planned <= kFirstLook) return kTail;
  if (pairs >= planned) return kLastTail;
  return (kTail - kLastTail) / static_cast<double>(planned - kFirstLook);
}

bool is_answered(const RunComparison& runs, const GateLimits& limits) {
  return limits.any() ? outcomes_of(runs, limits).outcome() != GateOutcome::kCannotTell
                      : runs.is_clear();
}

}  // namespace redline::trace
