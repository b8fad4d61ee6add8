// The whole study as JSON (schema redline.tune/1).
#include <nlohmann/json.hpp>

#include "tuner/table.h"

namespace redline::tuner {
namespace {

using Json = nlohmann::ordered_json;

Json throughput_json(const std::optional<Throughput>& throughput) {
  if (!throughput) return nullptr;
  return {{"samples_per_s", throughput->samples_per_s},
          {"low", throughput->low},
          {"high", throughput->high}};
}

Json trial_json(const FinishedTrial& trial, const History& history) {
  const TrialResult& result = trial.result;
  Json json;
  json["id"] = trial.id;
  json["config"] = trial.config;
  json["effective"] = history.effective(trial.config);
  json["why"] = trial.why;
  json["outcome"] = to_string(result.outcome);
  json["throughput"] = throughput_json(result.throughput);
  json["peak_memory_bytes"] = result.peak_memory_bytes ? Json(*result.peak_memory_bytes) : Json();
  json["wall_ns"] = result.wall.count();
  json["start_up_ns"] = result.start_up.count();
  json["steps"] = result.steps;
  json["ranks"] = result.ranks;
  json["message"] = result.message;
  json["notes"] = result.notes;
  return json;
}

}  // namespace

std::string tune_json(const History& history, const std::optional<Best>& best,
                      const Options& options, bool stopped) {
  Json json;
  json["schema"] = "redline.tune/1";
  json["command"] = options.command;
  json["study"] = options.study;
  json["stopped"] = stopped;
  json["oom_trials"] = history.out_of_memory_count();
  json["trials"] = Json::array();
  for (const FinishedTrial& trial : history.trials()) {
    json["trials"].push_back(trial_json(trial, history));
  }
  json["best"] = best ? Json::parse(best_json(*best, history, options.command)) : Json();
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace redline::tuner
