// A study as text: the HTML page, JSON and CSV, one trial in full, and the sentences that several
// of them share. The table that autotune prints while it searches is in table.h.
//
// All texts are made from values only, so that `autotune show` and `export` print the same for a
// study in a file as the search itself did.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/search/plan.h"
#include "tuner/study/best_config.h"
#include "tuner/study/study.h"

namespace redline::tuner {

/// StudyTerms::why_ended after Ctrl-C.
constexpr const char* kStopped = "Stopped; autotune --resume … (before the --) goes on.";

/// What was searched for and within what limits: those settings that a text about the study
/// mentions.
struct StudyTerms {
  std::vector<std::string> command;
  Config environment;  ///< its variables that hold a placeholder
  Objective objective = Objective::kSamplesPerSecond;
  std::string metric_regex;         ///< --metric; empty: the hook reports
  std::string memory_metric_regex;  ///< --memory-metric
  std::string step_marker;          ///< --step-marker
  Budget budget;
  std::optional<int64_t> global_batch;
  std::optional<uint64_t> memory_limit_bytes;
  Machine machine;                      ///< the machine on which the trials ran
  std::optional<double> cost_per_hour;  ///< price of all machines of the job
  /// Why the search ended before its budget was used; empty if it used it, still runs, or was
  /// killed.
  std::string why_ended;
  std::string study = "autotune.study.db";
  /// Where the best configuration is written; empty: nowhere, or over it went another search's.
  std::string output = "best.json";
};

/// Empties terms.output if that file does not hold this best configuration of this command.
void forget_another_output(StudyTerms& terms, const std::optional<Best>& best);

/// One HTML page without references to anything outside.
[[nodiscard]] std::string study_page(const History& history, const Space& space,
                                     const std::optional<Best>& best, const StudyTerms& terms);

/// The page's two drawings, as SVG that takes its colours from the page's style. Throughput against
/// batch size, one line a stratum (the knobs that move memory and speed most), with a cross where a
/// trial ran out of memory. Empty if no trial has a batch size.
[[nodiscard]] std::string batch_chart_svg(const History& history);
/// The throughput of every trial in the order of the search, and the best so far.
[[nodiscard]] std::string convergence_chart_svg(const History& history);

/// A picture of what the model of the step expects of the best configuration at other batch sizes:
/// what compute and the loader alone would reach, what both reach together, and where memory is
/// full. A sentence follows that says which of them limits. Empty if too few trials ran or none has
/// a batch size.
[[nodiscard]] std::string model_chart_svg(const History& history, const Space& space,
                                          const Best& best, const StudyTerms& terms);

/// Everything known, for `--format json` (schema redline.tune/1).
[[nodiscard]] std::string tune_json(const History& history, const std::optional<Best>& best,
                                    const StudyTerms& terms);

/// One row a trial, for spreadsheets.
[[nodiscard]] std::string study_csv(const History& history, const Space& space);

/// Everything that a study knows about one trial. The error names the study and how many trials it
/// has.
[[nodiscard]] Result<std::string> trial_text(const StudyContent& study, int64_t id);

/// The message of a trial or, if it has none, the name of its outcome.
[[nodiscard]] std::string why_it_ended(const TrialResult& result);

/// The shell's command that starts the job with the best configuration, without its secrets.
[[nodiscard]] std::string run_text(const StudyTerms& terms);
/// "FLAGS='--lr {lr}' ", as it stands before a command in a shell.
[[nodiscard]] std::string assignments_text(const Config& environment);

/// "65,536 tokens/s: 128 a sample"; empty if samples are not sequences.
[[nodiscard]] std::string tokens_text(const Best& best, const std::string& indent);

/// "0.082 J a sample at 512 samples/s, with the defaults 0.11 J"; empty if NVML gave no energy.
[[nodiscard]] std::string energy_text(const Best& best, const std::string& indent);

/// "288 samples a step, not 32; the learning rate stays the same": the user must judge whether it
/// still trains as well. Empty if a step takes as many as with the defaults, or trains nothing.
[[nodiscard]] std::string step_samples_text(const Best& best, const std::string& indent);

/// "an epoch of 50,000 samples takes 26 s, with the defaults 35 s", if the hook saw how many
/// samples an epoch has. With a price (of one hour of the whole job) also what an epoch costs, or a
/// million samples if the epoch is unknown. Each line ends with a newline; empty if nothing is
/// known.
[[nodiscard]] std::string epoch_cost_text(const Best& best, std::optional<double> cost_per_hour,
                                          const std::string& indent);

}  // namespace redline::tuner
