// Replays a recorded sweep: prints what a strategy would have found after each trial, as JSON
// lines.
//
//   replay_sweeps SWEEP.jsonl STRATEGY SEEDS TRIALS
//
// A trial's result is one of the recorded runs of its configuration, drawn by the seed. The true
// rate of a configuration is the median of its runs, reduced by the share that failed. The
// incumbent is the configuration that best.json would hold at that moment.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "tuner/search/plan.h"

namespace redline::tuner {
namespace {

using Json = nlohmann::ordered_json;

struct Sweep {
  std::vector<std::string> knobs;  ///< in the form of --knob
  Config defaults;
  uint64_t memory_limit = 0;
  int ranks = 1;
  double start_up_s = 0;
  std::map<Config, std::vector<TrialResult>> runs;
};

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

Config config_of(const Json& object) {
  Config config;
  for (const auto& [name, value] : object.items()) config[name] = text_of(value);
  return config;
}

TrialResult result_of(const Json& run, const Sweep& sweep) {
  TrialResult result;
  result.ranks = sweep.ranks;
  result.wall = std::chrono::nanoseconds(
      std::llround(1e9 * (sweep.start_up_s + run.at("wall_s").get<double>())));
  result.outcome = outcome_from_string(run.at("outcome")).value_or(Outcome::kCrash);
  if (result.outcome != Outcome::kOk) return result;
  const double rate = run.at("samples_per_s");
  const double half = run.at("half_width");
  result.throughput = Throughput{rate, rate - half, rate + half};
  result.peak_memory_bytes = run.at("peak_memory_bytes").get<uint64_t>();
  return result;
}

Sweep read_sweep(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  const Json head = Json::parse(line);
  Sweep sweep;
  for (const auto& [name, values] : head.at("knobs").items()) {
    std::string text;
    for (const Json& value : values) text += (text.empty() ? "" : ",") + text_of(value);
    sweep.knobs.push_back(name + "=" + text);
  }
  sweep.defaults = config_of(head.at("defaults"));
  sweep.memory_limit = head.at("memory_limit_bytes");
  sweep.ranks = head.at("ranks");
  sweep.start_up_s = head.at("start_up_s");
  while (std::getline(file, line)) {
    const Json run = Json::parse(line);
    TrialResult result = result_of(run, sweep);
    result.observed = sweep.defaults;
    sweep.runs[config_of(run.at("config"))].push_back(std::move(result));
  }
  return sweep;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// The median rate of a configuration's runs, reduced by the share of runs that failed.
double true_rate(const std::vector<TrialResult>& runs) {
  std::vector<double> rates;
  for (const TrialResult& run : runs) {
    if (run.outcome == Outcome::kOk) rates.push_back(run.throughput->samples_per_s);
  }
  if (rates.empty()) return 0;
  return median(rates) * static_cast<double>(rates.size()) / static_cast<double>(runs.size());
}

void replay(const Sweep& sweep, const char* name, uint64_t seed, int most_trials) {
  // The command has a placeholder for every knob, so that knobs of the hook and others are searched
  // alike.
  std::vector<std::string> command = {"train"};
  for (const auto& [knob, value] : sweep.defaults) command.push_back("{" + knob + "}");
  Space space = *make_space(sweep.knobs, command, {});
  space.first = sweep.defaults;
  const SearchSettings settings{.machine = {.gpu = false, .cores = 2},
                                .memory_limit_bytes = sweep.memory_limit,
                                .seed = seed};
  const auto strategy = make_strategy(name, space, settings);
  const Plan plan(space, *strategy, {.time = std::chrono::hours(1000), .max_trials = most_trials});
  double best = 0;
  for (const auto& [config, runs] : sweep.runs) best = std::max(best, true_rate(runs));

  std::mt19937_64 random(seed);
  History history(space);
  double seconds = 0;
  Json trials = Json::array();
  while (const auto proposal = plan.next(history)) {
    const auto& runs = sweep.runs.at(history.effective(proposal->config));
    const TrialResult& result = runs[random() % runs.size()];
    seconds += std::chrono::duration<double>(result.wall).count();
    history.add({.id = std::ssize(history.trials()) + 1,
                 .config = proposal->config,
                 .why = proposal->why,
                 .result = result});
    const auto found = best_config(history);
    const double rate = found ? true_rate(sweep.runs.at(history.effective(*found))) : 0;
    trials.push_back({1 - rate / best, seconds, history.out_of_memory_count()});
  }
  fmt::print("{}\n", trials.dump());
}

}  // namespace
}  // namespace redline::tuner

int main(int argc, char** argv) {
  if (argc != 5) {
    fmt::print(stderr, "usage: replay_sweeps SWEEP.jsonl STRATEGY SEEDS TRIALS\n");
    return 2;
  }
  try {
    const auto sweep = redline::tuner::read_sweep(argv[1]);
    for (uint64_t seed = 1; seed <= std::stoul(argv[3]); ++seed) {
      redline::tuner::replay(sweep, argv[2], seed, std::stoi(argv[4]));
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "replay_sweeps: {}: {}\n", argv[1], error.what());
    return 1;
  }
  return 0;
}
