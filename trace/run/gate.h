// Judges a change against limits: is it surely beyond one, surely within, or is it too early to
// tell, and how many more runs would tell.
#pragma once

#include <cstdint>
#include <optional>

#include "trace/run/compare.h"

namespace redline::trace {

/// Shares: 0.05 is "5 % more".
struct GateLimits {
  std::optional<double> slower;
  std::optional<double> memory;
  [[nodiscard]] bool any() const { return slower || memory; }
};

enum class GateOutcome : uint8_t { kNoWorse, kSurelyBeyond, kCannotTell };

/// The outcome for the interval of a ratio and a limit such as 0.05.
[[nodiscard]] GateOutcome outcome_of(const ValueInterval& ratio, double limit);

struct GateVerdict {
  /// Each is nullopt without a limit.
  std::optional<GateOutcome> time;
  std::optional<GateOutcome> memory;  ///< kCannotTell if the runs do not know their memory
  /// How many runs a side are missing until all that cannot be told can be, if they spread as those
  /// so far; nullopt if more than kMostMoreRuns.
  std::optional<int64_t> more_runs;

  /// The worst of both; kNoWorse without limits.
  [[nodiscard]] GateOutcome outcome() const;
};
constexpr int64_t kMostMoreRuns = 100;

[[nodiscard]] GateVerdict judge_change(const RunComparison& runs, const GateLimits& limits);

/// The memory that limits hold for: the GPUs' if it is known, else the processes'.
[[nodiscard]] const std::optional<MemoryChange>& gated_memory(const RunComparison& runs);

/// Whether runs that go on until they give an answer, but are at most `planned` pairs, are looked
/// at after `pairs`. Fewer than three tell too little.
[[nodiscard]] bool is_look(int64_t pairs, int64_t planned);
/// The share of cases in which the interval of this look may miss the truth, so that all looks
/// together miss it in 5 %. The last one, where most answers come from, gets most of it.
[[nodiscard]] double tail_of_look(int64_t pairs, int64_t planned);
constexpr double kLastTail = 0.03;  ///< that of the last one where more than three are planned
/// Whether the limits are decided; without limits, whether there is a clear difference.
[[nodiscard]] bool is_answered(const RunComparison& runs, const GateLimits& limits);

}  // namespace redline::trace
