// The whole study as JSON (schema redline.tune/1).
#include <nlohmann/json.hpp>

#include "tuner/show/table.h"
#include "tuner/trial/words.h"

namespace redline::tuner {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson throughput_json(const std::optional<Throughput>& throughput) {
  if (!throughput) return nullptr;
  return {{"samples_per_s", throughput->samples_per_s},
          {"low", throughput->low},
          {"high", throughput->high}};
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
  json["peak_memory_bytes"] =
      result.peak_memory_bytes ? OrderedJson(*result.peak_memory_bytes) : OrderedJson();
  json["joules_per_sample"] =
      result.joules_per_sample ? OrderedJson(*result.joules_per_sample) : OrderedJson();
  json["host_memory_bytes"] =
      result.host_use ? OrderedJson(result.host_use->memory_bytes) : OrderedJson();
  json["shm_bytes"] = result.host_use ? OrderedJson(result.host_use->shm_bytes) : OrderedJson();
  json["wall_ns"] = result.wall.count();
  json["start_up_ns"] = result.start_up.count();
  json["steps"] = result.steps;
  json["ranks"] = result.ranks;
  json["epoch_samples"] = result.epoch_samples ? OrderedJson(*result.epoch_samples) : OrderedJson();
  json["neighbours"] = result.neighbours;
  json["message"] = result.message;
  json["disturbance"] = result.disturbance;
  json["notes"] = result.notes;
  return json;
}

}  // namespace

std::string tune_json(const History& history, const std::optional<Best>& best,
                      const Options& options, bool stopped) {
  OrderedJson json;
  json["schema"] = "redline.tune/1";
  json["command"] = options.command;
  json["study"] = options.study;
  json["stopped"] = stopped;
  json["oom_trials"] = history.out_of_memory_count();
  json["objective"] = options.metric_regex.empty() ? unit_of(options.objective) : "metric";
  json["trials"] = OrderedJson::array();
  for (const FinishedTrial& trial : history.trials()) {
    json["trials"].push_back(trial_json(trial, history));
  }
  json["best"] =
      best ? OrderedJson::parse(best_json(*best, history, options.command)) : OrderedJson();
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace redline::tuner
