// Says whether a program became slower, by the step logs of its runs before and after a change.
//
// Two runs of the same program differ by more than the steps within each of them say: their memory
// lies elsewhere, and the machine is busy with other work. So the runs are what is counted, and the
// interval of the change comes from how runs of the same program differ. With one run a side nobody
// knows that. Then kAssumedSpread is taken, which makes the interval wide.
//
// Runs that took turns are compared in pairs of neighbours, because the machine's load drifts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trace/run/run_difference.h"
#include "trace/run/run_figures.h"

namespace redline::trace {

/// The relative standard deviation between runs of one program, where no program ran twice.
constexpr double kAssumedSpread = 0.03;

/// Time that a step spends in one part, for the same work.
struct PartChange {
  std::optional<LogPart> part;  ///< nullopt: what no part saw
  double before_ns = 0;
  double after_ns = 0;  ///< before_ns with the change
  ValueInterval delta_ns;
  [[nodiscard]] bool is_clear() const { return delta_ns.excludes(0); }
};

/// How the time of a step changed, for the same work.
struct StepChange {
  double before_ns = 0;  ///< mean of the runs
  double after_ns = 0;   ///< before_ns with the change
  ValueInterval ratio;   ///< after / before; above 1 is slower
  /// Relative standard deviation between runs; in pairs, that of a pair's ratio divided by √2.
  double spread = 0;
  bool is_spread_assumed = false;  ///< there was nothing to measure it by
  /// By how much one evaluation or checkpoint more or less changes a run, where the runs differ in
  /// length and these do not come regularly. The interval is wider by that.
  double pause_share = 0;
  std::vector<PartChange> parts;  ///< those that surely explain the most of the change first

  [[nodiscard]] bool is_clear() const { return ratio.excludes(1); }
  /// How many times as large the upper end of the interval is as the lower one.
  [[nodiscard]] double width() const { return ratio.high / ratio.low; }
};

struct MemoryChange {
  double before_bytes = 0;
  double after_bytes = 0;
  ValueInterval ratio;
  double spread = 0;  ///< as that of StepChange
  bool is_spread_assumed = false;
};

struct RunComparison {
  std::vector<RunFigures> before;  ///< by begin, like after
  std::vector<RunFigures> after;
  /// The runs' times are for this many samples; nullopt: for a step, because a run does not know
  /// its samples.
  std::optional<double> basis_samples;
  bool is_paired = false;
  /// The share of cases in which an interval would miss the truth with more runs: that of the
  /// memory, and each of the step.
  double tail_of_more = 0.05;
  double step_tail_of_more = 0.05;
  StepChange all_steps;
  /// all_steps is of RunFigures::mean_steps, because the runs differ in length or in samples a
  /// step. Of a longer run each group has more steps, so stalls that a short run has in a few
  /// groups are in each of them.
  bool counts_all_groups = false;
  /// nullopt if a run does not know them, if the runs are few, or if they differ in length or in
  /// samples a step: the fastest of many single steps are faster than those of means of two.
  std::optional<StepChange> undisturbed;
  bool rests_on_all = false;  ///< all steps decide on the limit, and the undisturbed ones disagree
  std::optional<MemoryChange> host_memory;
  std::optional<MemoryChange> device_memory;

  /// The undisturbed steps' change if it is clear, and all steps' is not, or is the same but known
  /// less precisely.
  [[nodiscard]] bool is_by_undisturbed() const;
  [[nodiscard]] const StepChange& step() const {
    return is_by_undisturbed() ? *undisturbed : all_steps;
  }
  [[nodiscard]] bool is_clear() const { return step().is_clear(); }
};

/// Why the runs cannot be compared; nullopt if they can. The samples and the memory of a run whose
/// logs are not all there are those of fewer ranks, which would pass for a change. So then all runs
/// must have the logs of the same ranks.
[[nodiscard]] std::optional<std::string> why_not_comparable(const std::vector<RunFigures>& before,
                                                            const std::vector<RunFigures>& after);

/// Both sides have at least one run. The intervals of the step that are shown miss the truth in
/// `tail` of all cases: with two ways to find a change, each of them in half of it. With more runs
/// they would be those of `tail_of_more`.
[[nodiscard]] RunComparison change_between(std::vector<RunFigures> before,
                                           std::vector<RunFigures> after, double tail = 0.05,
                                           double tail_of_more = 0.05);

}  // namespace redline::trace
