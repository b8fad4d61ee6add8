#include "trace/report/run_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/statistics.h"
#include "trace/analysis/run_tables.h"
#include "trace/emit/name_kinds.h"
#include "trace/report/diff_words.h"
#include "trace/report/kernel_name.h"
#include "trace/report/report_figures.h"
#include "trace/report/run_words.h"

namespace redline::trace {
namespace {

constexpr double kLeastShare = 0.1;  // of the change, that a part, kernel or operator is named for
constexpr double kMostOfIt = 0.5;
constexpr size_t kCauseColumns = 60;

std::string ranks_sentence(const RunComparison& runs) {
  const RunFigures& run = runs.before.front();  // all runs then have logs of the same ranks
  if (!run.lacks_ranks()) return "";
  return fmt::format("Compared are the logs of {} of {} ranks: those of the others are not there.",
                     run.ranks, run.world_size);
}

std::string rank_counts_sentence(const RunComparison& runs) {
  const std::string before = rank_counts_text(runs.before), after = rank_counts_text(runs.after);
  if (before == after) return "";
  return fmt::format("{} before, {} after: {}.", before, after,
                     runs.basis_samples ? "times are for the same samples of all ranks together"
                                        : "nobody knows whether their steps do the same work");
}

std::string other_logs_sentence(const RunComparison& runs) {
  int64_t logs = 0;
  for (const auto* side : {&runs.before, &runs.after}) {
    for (const RunFigures& run : *side) logs += run.other_logs;
  }
  return logs > 0 ? other_logs_text(logs) + "." : "";
}

std::string lengths_sentence(const RunComparison& runs) {
  std::string text;
  if (runs.counts_all_groups) {
    text =
        "The runs differ in length or in samples a step, so all their steps count alike, those of "
        "a busy minute, too.";
  }
  if (runs.all_steps.pause_share > 0) {
    text += fmt::format(
        "{}The runs differ in length: an evaluation or checkpoint more or less makes {:.1f} %, "
        "which is in the range. Give all runs the same number of steps.",
        text.empty() ? "" : " ", 100 * runs.all_steps.pause_share);
  }
  return text;
}

std::string failed_runs_sentence(const RunComparison& runs) {
  std::vector<std::string> failed;
  const auto add = [&](const std::vector<RunFigures>& side, const char* when) {
    const auto count = std::ranges::count(side, false, &RunFigures::is_whole);
    if (count > 0) failed.push_back(format_plural(count, "run") + " " + when);
  };
  add(runs.before, "before");
  add(runs.after, "after");
  if (failed.empty()) return "";
  return joined(failed, " and ") + " did not end well, or still run: redline report says why.";
}

std::string basis_sentence(const RunDiff& diff) {
  const RunComparison& runs = diff.runs;
  const StepChange& step = runs.step();
  if (step.is_spread_assumed) {
    return fmt::format(
        "Too few runs to know how much equal runs differ: taken to be {:.1f} %. With other work on "
        "the machine they differ by more. redline compare -n 5 makes five of each, in turns.",
        100 * step.spread);
  }
  return fmt::format("Equal runs differ by {:.1f} %{}.", 100 * step.spread,
                     runs.is_paired ? ", compared in pairs because they took turns" : "");
}

// Says where the interval comes from if it is not that of all steps, or would be much narrower.
std::string undisturbed_sentence(const RunComparison& runs, ShownSteps shown) {
  if (!runs.undisturbed) return "";
  if (runs.is_by_undisturbed() && shown == ShownSteps::kAll) {
    const ValueInterval& ratio = runs.undisturbed->ratio;
    return fmt::format(
        "The verdict is by the undisturbed steps, among the fastest quarter of each run: {}, {}. "
        "Value and range are of all steps; other work slows some of them by chance.",
        change_words(ratio.value), range_words(ratio));
  }
  if (runs.is_by_undisturbed()) {
    return fmt::format(
        "These are the undisturbed steps, among the fastest quarter of each run. All steps: {}; "
        "other work slows some of them by chance.",
        range_words(runs.all_steps.ratio));
  }
  const bool is_much_narrower =
      std::log(runs.undisturbed->width()) < std::log(runs.all_steps.width()) / 2;
  if (!runs.rests_on_all && (runs.is_clear() || !is_much_narrower)) return "";
  return fmt::format("The undisturbed steps, among the fastest quarter of each run{}: {}.",
                     runs.rests_on_all ? ", say otherwise" : ", are less noisy",
                     range_words(runs.undisturbed->ratio));
}

/// Whether the few recorded steps changed against the direction in which all steps did.
bool do_windows_disagree(const RunDiff& diff) {
  if (!diff.windows || !diff.runs.is_clear()) return false;
  const int64_t delta_ns = diff.windows->step_delta_ns();
  return delta_ns != 0 && (delta_ns > 0) != (diff.runs.step().ratio.value > 1);
}

std::string windows_sentence(const RunDiff& diff) {
  if (!do_windows_disagree(diff)) return "";
  if (!diff.windows->is_comparable()) return capitalized(words_of(*diff.windows).interval) + ".";
  return fmt::format(
      "As a whole the recorded steps say otherwise: {} for the same work. The machine was not "
      "equally busy, or they are unlike the other steps.",
      signed_ns(diff.windows->step_delta_ns()));
}

/// Whether most of the change of the recorded steps is in the time in which kernels run. Then
/// operators only wait for them.
bool is_in_kernels(const RunDiff& diff) {
  const bool is_slower = diff.runs.step().ratio.value > 1;
  const auto change_ns = [&](const DiffRow& part) {
    return is_slower ? part.delta_ns() : -part.delta_ns();
  };
  const std::vector<DiffRow>& parts = diff.windows->breakdown;
  const auto most = std::ranges::max_element(parts, {}, change_ns);
  return most != parts.end() && most->name == part_name(BreakdownPart::kKernel) &&
         change_ns(*most) > 0;
}

/// Each step calls this row more or less often, and that explains most of what surely changed.
template <typename CanBe>
std::optional<ChangedRow> changed_by_calls(const RunDiff& diff, const std::vector<DiffRow>& rows,
                                           CanBe can_be) {
  const StepChange& step = diff.runs.step();
  const double nearest = step.ratio.value > 1 ? step.ratio.low : step.ratio.high;
  const double sure_ns = (nearest - 1) * step.before_ns;
  const auto share = [&](const DiffRow& row) {
    return row.calls_delta_ns && can_be(row) ? static_cast<double>(*row.calls_delta_ns) / sure_ns
                                             : 0;
  };
  const auto most = std::ranges::max_element(rows, {}, share);
  if (most == rows.end() || share(*most) < kMostOfIt) return std::nullopt;
  return ChangedRow{&*most, *most->calls_delta_ns};
}

/// The row's change. What came may stand in place of all that went, as addmm in place of mm. What
/// that saved or cost is then the other row's.
int64_t unreplaced_ns(const std::vector<DiffRow>& rows, const DiffRow& row) {
  int64_t delta_ns = row.delta_ns();
  for (const DiffRow& other : rows) {
    const bool is_exchange = (row.verdict == Verdict::kNew && other.verdict == Verdict::kGone) ||
                             (row.verdict == Verdict::kGone && other.verdict == Verdict::kNew);
    if (is_exchange) delta_ns += other.delta_ns();
  }
  if (row.verdict == Verdict::kNew) return std::max<int64_t>(delta_ns, 0);
  if (row.verdict == Verdict::kGone) return std::min<int64_t>(delta_ns, 0);
  return delta_ns;
}

/// nullopt if none of the rows explains the change.
template <typename CanBe>
std::optional<ChangedRow> changed_most(const RunDiff& diff, const std::vector<DiffRow>& rows,
                                       CanBe can_be) {
  if (!diff.windows->is_comparable() || !diff.runs.is_clear()) return std::nullopt;
  if (const auto row = changed_by_calls(diff, rows, can_be)) return row;
  if (do_windows_disagree(diff)) return std::nullopt;
  const StepChange& step = diff.runs.step();
  const bool is_slower = step.ratio.value > 1;
  const double change_ns = std::max(std::abs(step.after_ns - step.before_ns),
                                    std::abs(static_cast<double>(diff.windows->step_delta_ns())));
  std::optional<ChangedRow> most;
  for (const DiffRow& row : rows) {
    if (row.verdict == Verdict::kUnclear || row.verdict == Verdict::kUnknown) continue;
    const int64_t delta_ns = unreplaced_ns(rows, row);
    const double explained_ns = static_cast<double>(is_slower ? delta_ns : -delta_ns);
    // Of many equal rows some pass the test by chance.
    if (explained_ns <= 0 || explained_ns < kLeastShare * change_ns || !can_be(row)) continue;
    if (!most || std::abs(delta_ns) > std::abs(most->delta_ns)) most = ChangedRow{&row, delta_ns};
  }
  return most;
}

std::string cause_sentence(const RunDiff& diff) {
  const auto kernel = changed_kernel(diff);
  const auto changed = kernel ? kernel : changed_operator(diff);
  if (!changed) return "";
  const DiffRow& row = *changed->row;
  const std::string what =
      kernel ? "kernel " + short_kernel_name(row.name, kCauseColumns) : "operator " + row.name;
  const std::string before = mean_count_text(row.before_count);
  const std::string after = mean_count_text(row.after_count);
  return fmt::format("Most in the {}: {} a step{}.", what, signed_ns(changed->delta_ns),
                     before == after ? "" : fmt::format(", {} calls instead of {}", after, before));
}

std::string part_sentence(const RunDiff& diff) {
  const StepChange& step = diff.runs.step();
  if (!step.is_clear()) return "";
  const double whole = step.after_ns - step.before_ns;
  const auto share = [whole](const PartChange& part) { return part.delta_ns.value / whole; };
  const auto most = std::ranges::find_if(step.parts, [&](const PartChange& part) {
    return part.is_clear() && share(part) >= kLeastShare;
  });
  if (most == step.parts.end()) return "";
  return fmt::format("{} in {}: {} a step.",
                     share(*most) >= kMostOfIt ? "Most of it" : "A part of it",
                     most->part ? log_part_name(*most->part) : "time outside of the parts",
                     signed_ns(most->delta_ns.value));
}

}  // namespace

RunDiff make_run_diff(std::string before, std::string after, RunComparison runs,
                      const GateLimits& limits) {
  if (limits.slower && runs.is_by_undisturbed()) {
    const GateOutcome by_all = outcome_of(runs.all_steps.ratio, *limits.slower);
    runs.rests_on_all = by_all != GateOutcome::kCannotTell &&
                        by_all != outcome_of(runs.undisturbed->ratio, *limits.slower);
  }
  const GateVerdict gate = judge_change(runs, limits);
  return {std::move(before), std::move(after), std::move(runs), limits, gate, std::nullopt};
}

std::optional<RunFigures> run_figures(const Report& report) {
  const RunSamples samples = sample_steps(report.analyses);
  const Distribution steps = distribution_of(samples.step_ns);
  if (steps.count < 2 || steps.mean <= 0) return std::nullopt;
  RunFigures run;
  run.path = report.traces.front().facts.path;
  run.ranks = report.rank_count;
  run.steps = steps.count;
  run.all_steps.step = {steps.mean, steps.deviation / std::sqrt(static_cast<double>(steps.count))};
  run.mean_steps = run.all_steps;
  run.samples = mean_count(report, &TraceFacts::samples_per_step);
  return run;
}

std::string rank_counts_text(const std::vector<RunFigures>& side) {
  const auto [fewest, most] = std::ranges::minmax_element(side, {}, &RunFigures::ranks);
  const std::string text = format_plural(most->ranks, "rank");
  return fewest->ranks == most->ranks ? text : fmt::format("{} to {}", fewest->ranks, text);
}

std::optional<std::string> unknown_memory(const RunDiff& diff) {
  if (!diff.limits.memory || gated_memory(diff.runs)) return std::nullopt;
  const auto lacks_it = [](const std::vector<RunFigures>& side) {
    return std::ranges::any_of(
        side, [](const RunFigures& run) { return !run.host_bytes && !run.device_bytes; });
  };
  const bool before = lacks_it(diff.runs.before), after = lacks_it(diff.runs.after);
  const std::string both = diff.before + ", " + diff.after;
  return (before == after ? both
          : before        ? diff.before
                          : diff.after) +
         ": the memory is not known. Step logs have it: redline run --log DIR -- CMD";
}

std::optional<ChangedRow> changed_kernel(const RunDiff& diff) {
  if (!diff.windows || !is_in_kernels(diff)) return std::nullopt;
  return changed_most(diff, diff.windows->kernels,
                      [](const DiffRow& row) { return !is_communication_kernel(row.name); });
}

std::optional<ChangedRow> changed_operator(const RunDiff& diff) {
  if (!diff.windows || is_in_kernels(diff)) return std::nullopt;
  return changed_most(diff, diff.windows->operators, [](const DiffRow& row) {
    return share_of(row.waiting_delta_ns, row.delta_ns()) <= 0.5;  // else it waits for the GPU
  });
}

std::vector<std::string> run_diff_sentences(const RunDiff& diff, ShownSteps shown) {
  std::vector<std::string> sentences;
  const auto capital = [](std::string words) { return capitalized(std::move(words)) + "."; };
  if (diff.gate.time) {
    sentences.push_back(capital(
        time_gate_words(diff.gate, *diff.limits.slower, diff.runs.step().is_spread_assumed)));
  }
  if (diff.gate.memory) {
    const auto unknown = unknown_memory(diff);
    const auto& memory = gated_memory(diff.runs);
    sentences.push_back(unknown ? *unknown + "."
                                : capital(memory_gate_words(diff.gate, *diff.limits.memory,
                                                            memory->is_spread_assumed)));
  }
  for (const std::string& text :
       {ranks_sentence(diff.runs), rank_counts_sentence(diff.runs), other_logs_sentence(diff.runs),
        failed_runs_sentence(diff.runs), lengths_sentence(diff.runs), part_sentence(diff),
        cause_sentence(diff), windows_sentence(diff), undisturbed_sentence(diff.runs, shown),
        basis_sentence(diff)}) {
    if (!text.empty()) sentences.push_back(text);
  }
  return sentences;
}

}  // namespace redline::trace
