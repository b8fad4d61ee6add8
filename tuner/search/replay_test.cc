// Replays whole searches on synthetic machines and measures how far from the true best each
// strategy ends. All seeds are even, because the odd ones are only for the table in
// bench/README.md.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "base/statistics.h"
#include "tuner/search/plan.h"
#include "tuner/search/testing_machine.h"

namespace redline::tuner {
namespace {

constexpr int kMachines = 12;
constexpr int kTrials = 25;

Space full_space() {
  return *make_space(SyntheticMachine::knobs(), {"train"}, {.gpu = true, .cores = 16});
}

struct Replay {
  History history;
  double regret;  ///< of the reported winner, measured by its true rate
};

double true_best(uint64_t seed) {
  static std::map<uint64_t, double> known;
  const auto [entry, is_new] = known.try_emplace(seed);
  if (is_new) entry->second = SyntheticMachine(2 * seed).best_rate();
  return entry->second;
}

Replay replay(const std::string& name, const Space& space, uint64_t seed, int trials,
              Telling telling = Telling::kHook) {
  SyntheticMachine machine(2 * seed, telling);
  const SearchSettings settings{
      .machine = {.gpu = true, .cores = machine.cores()}, .memory_limit_bytes = {}, .seed = seed};
  const auto strategy = make_strategy(name, space, settings);
  const Plan plan(space, *strategy, {.time = std::chrono::hours(10), .max_trials = trials});
  History history(space);
  while (const auto proposal = plan.next(history)) {
    TrialResult result = machine.run(proposal->config);
    result.expected = proposal->expected;
    history.add({.id = std::ssize(history.trials()) + 1,
                 .config = proposal->config,
                 .why = proposal->why,
                 .result = std::move(result)});
  }
  const double best = true_best(seed);
  const double found = machine.rate(history.effective(*best_config(history)));
  return {std::move(history), std::max(0.0, 1 - found / best)};
}

struct Summary {
  double median, p90, worst, median_oom, median_trials;
};

Summary summarize_anew(const std::string& name, int trials) {
  const Space space = full_space();
  std::vector<double> regrets, ooms, counts;
  for (uint64_t seed = 1; seed <= kMachines; ++seed) {
    const Replay one = replay(name, space, seed, trials);
    regrets.push_back(one.regret);
    ooms.push_back(static_cast<double>(one.history.out_of_memory_count()));
    counts.push_back(static_cast<double>(one.history.trials().size()));
  }
  const Summary summary{quantile_of(regrets, 0.5), quantile_of(regrets, 0.9),
                        quantile_of(regrets, 1), quantile_of(ooms, 0.5), quantile_of(counts, 0.5)};
  fmt::print(
      "{:>10} at {:>2} trials: regret median {:4.1f} % p90 {:4.1f} % worst {:4.1f} %  "
      "OOM {:.0f}  trials {:.0f}\n",
      name, trials, 100 * summary.median, 100 * summary.p90, 100 * summary.worst,
      summary.median_oom, summary.median_trials);
  return summary;
}

const Summary& summarize(const std::string& name, int trials) {
  static std::map<std::pair<std::string, int>, Summary> known;
  const auto [entry, is_new] = known.try_emplace({name, trials});
  if (is_new) entry->second = summarize_anew(name, trials);
  return entry->second;
}

TEST(Replay, ModelIsNearTheBestWithFewTrials) {
  const Summary& summary = summarize("model", kTrials);
  EXPECT_LE(summary.p90, 0.04);
  EXPECT_LE(summary.median_oom, 1);
}

TEST(Replay, ModelIsNearTheBestIfOnlyTheRateIsToldToo) {
  std::vector<std::string> command = {"train"};
  for (const std::string& knob : SyntheticMachine::knobs()) {
    command.push_back("{" + knob.substr(0, knob.find('=')) + "}");
  }
  Space space = *make_space(SyntheticMachine::knobs(), command, {.gpu = true, .cores = 16});
  std::vector<double> regrets, ooms;
  for (uint64_t seed = 1; seed <= kMachines; ++seed) {
    space.first = SyntheticMachine(2 * seed).defaults();
    const Replay one = replay("model", space, seed, kTrials, Telling::kMetric);
    regrets.push_back(one.regret);
    ooms.push_back(static_cast<double>(one.history.out_of_memory_count()));
  }
  EXPECT_LE(quantile_of(regrets, 0.9), 0.04);
  EXPECT_LE(quantile_of(ooms, 0.5), 1);
}

TEST(Replay, BesideTheBestNothingIsAskedAgainOnlyBecauseTheWorkersDiffer) {
  const Space space = full_space();
  const auto number = [](const Config& all, const char* knob) {
    return static_cast<double>(*parse_integer(all.at(knob)));
  };
  for (const uint64_t seed : std::initializer_list<uint64_t>{3, 5, 8}) {
    const Replay one = replay("model", space, seed, kTrials);
    std::vector<Config> before;
    for (const FinishedTrial& trial : one.history.trials()) {
      const Config all = one.history.effective(trial.config);
      for (const Config& other : before) {
        if (!trial.why.starts_with("beside the best")) break;
        Config same = other;
        for (const char* knob : {"batch_size", "num_workers"}) same[knob] = all.at(knob);
        const double batches = number(all, "batch_size") / number(other, "batch_size");
        const double workers = number(all, "num_workers");
        const double others = number(other, "num_workers");
        const bool alike =
            batches < 4 && batches > 0.25 && workers <= 2 * others && others <= 2 * workers;
        EXPECT_FALSE(same == all && alike) << "trial " << trial.id << " of machine " << seed;
      }
      if (trial.ok()) before.push_back(all);
    }
  }
}

TEST(Replay, ModelIsNeverBehindSimplerStrategies) {
  for (const int trials : {15, 25}) {
    const Summary& model = summarize("model", trials);
    for (const char* name : {"random", "coordinate"}) {
      const Summary& other = summarize(name, trials);
      EXPECT_LE(model.median, other.median) << name << " at " << trials;
      EXPECT_LE(model.p90, other.p90) << name << " at " << trials;
    }
  }
}

TEST(Replay, SameSeedSameTrials) {
  const Space space = full_space();
  for (const char* name : {"model", "coordinate", "random", "grid"}) {
    const Replay one = replay(name, space, 7, 20);
    const Replay other = replay(name, space, 7, 20);
    ASSERT_EQ(one.history.trials().size(), other.history.trials().size());
    for (size_t i = 0; i < one.history.trials().size(); ++i) {
      EXPECT_EQ(one.history.trials()[i].config, other.history.trials()[i].config) << name << i;
    }
  }
}

TEST(Replay, OnlyConfirmationAndDoubtRepeatAConfiguration) {
  const Space space = full_space();
  for (const char* name : {"model", "coordinate", "random", "grid"}) {
    const Replay one = replay(name, space, 3, 25);
    std::map<Config, int> seen;
    for (const FinishedTrial& trial : one.history.trials()) {
      if (trial.why == kConfirm) continue;
      const int runs = trial.why == kOnceMore ? 2 : 1;
      EXPECT_EQ(++seen[one.history.canonical(trial.config)], runs) << name;
    }
  }
}

}  // namespace
}  // namespace redline::tuner
