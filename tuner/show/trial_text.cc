#include "tuner/show/study_texts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"

namespace redline::tuner {
namespace {

std::string text_of(const FinishedTrial& trial, const History& history) {
  const TrialResult& result = trial.result;
  std::string text = fmt::format("trial {}  {}  {}\n  {}\n", trial.id, to_string(result.outcome),
                                 trial.why, config_text(history.effective(trial.config), ", "));
  if (trial.ok()) {
    const Throughput& rate = trial.score();
    text += fmt::format("  {} {}", format_number(rate.samples_per_s), unit_of(history.objective()));
    if (rate.high > rate.low) {
      text += fmt::format(" ({}, 95 %)", interval_text(rate));
    }
    // A figure from --metric has no steps.
    if (result.steps > 0) text += " over " + format_plural(result.steps, "step");
    text += "\n";
  }
  if (result.latency) {
    text += fmt::format("  a batch: {}, of {} batches\n", latency_text(*result.latency),
                        format_count(result.latency->count));
  }
  if (result.expected) {
    const Throughput& rate = result.expected->score;
    text +=
        fmt::format("  expected {} ({})", format_number(rate.samples_per_s), interval_text(rate));
    if (const auto& peak = result.expected->peak_memory_bytes) {
      text += ", memory " + format_bytes(*peak);
    }
    text += "\n";
  }
  if (const auto tokens = result.tokens_per_s()) {
    text += fmt::format("  {} tokens/s: {} a sample\n", format_number(*tokens),
                        format_number(*result.tokens_per_sample));
  }
  if (result.peak_memory_bytes) {
    text += "  memory " + format_bytes(*result.peak_memory_bytes);
    text += (result.fullest_gpu.empty() ? "" : " on " + result.fullest_gpu) + "\n";
  }
  if (result.joules_per_sample) {
    text += fmt::format("  {} J a sample", format_number(*result.joules_per_sample));
    if (trial.ok() && history.rate() != history.objective()) {
      text += fmt::format(" at {} {}", format_number(result.throughput->samples_per_s),
                          unit_of(history.rate()));
    }
    text += "\n";
  }
  if (result.host_use && result.host_use->memory_bytes > 0) {
    text += fmt::format("  host: {} of memory, {} of /dev/shm\n",
                        format_bytes(result.host_use->memory_bytes),
                        format_bytes(result.host_use->shm_bytes));
  }
  if (result.data_wait_share) {
    text += fmt::format("  waits for data {:.0f} % of the time\n", 100 * *result.data_wait_share);
  }
  text += fmt::format("  took {}, {} of it start-up\n", format_wait(result.wall),
                      format_wait(result.start_up));
  if (!result.message.empty()) text += "  " + result.message + "\n";
  if (!result.disturbance.empty()) text += "  disturbed: " + result.disturbance + "\n";
  for (const std::string& note : result.notes) text += "  " + note + "\n";
  if (!result.stderr_tail.empty()) text += result.stderr_tail + "\n";
  return text;
}

}  // namespace

Result<std::string> trial_text(const StudyContent& study, int64_t id) {
  const auto trial = std::ranges::find(study.trials, id, &FinishedTrial::id);
  if (trial != study.trials.end()) return text_of(*trial, study.history());
  return tl::unexpected(
      fmt::format("{}: no finished trial {}; it has {}", study.path, id, study.trials.size()));
}

}  // namespace redline::tuner
