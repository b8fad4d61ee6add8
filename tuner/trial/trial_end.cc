#include "tuner/trial/trial_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "machine/launch/output_tail.h"
#include "tuner/space/hook_knobs.h"
#include "tuner/trial/trial_files.h"

namespace redline::tuner {
namespace {

using std::chrono::seconds;

constexpr int64_t kFewestStepsAtEnd = 4;  // enough for a command that ended before min_steps
constexpr size_t kTailBytes = 64 * 1024;
constexpr size_t kShownTailLines = 20;

bool is_by_metric(const EndedTrial& trial) { return !trial.spec.metric_regex.empty(); }

/// The error says what is wrong with stdout; it is empty without --metric.
tl::expected<Throughput, std::string> throughput_of(const EndedTrial& trial) {
  if (is_by_metric(trial)) {
    return last_match(launch::tail_of(trial.paths.output(), SIZE_MAX), trial.spec.metric_regex,
                      launch::tail_of(trial.paths.errors(), kTailBytes))
        .map([](double value) {
          return Throughput{value, value, value};
        });
  }
  const Measurement& measurement = trial.reports.measurement();
  if (auto estimate = measurement.estimate()) return *estimate;
  // A training that is shorter than the plan is measured over the steps that it made.
  if (auto estimate = measurement.estimate(kFewestStepsAtEnd)) return *estimate;
  return tl::unexpected(std::string());
}

Evidence evidence_of(const EndedTrial& trial) {
  return {.failures = trial.reports.failures(),
          .error_files = elastic_errors(trial.paths.temporary()),
          .wait_status = trial.wait_status,
          .stderr_text = launch::tail_of(trial.paths.errors(), kTailBytes),
          .oom_killer_ran = trial.oom_killer_ran,
          .stepped = trial.reports.measurement().latest_ns() != 0};
}

Verdict on_step_size(const EndedTrial& trial) {
  const int64_t samples = trial.reports.measurement().median_step_samples();
  const auto& wanted = trial.spec.global_batch;
  if (!wanted || samples == 0 || samples == *wanted) return {};
  const int ranks = trial.reports.measurement().world_size();
  return {Outcome::kInvalid, -1,
          fmt::format("a step took {} samples over {}, not the {} of --global-batch", samples,
                      format_plural(ranks, "rank"), *wanted)};
}

/// Why the hook saw no step: the --step-marker did not occur, or passes ran without an optimizer.
/// Empty if steps were seen or nothing is known.
std::string unseen_steps(const EndedTrial& trial) {
  if (trial.reports.measurement().latest_ns() != 0) return "";
  if (const std::string& marker = trial.spec.step_marker; !marker.empty()) {
    return fmt::format(
        "no two ranges or marks named '{}' were seen, as --step-marker expects one in each step",
        marker);
  }
  if (trial.reports.activity().empty()) return "";
  return trial.reports.activity() +
         " and no optimizer step: what a step is cannot be seen. Give --step-marker NAME with a "
         "range that the script opens in each step, or --metric with what the command prints";
}

/// Empty if each step took a new batch.
std::string steps_without_batch(const EndedTrial& trial) {
  const int64_t steps = trial.reports.steps_without_batch();
  if (steps == 0 || is_by_metric(trial)) return "";
  return fmt::format(
      "{} with batches that the script had taken before, which are not counted. Give --step-marker "
      "NAME with a range that the script opens in each step, and --objective steps, or --metric "
      "with what the command prints",
      format_plural(steps, "optimizer step"));
}

std::string why_nothing_was_measured(const EndedTrial& trial) {
  if (const std::string why = steps_without_batch(trial); !why.empty()) return why;
  if (const std::string unseen = unseen_steps(trial); !unseen.empty()) return unseen;
  if (trial.reports.measurement().latest_ns() == 0) {
    return "the command ended without an optimizer step that the hook could see. Programs that are "
           "not PyTorch in Python need --metric or, in C++, redline::Trial";
  }
  return fmt::format("the command ended after {}, too few to measure: let it train on",
                     format_plural(trial.reports.measurement().steps(), "counted step"));
}

Verdict on_timeout(const EndedTrial& trial) {
  const TrialSpec& spec = trial.spec;
  if (!trial.reports.begun() && spec.start_timeout > spec.timeout) {
    return {Outcome::kHang, -1,
            "torch was not imported within " + format_wait(spec.start_timeout) +
                ". Give a longer --trial-timeout"};
  }
  if (trial.reports.compiling()) {
    return {Outcome::kHang, -1,
            fmt::format("no result within {} and {} of compilation", format_wait(spec.timeout),
                        format_wait(spec.compile_timeout))};
  }
  if (const std::string why = steps_without_batch(trial); !why.empty()) {
    return {Outcome::kInvalid, -1, why};
  }
  if (const std::string unseen = unseen_steps(trial); !unseen.empty() && !is_by_metric(trial)) {
    return {Outcome::kInvalid, -1,
            fmt::format("{}. If a step takes longer than {}, give a longer --trial-timeout", unseen,
                        format_wait(spec.timeout))};
  }
  if (trial.reports.measurement().latest_ns() == 0 && !is_by_metric(trial)) {
    return {Outcome::kHang, -1,
            fmt::format("no step within {}. If the command only needs so long to start, give a "
                        "longer --trial-timeout",
                        format_wait(spec.timeout))};
  }
  const int64_t steps = trial.reports.measurement().steps();
  return {Outcome::kHang, -1,
          "no result within " + format_wait(spec.timeout) +
              (is_by_metric(trial) || steps == 0
                   ? ""
                   : fmt::format("; {} counted, which is too few to measure",
                                 format_plural(steps, "step")))};
}

/// What is wrong with a figure by --metric, if anything.
std::optional<Verdict> on_metric(double figure) {
  if (std::isnan(figure)) return Verdict{Outcome::kNanLoss, -1, "the metric is NaN"};
  if (figure > 0 && std::isfinite(figure)) return std::nullopt;
  return Verdict{
      Outcome::kInvalid, -1,
      fmt::format("the metric is {:g}: it must be a finite number above 0, and more must be better",
                  figure)};
}

Verdict verdict_on(const EndedTrial& trial,
                   const tl::expected<Throughput, std::string>& throughput) {
  if (trial.end == TrialEnd::kCancelled) return {Outcome::kCancelled, -1, "cancelled"};
  if (trial.end == TrialEnd::kMeasured || trial.end == TrialEnd::kBehind) {
    return on_step_size(trial);
  }
  const Verdict found = judge(evidence_of(trial));
  if (found.outcome != Outcome::kOk) return found;
  if (throughput && is_by_metric(trial)) {
    if (auto wrong = on_metric(throughput->samples_per_s)) return *std::move(wrong);
  }
  if (trial.end == TrialEnd::kHang) {
    if (const std::string why = steps_without_batch(trial); !why.empty()) {
      return {Outcome::kInvalid, -1, why};
    }
    return {Outcome::kHang, -1,
            fmt::format("no step for {} s. If the job pauses so long, give a longer "
                        "--trial-timeout",
                        std::chrono::ceil<seconds>(trial.silence).count())};
  }
  if (throughput) return on_step_size(trial);
  if (trial.end == TrialEnd::kTimeout) {
    Verdict late = on_timeout(trial);
    if (is_by_metric(trial)) late.message += ": " + throughput.error();
    return late;
  }
  return {Outcome::kInvalid, -1,
          is_by_metric(trial) ? "the command ended and " + throughput.error()
                              : why_nothing_was_measured(trial)};
}

/// Adds to the notes of a result what is wrong with --memory-metric, if anything.
std::optional<uint64_t> peak_memory_of(const EndedTrial& trial, TrialResult& result) {
  if (const std::string& regex = trial.spec.memory_metric_regex; !regex.empty()) {
    const auto value = last_size(launch::tail_of(trial.paths.output(), SIZE_MAX), regex);
    if (value) return *value;
    if (result.outcome == Outcome::kOk) result.notes.push_back(value.error());
  }
  if (trial.reports.device_memory() > 0) return trial.reports.device_memory();
  const uint64_t peak = trial.resources.peak_memory();
  if (peak == 0) return std::nullopt;
  // The kernel's peak includes address space that was asked for and refused, so it may exceed the
  // limit.
  return std::min(peak, trial.data_limit.value_or(UINT64_MAX));
}

/// Only the start-up hook keeps a device below --memory-limit. A program that tells its peak by
/// itself may take more, and then the configuration is none that was asked for.
void keep_to_limit(const EndedTrial& trial, TrialResult& result) {
  const auto& limit = trial.spec.memory_limit_bytes;
  const uint64_t peak = result.peak_memory_bytes.value_or(0);
  if (result.outcome != Outcome::kOk || trial.spec.memory_metric_regex.empty()) return;
  // On the CPU a recording has room beyond the limit.
  if (!limit || peak <= std::max(*limit, trial.data_limit.value_or(0))) return;
  result.outcome = Outcome::kGpuOom;
  result.throughput.reset();
  result.message = fmt::format("took {}, more than the {} of --memory-limit", format_bytes(peak),
                               format_bytes(*limit));
}

std::string last_words(const EndedTrial& trial) {
  std::string text =
      launch::last_lines(launch::tail_of(trial.paths.errors(), kTailBytes), kShownTailLines);
  if (!text.empty() && !trial.stacks.empty()) text += "\n";
  return text + trial.stacks;
}

/// What the rate of a trial does not show.
void add_notes_on_rate(const Measurement& measurement, std::vector<std::string>& notes) {
  if (measurement.covers_batches_made_ahead(kFewestStepsAtEnd)) {
    notes.push_back(
        "measured on batches that were made ahead, so its loader may be slower than that");
  }
  if (const double drift = measurement.drift(); drift != 0) {
    notes.push_back(fmt::format("its rate became {:.0f} % {} during the measurement",
                                100 * std::abs(drift), drift < 0 ? "slower" : "faster"));
  }
}

std::vector<std::string> notes_of(const EndedTrial& trial, Outcome outcome) {
  std::vector<std::string> notes = trial.reports.notes();
  if (outcome == Outcome::kOk && !is_by_metric(trial)) {
    add_notes_on_rate(trial.reports.measurement(), notes);
  }
  if (trial.garbage > 0) {
    notes.push_back(
        fmt::format("reports of the ranks that were not understood: {}", trial.garbage));
  }
  if (!trial.record_notes) return notes;
  const std::string& folder = trial.spec.record_to;
  // The outcome of the trial tells how its command ended.
  for (auto& line : launch::summarise_recording(folder, launch::list_traces(folder),
                                                trial.record_notes->read(), std::nullopt)) {
    notes.push_back(std::move(line));
  }
  return notes;
}

}  // namespace

TrialResult result_of(const EndedTrial& trial) {
  const Measurement& measurement = trial.reports.measurement();
  const auto throughput = throughput_of(trial);
  const Verdict found = verdict_on(trial, throughput);
  TrialResult result;
  result.outcome = found.outcome;
  result.failed_rank = found.rank;
  result.message = found.message;
  result.is_certain = found.is_certain;
  result.steps = measurement.steps();
  if (found.outcome == Outcome::kOk) {
    if (throughput) result.throughput = *throughput;
    result.infers = measurement.infers();
    result.latency = measurement.latency(kFewestStepsAtEnd);
    const auto window = measurement.window(kFewestStepsAtEnd);
    if (window) result.steps = window->steps;
    trial.resources.add_energy(window, trial.spec.objective, result);
    result.disturbance = trial.disturbance;
    if (trial.end == TrialEnd::kBehind) result.message = "stopped early: slower than the best";
  } else {
    result.stderr_tail = last_words(trial);
  }
  result.notes = notes_of(trial, found.outcome);
  // The table has no room for all of it.
  if (!throughput && is_by_metric(trial) && found.message.ends_with(throughput.error())) {
    result.notes.push_back(throughput.error());
  }
  result.peak_memory_bytes = peak_memory_of(trial, result);
  result.fullest_gpu = trial.reports.fullest_gpu();
  result.memory_capacity_bytes = trial.reports.memory_capacity();
  result.resting_memory_bytes = trial.reports.resting_memory();
  result.epoch_samples = trial.reports.epoch_samples();
  result.host_use = trial.resources.host_use();
  result.data_wait_share = measurement.data_wait_share();
  if (!is_by_metric(trial)) {
    result.tokens_per_sample = measurement.tokens_per_sample();
  }
  if (measurement.latest_ns() != 0) {
    result.ranks = measurement.world_size();
    result.readers = measurement.readers();
  }
  result.observed = trial.reports.observed();
  result.unused = trial.reports.unused();
  if (is_by_metric(trial) && found.outcome == Outcome::kOk && !trial.reports.begun()) {
    for (const HookKnob& hook : hook_knobs()) {
      result.unused.emplace(hook.name, "no process of it imported torch or made a redline::Trial");
    }
  }
  result.limits = trial.reports.limits();
  result.compile_time = trial.reports.compile_time();
  result.step_samples = measurement.median_step_samples();
  keep_to_limit(trial, result);
  return result;
}

}  // namespace redline::tuner
