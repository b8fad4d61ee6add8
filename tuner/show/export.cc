#include "tuner/show/study_texts.h"

#include <fmt/format.h>

#include "base/json_values.h"
#include "base/secrets.h"

namespace redline::tuner {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson latency_json(const std::optional<Latency>& latency) {
  if (!latency) return {};
  return {{"p50", latency->p50_ns}, {"p90", latency->p90_ns}, {"p99", latency->p99_ns}};
}

OrderedJson trial_json(const FinishedTrial& trial, const History& history) {
  const TrialResult& result = trial.result;
  OrderedJson json;
  json["id"] = trial.id;
  json["config"] = trial.config;
  json["effective"] = history.effective(trial.config);
  json["why"] = trial.why;
  json["outcome"] = to_string(result.outcome);
  json["throughput"] = throughput_json(result.throughput);
  json["tokens_per_s"] = result.tokens_per_s();
  const auto& expected = result.expected;
  json["expected"] = expected ? throughput_json(expected->score) : OrderedJson();
  json["expected_memory_bytes"] = expected ? expected->peak_memory_bytes : std::nullopt;
  json["peak_memory_bytes"] = result.peak_memory_bytes;
  json["joules_per_sample"] = result.joules_per_sample;
  json["samples_per_joule"] = throughput_json(result.samples_per_joule);
  json["latency_ns"] = latency_json(result.latency);
  json["host_memory_bytes"] =
      result.host_use ? OrderedJson(result.host_use->memory_bytes) : OrderedJson();
  json["shm_bytes"] = result.host_use ? OrderedJson(result.host_use->shm_bytes) : OrderedJson();
  json["wall_ns"] = result.wall.count();
  json["start_up_ns"] = result.start_up.count();
  json["steps"] = result.steps;
  json["ranks"] = result.ranks;
  json["epoch_samples"] = result.epoch_samples;
  json["neighbours"] = result.neighbours;
  json["message"] = result.message;
  json["disturbance"] = result.disturbance;
  json["notes"] = result.notes;
  return json;
}

/// A single figure by --metric has no interval.
std::string csv_rate(const Throughput& rate) {
  if (rate.high <= rate.low) return fmt::format(",{},,", rate.samples_per_s);
  return fmt::format(",{},{},{}", rate.samples_per_s, rate.low, rate.high);
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

std::string tune_json(const History& history, const std::optional<Best>& best,
                      const StudyTerms& terms) {
  OrderedJson json;
  json["schema"] = "redline.tune/1";
  json["command"] = without_secrets(terms.command);
  json["study"] = terms.study;
  json["stopped"] = terms.why_ended.starts_with("Stopped;");  // older studies go on differently
  json["why_ended"] = text_or_null(terms.why_ended);
  json["oom_trials"] = history.out_of_memory_count();
  json["objective"] = terms.metric_regex.empty() ? unit_of(terms.objective) : "metric";
  json["trials"] = list_json(
      history.trials(), [&](const FinishedTrial& trial) { return trial_json(trial, history); });
  json["best"] =
      best ? OrderedJson::parse(best_json(*best, history, terms.command)) : OrderedJson();
  return json_text(json, 2) + "\n";
}

std::string study_csv(const History& history, const Space& space) {
  std::string text = "trial";
  for (const Knob& knob : space.knobs) text += "," + csv_field(knob.name);
  text +=
      ",outcome,samples_per_s,low,high,tokens_per_s,peak_memory_bytes,data_wait_share,"
      "joules_per_sample,wall_ns,why,message\n";
  for (const FinishedTrial& trial : history.trials()) {
    const TrialResult& result = trial.result;
    const Config all = history.effective(trial.config);
    text += std::to_string(trial.id);
    for (const Knob& knob : space.knobs) {
      text += "," + csv_field(value_of(all, knob.name));
    }
    text += fmt::format(",{}", to_string(result.outcome));
    text += result.throughput ? csv_rate(*result.throughput) : ",,,";
    const auto tokens = result.tokens_per_s();
    text += tokens ? fmt::format(",{}", *tokens) : ",";
    text += result.peak_memory_bytes ? fmt::format(",{}", *result.peak_memory_bytes) : ",";
    text += result.data_wait_share ? fmt::format(",{:.4f}", *result.data_wait_share) : ",";
    text += result.joules_per_sample ? fmt::format(",{}", *result.joules_per_sample) : ",";
    text += fmt::format(",{},{},{}\n", result.wall.count(), csv_field(trial.why),
                        csv_field(result.message));
  }
  return text;
}

}  // namespace redline::tuner
