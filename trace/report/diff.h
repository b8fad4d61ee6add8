// Two runs compared: what became faster or slower, and which differences are more than noise.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/statistics.h"
#include "trace/model/model.h"
#include "trace/report/report.h"

namespace redline::trace {

/// One of the two runs; times are means over its steps and ranks.
struct DiffSide {
  std::vector<std::string> paths;
  std::string gpu;  ///< the first GPU's name, empty if the trace does not say
  bool has_gpu_work = false;
  int64_t rank_count = 0;
  /// False: the traces mark no steps, and each counts as one, from its begin to its end.
  bool has_marked_steps = false;
  int64_t step_count = 0;  ///< steps that every rank has
  int64_t step_ns = 0;
  std::optional<double> samples_per_step;  ///< over all ranks
  std::optional<double> samples_per_second;
};

enum class Verdict : uint8_t { kFaster, kSlower, kUnclear, kNew, kGone, kUnknown };

[[nodiscard]] const char* verdict_name(Verdict verdict);

/// One operator (own host time), kernel, kind of collective or kind of copy: means over the steps,
/// for the diff's basis. Counts are calls.
struct DiffRow {
  std::string name;
  double before_count = 0;
  double after_count = 0;
  int64_t before_ns = 0;
  int64_t after_ns = 0;
  int64_t waiting_delta_ns = 0;  ///< of an operator: what calls that wait for GPU work add to it
  /// What the calls cost that each step makes more, or fewer if below 0, as far as a typical call
  /// tells: other work on the machine hides it in `before_ns` and `after_ns`, but adds no calls.
  /// nullopt if both sides make as many or one makes none, if the number differs from step to step,
  /// if the calls are of unlike length, or if batches are.
  std::optional<int64_t> calls_delta_ns;
  /// kUnknown if a side has one step, which tells nothing of noise, or as for do_steps_disagree()
  Verdict verdict = Verdict::kUnknown;
  std::optional<double> p;  ///< chance of so large a difference between equal runs

  [[nodiscard]] int64_t delta_ns() const { return after_ns - before_ns; }
};

struct Diff {
  DiffSide before;
  DiffSide after;
  /// What the rows below compare: the work for this many samples, if both runs know how many a step
  /// takes and the numbers differ; else (nullopt) one step of each.
  std::optional<double> basis_samples;
  /// The difference of the time for the basis, with as many last steps as each rank has as samples;
  /// nullopt if a side has one step, or if only one side marks steps.
  std::optional<MeanDifference> step;
  std::vector<DiffRow>
      breakdown;                 ///< by BreakdownPart; without verdicts, as the parts sum to a step
  std::vector<DiffRow> kernels;  ///< like the next three: largest change first
  std::vector<DiffRow> operators;
  std::vector<DiffRow> collectives;
  std::vector<DiffRow> copies;

  /// Above 1: the second run is faster. By samples per second where known, else by step time;
  /// nullopt if the runs do not compare.
  [[nodiscard]] std::optional<double> speedup() const;
  [[nodiscard]] int64_t step_delta_ns() const;  ///< for the basis
  /// Both sides have. If no side has, lengths of whole traces are compared.
  [[nodiscard]] bool has_marked_steps() const {
    return before.has_marked_steps && after.has_marked_steps;
  }
  /// Only one side has: a step stands beside a whole trace.
  [[nodiscard]] bool is_step_beside_trace() const {
    return before.has_marked_steps != after.has_marked_steps;
  }
  /// The ranks have different numbers of steps, and the mean of all steps changed otherwise than
  /// `step` says, which compares only the last ones that each rank has.
  [[nodiscard]] bool do_steps_disagree() const;
  [[nodiscard]] bool is_comparable() const {
    return !is_step_beside_trace() && !do_steps_disagree();
  }
};

using Traces = std::vector<std::shared_ptr<const Trace>>;

/// Both runs have at least one trace.
[[nodiscard]] Diff compare_runs(const Report& before, const Report& after);
[[nodiscard]] Diff compare_runs(const Traces& before, const Traces& after);

[[nodiscard]] std::string diff_text(const Diff& diff, const TextStyle& style,
                                    const TextScope& scope = {8});

}  // namespace redline::trace
