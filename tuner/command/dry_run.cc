#include <fmt/format.h>

#include "base/format.h"
#include "base/secrets.h"
#include "base/terminal.h"
#include "tuner/command/command_line.h"
#include "tuner/command/traces.h"

namespace redline::tuner {
namespace {

constexpr size_t kIndent = 17;

std::string row(const std::string& name, const std::string& value) {
  const std::vector<std::string> lines = wrapped(value, kTerminalColumns - kIndent);
  return fmt::format("  {:<{}} {}\n", name, kIndent - 3,
                     joined(lines, "\n" + std::string(kIndent, ' ')));
}

std::string first_command(const Options& options, const Space& space) {
  std::vector<std::string> words;
  for (const std::string& word : options.command) {
    words.push_back(fill_placeholders(word, space.first));
  }
  return format_command(without_secrets(std::move(words)));
}

}  // namespace

std::string dry_run_text(const Options& options, const Space& space, const Strategy& strategy,
                         const Machine& machine, const std::vector<Share>& shares,
                         const std::string& study) {
  const TrialSpec trial = options.prototype();
  std::string text = "nothing is run (--dry-run)\n\nspace\n";
  for (const Knob& knob : space.knobs) {
    const auto first = space.first.find(knob.name);
    text += row(knob.name, knob.text() + (first == space.first.end()
                                              ? " (first trial: the script's own)"
                                              : " (first trial: " + first->second + ")"));
  }
  if (options.global_batch) {
    text += row("accumulation", fmt::format("so that batch size x accumulation x ranks is {}",
                                            *options.global_batch));
  }
  for (const std::string& sentence : space.left_out) text += "  " + sentence + "\n";

  text += "\nplan\n";
  text += row("strategy", strategy.description());
  text += row("order", "the defaults, then the strategy, then the best and the defaults again");
  if (shares.size() > 1) {
    std::string split;
    for (const Share& share : shares) split += (split.empty() ? "" : " | ") + share.text();
    text += row("parallel", fmt::format("{} trials at a time: {}; the defaults and the last runs "
                                        "alone, in the first part",
                                        shares.size(), split));
  }
  text += row("budget", format_wait(options.budget.time) + " for all trials together");
  text +=
      row("max trials", options.budget.max_trials > 0 ? std::to_string(options.budget.max_trials)
                                                      : "as many as the budget allows");
  text +=
      row("a trial", options.metric_regex.empty()
                         ? fmt::format("start-up, warm-up, then {} and at least {} steps measured",
                                       format_wait(trial.measure_for), trial.min_steps)
                         : "until the command ends, at most " + format_wait(trial.timeout));
  text += row("trial timeout", format_wait(options.trial_timeout));
  text += row("memory limit", options.memory_limit_bytes
                                  ? format_bytes(*options.memory_limit_bytes) + " a process"
                                  : "none: what the device or the machine has");
  text += row("objective", options.metric_regex.empty()
                               ? options.objective == Objective::kSamplesPerJoule
                                     ? "samples per joule of all visible GPUs, by the hook and NVML"
                                 : options.objective == Objective::kStepsPerSecond
                                     ? "steps per second of the job, end to end, by the hook"
                                     : "samples per second over all ranks, end to end, by the hook"
                               : "last match of " + options.metric_regex + ", larger is better");
  if (!options.memory_metric_regex.empty()) {
    text += row("memory", "last match of " + options.memory_metric_regex);
  }
  if (options.profile_best) {
    text += row("then", "the default and the best, recorded into " + profile_folder(options.study) +
                            ", and what differs");
  }
  text += row("seed", std::to_string(options.seed));
  text +=
      row("machine", format_plural(machine.cores, "core") + (machine.gpu ? ", GPU" : ", no GPU"));
  text += row("study", study);
  text += row("output", options.output);
  return text + "\nfirst command\n  " + first_command(options, space) + "\n";
}

}  // namespace redline::tuner
