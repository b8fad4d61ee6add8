// Replays searches where no training runs: prints what a strategy would have found after each
// trial, as JSON lines.
//
//   replay_sweeps SWEEP.jsonl STRATEGY SEEDS TRIALS
//   replay_sweeps GROUP STRATEGY SEEDS TRIALS|SECONDSs
//   replay_sweeps GROUP ask SEED TRIALS
//
// In a recorded sweep a trial's result is one of the recorded runs of its configuration, drawn by
// the seed. The true rate of a configuration is the median of its runs, reduced by the share that
// failed. A GROUP is of synthetic machines, one a seed: "looking" (the even seeds) or "held-back"
// (the odd ones), with "-metric" where a trial tells no more than --metric does. The incumbent is
// the configuration that best.json would hold at that moment. With "ask" the program answers each
// configuration on stdin with its result, so that other searches can be compared.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>

#include "base/json_values.h"
#include "tuner/search/plan.h"
#include "tuner/search/testing_machine.h"

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

Config config_of(const Json& object) {
  Config config;
  for (const auto& [name, value] : object.items()) config[name] = plain_text(value);
  return config;
}

TrialResult result_of(const Json& run, const Sweep& sweep) {
  TrialResult result;
  result.ranks = result.readers = sweep.ranks;
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
    for (const Json& value : values) text += (text.empty() ? "" : ",") + plain_text(value);
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

/// Where a search is replayed.
struct Ground {
  Space space;
  SearchSettings settings;
  Config defaults;
  std::function<TrialResult(const Config& effective)> run;
  std::function<double(const Config& effective)> true_rate;
  double best = 0;
};

/// The command names every knob, so that the hook's own names and others are searched alike.
Space space_of(const std::vector<std::string>& knobs, const Config& defaults) {
  std::vector<std::string> command = {"train"};
  for (const auto& [knob, value] : defaults) command.push_back("{" + knob + "}");
  Space space = *make_space(knobs, command, {.gpu = true, .gpus = 1, .cores = 16});
  space.first = defaults;
  return space;
}

Ground ground_of(const Sweep& sweep, uint64_t seed) {
  Ground ground{.space = space_of(sweep.knobs, sweep.defaults),
                .settings = {.machine = {.gpu = false, .cores = 2},
                             .memory_limit_bytes = sweep.memory_limit,
                             .seed = seed},
                .defaults = sweep.defaults,
                .run = {},
                .true_rate = {}};
  ground.run = [&sweep, random = std::mt19937_64(seed)](const Config& config) mutable {
    const auto& runs = sweep.runs.at(config);
    return runs[random() % runs.size()];
  };
  ground.true_rate = [&sweep](const Config& config) {
    return tuner::true_rate(sweep.runs.at(config));
  };
  for (const auto& [config, runs] : sweep.runs) {
    ground.best = std::max(ground.best, ground.true_rate(config));
  }
  return ground;
}

bool is_group(const std::string& name) {
  return name.starts_with("looking") || name.starts_with("held-back");
}

/// The machine of a group with number 1, 2, ….
Ground ground_of(const std::string& group, uint64_t number) {
  const uint64_t seed = group.starts_with("looking") ? 2 * number : 2 * number - 1;
  const Telling telling = group.ends_with("-metric") ? Telling::kMetric : Telling::kHook;
  const auto machine = std::make_shared<SyntheticMachine>(seed, telling);
  Ground ground{.space = space_of(SyntheticMachine::knobs(), machine->defaults()),
                .settings = {.machine = {.gpu = true, .gpus = 1, .cores = machine->cores()},
                             .memory_limit_bytes = {},
                             .seed = seed},
                .defaults = machine->defaults(),
                .run = [machine](const Config& config) { return machine->run(config); },
                .true_rate = [machine](const Config& config) { return machine->rate(config); },
                .best = machine->best_rate()};
  return ground;
}

/// "25": trials; "600s": seconds.
Budget budget_of(const std::string& text) {
  if (text.ends_with("s")) return {.time = std::chrono::seconds(std::stoll(text))};
  return {.time = std::chrono::hours(1000), .max_trials = std::stoi(text)};
}

void replay(Ground ground, const char* name, const Budget& budget) {
  ground.settings.time = budget.time;
  ground.settings.most_trials = budget.max_trials;
  const auto strategy = make_strategy(name, ground.space, ground.settings);
  if (!strategy) throw std::runtime_error(fmt::format("no strategy is called {}", name));
  const Plan plan(ground.space, *strategy, budget);
  History history(ground.space);
  double seconds = 0;
  Json trials = Json::array();
  while (const auto proposal = plan.next(history)) {
    TrialResult result = ground.run(history.effective(proposal->config));
    result.expected = proposal->expected;
    history.add({.id = std::ssize(history.trials()) + 1,
                 .config = proposal->config,
                 .why = proposal->why,
                 .result = std::move(result)});
    seconds += std::chrono::duration<double>(history.trials().back().result.wall).count();
    const auto found = best_config(history);
    const double rate = found ? ground.true_rate(history.effective(*found)) : 0;
    trials.push_back({1 - rate / ground.best, seconds, history.out_of_memory_count()});
  }
  fmt::print("{}\n", trials.dump());
}

void answer(Ground ground) {
  fmt::print("{}\n", Json{{"defaults", ground.defaults}}.dump());
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    const Config config = config_of(Json::parse(line));
    const TrialResult result = ground.run(config);
    fmt::print("{}\n",
               Json{{"samples_per_s", result.throughput ? result.throughput->samples_per_s : 0},
                    {"wall_s", std::chrono::duration<double>(result.wall).count()},
                    {"regret", 1 - ground.true_rate(config) / ground.best}}
                   .dump());
    std::fflush(stdout);
  }
}

/// "7": 1 to 7; "7..9".
std::pair<uint64_t, uint64_t> seeds_of(const std::string& text) {
  const size_t dots = text.find("..");
  if (dots == std::string::npos) return {1, std::stoul(text)};
  return {std::stoul(text), std::stoul(text.substr(dots + 2))};
}

}  // namespace
}  // namespace redline::tuner

int main(int argc, char** argv) {
  using namespace redline::tuner;
  if (argc != 5) {
    fmt::print(stderr, "usage: replay_sweeps SWEEP.jsonl|GROUP STRATEGY|ask SEEDS TRIALS\n");
    return 2;
  }
  try {
    const std::string where = argv[1];
    const auto [first, last] = seeds_of(argv[3]);
    const Sweep sweep = is_group(where) ? Sweep{} : read_sweep(argv[1]);
    for (uint64_t seed = first; seed <= last; ++seed) {
      Ground ground = is_group(where) ? ground_of(where, seed) : ground_of(sweep, seed);
      if (std::string(argv[2]) == "ask") {
        answer(std::move(ground));
      } else {
        replay(std::move(ground), argv[2], budget_of(argv[4]));
      }
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "replay_sweeps: {}: {}\n", argv[1], error.what());
    return 1;
  }
  return 0;
}
