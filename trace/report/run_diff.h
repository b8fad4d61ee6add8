// A comparison of whole runs as text, JSON, Markdown and for github-action-benchmark.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/terminal.h"
#include "trace/report/diff.h"
#include "trace/run/gate.h"

namespace redline::trace {

struct TreeDiff;

struct RunDiff {
  std::string before;  ///< how the user called the sides: paths or commands
  std::string after;
  RunComparison runs;
  GateLimits limits;
  GateVerdict gate;
  /// The operators of a recorded window of each side, if there is one.
  std::optional<Diff> windows;
};

[[nodiscard]] RunDiff make_run_diff(std::string before, std::string after, RunComparison runs,
                                    const GateLimits& limits);

/// One run of the traces' steps, to be compared like the runs of step logs; nullopt if it has fewer
/// than two steps.
[[nodiscard]] std::optional<RunFigures> run_figures(const Report& report);

/// The kernel or operator that changed most, in the direction in which the step's time did.
struct ChangedRow {
  const DiffRow* row;
  int64_t delta_ns;  ///< a step
};

/// A kernel that each step calls more or less often, if that explains most of what surely
/// changed; else the one whose recorded time changed most. nullopt if none did beyond noise, if the
/// recorded steps as a whole changed the other way, or if most of their change is not in kernels.
[[nodiscard]] std::optional<ChangedRow> changed_kernel(const RunDiff& diff);
/// The same of operators, by own time on the host, if most of the change is not in kernels. An
/// operator that only waits longer for the GPU is passed over.
[[nodiscard]] std::optional<ChangedRow> changed_operator(const RunDiff& diff);

[[nodiscard]] std::string run_diff_text(const RunDiff& diff, const TextStyle& style);
/// Only what the limits say; empty without limits.
[[nodiscard]] std::string gate_text(const RunDiff& diff, const TextStyle& style);
/// A heading, a table and sentences, for $GITHUB_STEP_SUMMARY.
[[nodiscard]] std::string run_diff_markdown(const RunDiff& diff);
/// The later side's figures in the form customSmallerIsBetter of github-action-benchmark.
[[nodiscard]] std::string run_diff_benchmark(const RunDiff& diff);
/// Schema "redline.diff/1". Without `diff` it has only the key "run", which is null without `run`.
[[nodiscard]] std::string diff_json(const Diff* diff, const RunDiff* run,
                                    const TreeDiff* tree = nullptr);
/// The value of the key "run".
[[nodiscard]] nlohmann::ordered_json run_diff_json(const RunDiff& diff);

/// Of each run of a side: "2 ranks", or "2 to 4 ranks".
[[nodiscard]] std::string rank_counts_text(const std::vector<RunFigures>& side);
/// Why no number of runs tells whether the limit of the memory holds; nullopt if they can, or if
/// there is no such limit.
[[nodiscard]] std::optional<std::string> unknown_memory(const RunDiff& diff);

/// The steps that a form's figures describe: those of RunComparison::step(), or always all.
enum class ShownSteps { kOfVerdict, kAll };
/// The sentences under the figures: what the limits say, the part and the kernel or operator that
/// changed most, and what the interval rests on.
[[nodiscard]] std::vector<std::string> run_diff_sentences(
    const RunDiff& diff, ShownSteps shown = ShownSteps::kOfVerdict);

}  // namespace redline::trace
