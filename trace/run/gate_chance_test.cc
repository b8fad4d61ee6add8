// How often the gate alarms although nothing changed, and how often it catches a change, on
// simulated runs: steps that are alike their neighbours, bursts of other work, runs that differ
// from each other, and a machine whose load drifts from run to run. The seeds are fixed.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "trace/run/compare.h"
#include "trace/run/gate.h"

namespace redline::trace {
namespace {

struct Machine {
  double between = 0.015;  // of runs, each by itself
  double drift = 0.03;     // of the load, which stays from run to run by 0.8
  double within = 0.05;    // of steps, which stays from step to step by 0.8
  double bursts = 0.4;     // share of runs in which other work slows a fifth of the steps by half
  double neighbours = 0;   // of a virtual machine: the most steps of a run that they slow by 40 %
  double unlucky = 0;      // share of the slower program's runs that their memory slows by half
};

class Simulation {
 public:
  Simulation(const Machine& machine, uint32_t seed) : machine_(machine), random_(seed) {}

  RunFigures run(double slower) {
    load_ = 0.8 * load_ + 0.6 * normal_(random_);
    std::uniform_real_distribution<double> share;
    const double level = (1 + slower) *
                         (slower > 0 && share(random_) < machine_.unlucky ? 1.5 : 1) *
                         std::exp(machine_.drift * load_ + machine_.between * normal_(random_));
    const double neighbours = machine_.neighbours * share(random_);
    const auto burst =
        share(random_) < machine_.bursts ? static_cast<int64_t>(80 * share(random_)) : kRunLength;
    StepLog log;
    double steps = 0;
    int64_t at = ++number_ * 1'000'000'000'000;
    log.begin_ns = at;
    for (int64_t i = 0; i < kRunLength; ++i) {
      steps = 0.8 * steps + 0.6 * normal_(random_);
      const double busy = (i >= burst && i < burst + kRunLength / 5 ? 1.5 : 1) *
                          (share(random_) < neighbours ? 1.4 : 1);
      LoggedStep step;
      step.step = i;
      step.begin_ns = at;
      step.length_ns = step.shortest_ns = step.longest_ns =
          std::llround(20e6 * level * busy * std::exp(machine_.within * steps));
      at = step.end_ns();
      log.steps.push_back(step);
    }
    return *run_figures({summarise(log)});
  }

  /// As `redline compare` does it.
  RunComparison compare(int64_t pairs, double slower, const GateLimits& limits) {
    std::vector<RunFigures> base, next;
    for (int64_t pair = 1;; ++pair) {
      if (pair % 2 == 1) base.push_back(run(0));
      next.push_back(run(slower));
      if (pair % 2 == 0) base.push_back(run(0));
      if (!is_look(pair, pairs)) continue;
      RunComparison result = change_between(base, next, tail_of_look(pair, pairs));
      if (pair == pairs || is_answered(result, limits)) return result;
    }
  }

 private:
  static constexpr int64_t kRunLength = 100;
  Machine machine_;
  std::mt19937 random_;
  std::normal_distribution<double> normal_;
  double load_ = 0;
  int64_t number_ = 0;
};

/// The share of comparisons that are surely beyond the limit.
double alarms(const Machine& machine, int64_t pairs, double slower, double limit, int trials) {
  Simulation simulation(machine, 7);
  int count = 0;
  const GateLimits limits{.slower = limit, .memory = std::nullopt};
  for (int trial = 0; trial < trials; ++trial) {
    const RunComparison runs = simulation.compare(pairs, slower, limits);
    count += judge_change(runs, limits).time == GateOutcome::kSurelyBeyond ? 1 : 0;
  }
  return static_cast<double>(count) / trials;
}

constexpr Machine kQuiet{.between = 0.005, .drift = 0.005, .within = 0.02, .bursts = 0.05};
constexpr Machine kBusy{.between = 0.04, .drift = 0.08, .within = 0.1, .bursts = 0.7};
// As measured on a virtual machine of two cores (bench/README.md, gate).
constexpr Machine kShared{.between = 0.015,
                          .drift = 0.01,
                          .within = 0.03,
                          .bursts = 0.4,
                          .neighbours = 0.6,
                          .unlucky = 0.1};

TEST(GateChance, NothingChangedHardlyEverAlarms) {
  for (const Machine& machine : {kQuiet, Machine(), kBusy, kShared}) {
    for (const int64_t pairs : {1, 5, 14}) {
      EXPECT_LE(alarms(machine, pairs, 0, 0.01, 400), 0.02) << machine.drift << " " << pairs;
    }
  }
}

TEST(GateChance, AChangeBelowTheLimitAlarmsNoMoreOften) {
  for (const Machine& machine : {kQuiet, Machine(), kBusy, kShared}) {
    EXPECT_LE(alarms(machine, 8, 0.05, 0.05, 400), 0.04) << machine.drift;
  }
}

TEST(GateChance, AChangeOfFivePercentIsCaughtOnAQuietMachine) {
  EXPECT_GE(alarms(kQuiet, 8, 0.05, 0.01, 300), 0.95);
  EXPECT_GE(alarms(Machine(), 8, 0.15, 0.05, 300), 0.95);
}

// All steps alone would catch it in hardly any of these comparisons.
TEST(GateChance, UndisturbedStepsShowAChangeThatNeighboursHide) {
  EXPECT_GE(alarms(kShared, 14, 0.05, 0.01, 200), 0.9);
}

}  // namespace
}  // namespace redline::trace
