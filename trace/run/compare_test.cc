// Compares made-up runs whose difference is known.
#include "trace/run/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/statistics.h"
#include "trace/run/gate.h"

namespace redline::trace {
namespace {

constexpr int64_t kRunSecond = 1'000'000'000;

RunFigures run_of(double step_ms, int64_t begin_s = 0, double error = 0) {
  RunFigures run;
  run.begin_ns = begin_s * kRunSecond;
  run.ranks = 1;
  run.steps = 100;
  run.all_steps.step = {step_ms * 1e6, error * step_ms * 1e6};
  return run;
}

std::vector<RunFigures> runs_of(const std::vector<double>& steps_ms, int64_t begin_s = 0,
                                int64_t every_s = 1) {
  std::vector<RunFigures> runs;
  for (const double ms : steps_ms) {
    runs.push_back(run_of(ms, begin_s));
    begin_s += every_s;
  }
  return runs;
}

struct Work {
  double step_ms = 20;
  double noise = 0.05;
  double forward = 0.3;  // share of a step
  int64_t samples = 32;
  int64_t steps = 200;
  double stall_ms = 0;  // in the part below, in each of so many steps the last one
  LogPart stall_part = LogPart::kCheckpoint;
  int64_t stall_every = 10;
  double scale = 1;
  uint32_t seed = 1;
};

StepLog work_log(const Work& work, int rank = 0) {
  std::mt19937 random(work.seed);
  std::normal_distribution<double> normal;
  StepLog log;
  log.run = std::to_string(work.seed);
  log.rank = rank;
  int64_t at = kRunSecond;
  for (int64_t i = 0; i < work.steps; ++i) {
    LoggedStep step;
    const double usual_ns = work.step_ms * 1e6 * work.scale * (1 + work.noise * normal(random));
    const double stall_ns =
        i % work.stall_every == work.stall_every - 1 ? work.stall_ms * 1e6 * work.scale : 0;
    step.step = i;
    step.begin_ns = at;
    step.length_ns = step.shortest_ns = step.longest_ns = std::llround(usual_ns + stall_ns);
    step.samples = work.samples;
    step.part_ns[static_cast<size_t>(LogPart::kForward)] = std::llround(usual_ns * work.forward);
    step.part_ns[static_cast<size_t>(work.stall_part)] = std::llround(stall_ns);
    at = step.end_ns();
    log.steps.push_back(step);
  }
  log.memory = {{at, int64_t{1} << 30, kUnseen}, {at, int64_t{3} << 30, kUnseen}};
  return log;
}

RunFigures figures_of(const Work& work) { return *run_figures({summarise(work_log(work))}); }

TEST(RunFigures, AreThoseOfTheSteps) {
  const RunFigures run = figures_of({.noise = 0, .stall_ms = 50});
  // 20 ms, and 20 checkpoints of 50 ms in the 198 steps after the two of the warm-up.
  EXPECT_NEAR(run.all_steps.step.ns, 25'050'505, 1);
  EXPECT_NEAR(run.all_steps.step.error_ns, 0, 1);
  EXPECT_EQ(run.steps, 198);
  EXPECT_DOUBLE_EQ(*run.samples, 32);
  EXPECT_NEAR(run.all_steps.parts[static_cast<size_t>(LogPart::kForward)]->ns, 6e6, 1);
  EXPECT_NEAR(run.all_steps.parts[static_cast<size_t>(LogPart::kCheckpoint)]->ns, 5e6, 1e5);
  EXPECT_NEAR(run.all_steps.parts[kLogParts]->ns, 14e6, 1);
  EXPECT_FALSE(run.all_steps.parts[static_cast<size_t>(LogPart::kBackward)]);
  EXPECT_DOUBLE_EQ(*run.host_bytes, 0x3p30);
  EXPECT_FALSE(run.device_bytes);
}

TEST(RunFigures, APeakOfTheMemoryCountsWhereverItLies) {
  // Of 512 readings a summary keeps each second one.
  for (const size_t peak : {size_t{300}, size_t{301}}) {
    StepLog log = work_log({});
    log.memory.assign(512, {kRunSecond, int64_t{4} << 30, int64_t{1} << 30});
    log.memory[peak] = {kRunSecond, int64_t{8} << 30, int64_t{2} << 30};
    const RunFigures run = *run_figures({summarise(log)});
    EXPECT_DOUBLE_EQ(run.host_bytes.value_or(0), 0x8p30) << peak;
    EXPECT_DOUBLE_EQ(run.device_bytes.value_or(0), 0x2p30) << peak;
  }
}

TEST(RunFigures, SamplesThatRanksShareCountOnce) {
  RankRuns ranks = {summarise(work_log({})), summarise(work_log({}, 1))};
  EXPECT_EQ(run_figures(ranks)->samples, 64);
  for (RankRun& rank : ranks) rank.batches.digest = "same";
  EXPECT_EQ(run_figures(ranks)->samples, 32);
  for (RankRun& rank : ranks) rank.batches.is_data_parallel = true;
  EXPECT_EQ(run_figures(ranks)->samples, 64) << "a user's own count has each of them, too";
}

TEST(RunFigures, StallsOfEveryKindCount) {
  const double plain = figures_of({.noise = 0}).all_steps.step.ns;
  for (size_t part = 0; part < kLogParts; ++part) {
    const RunFigures run =
        figures_of({.noise = 0, .stall_ms = 40, .stall_part = static_cast<LogPart>(part)});
    EXPECT_NEAR(run.all_steps.step.ns - plain, 4e6, 2e5) << part;
  }
}

TEST(RunFigures, HooksThatSeeTheForwardPassWouldHaveSeenAWaitForOtherRanks) {
  constexpr auto kWait = static_cast<size_t>(LogPart::kCommunicationWait);
  StepLog log = work_log({});
  for (const int world_size : {1, 2}) {
    log.world_size = world_size;
    const auto wait = run_figures({summarise(log)})->all_steps.parts[kWait];
    ASSERT_TRUE(wait);
    EXPECT_EQ(wait->ns, 0);
  }
  for (LoggedStep& step : log.steps) step.part_ns.fill(kUnseen);
  EXPECT_FALSE(run_figures({summarise(log)})->all_steps.parts[kWait]);
}

TEST(RunFigures, ABusyMinuteDoesNotDecide) {
  StepLog log = work_log({});
  const double before = run_figures({summarise(log)})->all_steps.step.ns;
  int64_t shift = 0;
  for (size_t i = 60; i < log.steps.size(); ++i) {
    LoggedStep& step = log.steps[i];
    step.begin_ns += shift;
    if (i >= 90) continue;
    shift += step.length_ns;
    step.length_ns *= 2;
  }
  EXPECT_NEAR(run_figures({summarise(log)})->all_steps.step.ns / before, 1, 0.02);
}

// Of 200 steps of 1 to 200 ms, in no order, each is a block. The first two are the warm-up.
TEST(RunFigures, UndisturbedStepsAreAmongTheFastestQuarter) {
  StepLog log = work_log({.noise = 0, .samples = kUnseen});
  for (size_t i = 0; i < log.steps.size(); ++i) {
    LoggedStep& step = log.steps[i];
    const auto ms = static_cast<int64_t>(i < 2 ? 199 + i : (i - 2) * 97 % 198 + 1);
    step.length_ns = step.shortest_ns = step.longest_ns = ms * 1'000'000;
    step.part_ns[static_cast<size_t>(LogPart::kForward)] = step.length_ns / 4;
  }
  const auto undisturbed = run_figures({summarise(log)})->undisturbed;
  ASSERT_TRUE(undisturbed);
  // Nine of the 198 are left out, and 49 - 9 count: 10 to 49 ms.
  EXPECT_NEAR(undisturbed->step.ns, 29.5e6, 1e3);
  const StepTime forward = *undisturbed->parts[static_cast<size_t>(LogPart::kForward)];
  EXPECT_NEAR(forward.ns, 29.5e6 / 4, 1e3);
  const double deviation = std::sqrt((40 * 40 - 1) / 12.0 * 40 / 39);  // of 40 numbers in a row
  EXPECT_NEAR(forward.error_ns, deviation * 1e6 / 4 / std::sqrt(40), 1e3);
  EXPECT_NEAR(undisturbed->parts[kLogParts]->ns, 29.5e6 * 3 / 4, 2e3);
  EXPECT_FALSE(run_figures({summarise(work_log({.steps = 21}))})->undisturbed);
  EXPECT_TRUE(run_figures({summarise(work_log({.steps = 22}))})->undisturbed);
}

TEST(RunFigures, TheFastestStepsOfAGpusJobMayOnlyLaunchWork) {
  StepLog log = work_log({});
  EXPECT_TRUE(run_figures({summarise(log)})->undisturbed);
  log.memory.back().device_bytes = 1 << 30;
  EXPECT_FALSE(run_figures({summarise(log)})->undisturbed);
}

TEST(RunFigures, WhatIsDoneSeldomDisturbsNoStep) {
  const RunFigures run = figures_of({.noise = 0, .stall_ms = 50});
  EXPECT_NEAR(run.undisturbed->step.ns, 20e6, 1);
  EXPECT_FALSE(run.undisturbed->parts[static_cast<size_t>(LogPart::kCheckpoint)]);
}

// Every other step waits 10 ms for the loader, or takes 10 ms longer to compute.
TEST(RunFigures, StepsThatWaitForDataAreNotDisturbed) {
  const auto knows_undisturbed = [](LogPart part) {
    StepLog log = work_log({.noise = 0.01});
    for (size_t i = 0; i < log.steps.size(); i += 2) {
      LoggedStep& step = log.steps[i];
      step.length_ns = step.shortest_ns = step.longest_ns = step.length_ns + 10'000'000;
      int64_t& part_ns = step.part_ns[static_cast<size_t>(part)];
      part_ns = std::max<int64_t>(part_ns, 0) + 10'000'000;
    }
    for (LoggedStep& step : log.steps) {
      int64_t& wait_ns = step.part_ns[static_cast<size_t>(LogPart::kDataWait)];
      wait_ns = std::max<int64_t>(wait_ns, 0) + 100'000;
    }
    return run_figures({summarise(log)})->undisturbed.has_value();
  };
  EXPECT_TRUE(knows_undisturbed(LogPart::kForward));
  EXPECT_FALSE(knows_undisturbed(LogPart::kDataWait));
}

TEST(RunFigures, OfWhatOneRankSavesTheOthersWait) {
  StepLog first = work_log({.noise = 0, .stall_ms = 50}), second = work_log({.noise = 0}, 1);
  for (size_t i = 0; i < first.steps.size(); ++i) {
    second.steps[i].length_ns = first.steps[i].length_ns;
    second.steps[i].begin_ns = first.steps[i].begin_ns;
    second.steps[i].part_ns[static_cast<size_t>(LogPart::kCheckpoint)] = kUnseen;
  }
  const RunFigures run = *run_figures({summarise(first), summarise(second)});
  EXPECT_EQ(run.ranks, 2);
  EXPECT_NEAR(run.all_steps.step.ns, 25'050'505, 1);
  EXPECT_DOUBLE_EQ(*run.samples, 64);
}

// The second rank waits two steps later than the first one saves, so one step seems longer and the
// other shorter.
TEST(RunFigures, NoStepIsShortBecauseOthersWaitInALaterOne) {
  for (const int64_t steps : {200, 4000}) {
    StepLog first = work_log({.noise = 0, .steps = steps, .stall_ms = 50});
    StepLog second = work_log({.noise = 0, .steps = steps}, 1);
    for (size_t i = 0; i < first.steps.size(); ++i) {
      second.steps[i].part_ns[static_cast<size_t>(LogPart::kCheckpoint)] = kUnseen;
      if (i > 0) second.steps[i].begin_ns = second.steps[i - 1].end_ns();
      if (i % 10 == 1 && i > 10) second.steps[i].length_ns += 50'000'000;
    }
    const RunFigures run = *run_figures({summarise(first), summarise(second)});
    ASSERT_TRUE(run.undisturbed) << steps;
    EXPECT_NEAR(run.undisturbed->step.ns, 20e6, 1) << steps;
  }
}

TEST(RunFigures, RanksMayEvaluateAndSaveAtTheSameTime) {
  StepLog first = work_log({.noise = 0, .stall_ms = 50});
  StepLog second = work_log({.noise = 0, .stall_ms = 50, .stall_part = LogPart::kEvaluation}, 1);
  const RunFigures run = *run_figures({summarise(first), summarise(second)});
  EXPECT_NEAR(run.undisturbed->step.ns, 20e6, 1);
}

TEST(RunFigures, FewStepsAreNoRun) {
  EXPECT_FALSE(run_figures({summarise(work_log({.steps = 6}))}));
  EXPECT_TRUE(run_figures({summarise(work_log({.steps = 12}))}));
  EXPECT_FALSE(run_figures({summarise(StepLog())}));
  EXPECT_FALSE(run_figures(RankRuns()));
}

// Means of the logarithms: ln 1.05 apart; pooled variance 2 * ln(1.01)^2 / 2 on each side, 4
// degrees of freedom: t = 2.776.
TEST(Change, IsComputedByHand) {
  const std::vector<double> before = {100 / 1.01, 100, 101}, after = {105 / 1.01, 105, 106.05};
  const RunComparison runs = change_between(runs_of(before), runs_of(after, 100));
  EXPECT_FALSE(runs.is_paired);
  EXPECT_FALSE(runs.step().is_spread_assumed);
  const double s = std::log(1.01), half = 2.7764 * s * std::sqrt(2.0 / 3);
  EXPECT_NEAR(runs.step().spread, s, 1e-9);
  EXPECT_NEAR(runs.step().ratio.value, 1.05, 1e-9);
  EXPECT_NEAR(std::log(runs.step().ratio.low), std::log(1.05) - half, 1e-5);
  EXPECT_NEAR(std::log(runs.step().ratio.high), std::log(1.05) + half, 1e-5);
  EXPECT_NEAR(runs.step().before_ns, 100e6, 1);
}

// The load drifts by 40 %, but each pair differs by 5 %.
TEST(Change, RunsThatTookTurnsAreComparedInPairs) {
  const std::vector<double> load = {100, 110, 121, 133, 140};
  std::vector<double> slower;
  for (size_t i = 0; i < load.size(); ++i) slower.push_back(load[i] * (1.05 + (i % 2 ? 1e-3 : 0)));
  const RunComparison runs = change_between(runs_of(load, 0, 10), runs_of(slower, 5, 10));
  EXPECT_TRUE(runs.is_paired);
  EXPECT_GT(runs.step().ratio.low, 1.04);
  EXPECT_LT(runs.step().ratio.high, 1.06);
  const RunComparison apart = change_between(runs_of(load), runs_of(slower, 100));
  EXPECT_FALSE(apart.is_paired);
  EXPECT_FALSE(apart.is_clear());
  EXPECT_FALSE(change_between(runs_of({1, 1, 1}, 0, 10), runs_of({1, 1}, 5, 10)).is_paired);
  // Twice before, twice after, and only then one of each.
  EXPECT_FALSE(change_between({run_of(1, 0), run_of(1, 1), run_of(1, 20)},
                              {run_of(1, 10), run_of(1, 11), run_of(1, 25)})
                   .is_paired);
}

// Without a second run the spread is taken to be 3 %, as if three runs had shown it: t = 4.303.
TEST(Change, OneRunASideHasAWideInterval) {
  const RunComparison runs = change_between({run_of(100)}, {run_of(110, 5)});
  EXPECT_TRUE(runs.step().is_spread_assumed);
  EXPECT_NEAR(std::log(runs.step().ratio.high / runs.step().ratio.value),
              4.3027 * 0.03 * std::sqrt(2), 1e-4);
  const RunComparison noisy = change_between({run_of(100, 0, 0.04)}, {run_of(110, 5, 0.04)});
  EXPECT_NEAR(std::log(noisy.step().ratio.high / noisy.step().ratio.value),
              4.3027 * 0.05 * std::sqrt(2), 1e-4);
}

TEST(Change, FewRunsAreNotComparedInTwoWays) {
  std::vector<RunFigures> before, after;
  for (uint32_t seed = 1; seed <= 3; ++seed) {
    EXPECT_FALSE(seed > 1 && change_between(before, after).undisturbed) << seed;
    before.push_back(figures_of({.seed = seed}));
    after.push_back(figures_of({.seed = seed + 9}));
  }
  EXPECT_TRUE(change_between(before, after).undisturbed);
}

TEST(Change, OfEqualRunsIsNothing) {
  const auto runs = runs_of({100, 103, 99, 101});
  const RunComparison same = change_between(runs, runs);
  EXPECT_DOUBLE_EQ(same.step().ratio.value, 1);
  EXPECT_FALSE(same.is_clear());
  const GateVerdict gate = judge_change(same, {.slower = 0.05, .memory = std::nullopt});
  EXPECT_EQ(gate.outcome(), GateOutcome::kNoWorse);
}

TEST(Change, BackwardsIsItsInverse) {
  std::vector<RunFigures> before, after;
  for (uint32_t seed = 1; seed <= 3; ++seed) {
    before.push_back(figures_of({.seed = seed}));
    after.push_back(figures_of({.step_ms = 23, .samples = 40, .seed = 10 + seed}));
  }
  const RunComparison there = change_between(before, after), back = change_between(after, before);
  EXPECT_NEAR(there.step().ratio.value * back.step().ratio.value, 1, 1e-12);
  EXPECT_NEAR(there.step().ratio.low * back.step().ratio.high, 1, 1e-12);
  EXPECT_NEAR(there.host_memory->ratio.high * back.host_memory->ratio.low, 1, 1e-12);
}

TEST(Change, DoesNotDependOnTheUnitOfTime) {
  std::vector<RunFigures> sides[2][2];
  for (const size_t unit : {0U, 1U}) {
    for (uint32_t seed = 1; seed <= 3; ++seed) {
      const double scale = unit == 0 ? 1 : 1000;
      sides[unit][0].push_back(figures_of({.scale = scale, .seed = seed}));
      sides[unit][1].push_back(figures_of({.step_ms = 22, .scale = scale, .seed = seed + 7}));
    }
  }
  const RunComparison one = change_between(sides[0][0], sides[0][1]);
  const RunComparison other = change_between(sides[1][0], sides[1][1]);
  EXPECT_NEAR(one.step().ratio.value, other.step().ratio.value, 1e-6);
  EXPECT_NEAR(one.step().ratio.low, other.step().ratio.low, 1e-6);
  EXPECT_NEAR(other.step().after_ns / one.step().after_ns, 1000, 1e-2);
}

TEST(Change, IsForEqualWork) {
  // Twice the samples in twice the time are as fast.
  const RunComparison runs =
      change_between({figures_of({.samples = 32})}, {figures_of({.step_ms = 40, .samples = 64})});
  EXPECT_NEAR(runs.step().ratio.value, 1, 1e-6);
  EXPECT_DOUBLE_EQ(*runs.basis_samples, 32);
  RunFigures unknown = figures_of({.step_ms = 40});
  unknown.samples.reset();
  EXPECT_NEAR(change_between({figures_of({})}, {unknown}).step().ratio.value, 2, 1e-6);
}

// A job of two ranks. Only these logs of it are there.
RunFigures with_logs_of(const std::vector<int>& numbers, double step_ms = 20) {
  RankRuns ranks;
  for (const int rank : numbers) {
    StepLog log = work_log({.step_ms = step_ms}, rank);
    log.path = "logs/rank" + std::to_string(rank);
    log.world_size = 2;
    ranks.push_back(summarise(log));
  }
  return *run_figures(std::move(ranks));
}

// Half the samples in the same time would pass for half the speed.
TEST(Change, IsNotSaidOfRunsWithLogsOfOtherRanks) {
  const RunFigures whole = with_logs_of({0, 1}), first = with_logs_of({0}),
                   second = with_logs_of({1});
  EXPECT_FALSE(whole.lacks_ranks());
  EXPECT_TRUE(first.lacks_ranks());
  EXPECT_EQ(why_not_comparable({first}, {whole}),
            "logs/rank0: cannot be compared with logs/rank0: of this run there are the logs of "
            "rank 0 of 2, of that one those of ranks 0, 1 of 2. Add the logs that are missing, or "
            "name one log of the same rank on each side");
  EXPECT_TRUE(why_not_comparable({whole}, {first}));
  EXPECT_TRUE(why_not_comparable({first}, {second}));
  EXPECT_TRUE(why_not_comparable({first, second}, {first}));
  EXPECT_TRUE(why_not_comparable({first}, {figures_of({})})) << "a job of one rank";
  EXPECT_FALSE(why_not_comparable({whole}, {figures_of({}), whole})) << "they know all samples";
  EXPECT_FALSE(why_not_comparable({first, first}, {with_logs_of({0}, 40)}));
}

RunComparison fives_of(Work before, Work after) {
  std::vector<RunFigures> sides[2];
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    before.seed = seed;
    after.seed = seed + 9;
    sides[0].push_back(figures_of(before));
    sides[1].push_back(figures_of(after));
  }
  return change_between(sides[0], sides[1]);
}

// Beyond 256 steps a run is known by means of two: the fastest of these are not so fast.
TEST(Change, UndisturbedStepsAreComparedWhereTheyAreOfAsMuchWork) {
  EXPECT_TRUE(fives_of({.steps = 240}, {.steps = 250}).undisturbed);
  EXPECT_FALSE(fives_of({.steps = 250}, {.steps = 260}).undisturbed);
  EXPECT_TRUE(fives_of({.samples = 32}, {.samples = 34}).undisturbed);
  EXPECT_FALSE(fives_of({.samples = 16}, {.samples = 64}).undisturbed);
}

GateVerdict judged_at_5_percent(const RunComparison& runs) {
  return judge_change(runs, {.slower = 0.05, .memory = std::nullopt});
}

TEST(Change, OneCheckpointMoreIsNoneOfTheProgramWhereTheyComeRegularly) {
  const RunComparison runs = fives_of({.noise = 0.003, .steps = 99, .stall_ms = 100},
                                      {.noise = 0.003, .steps = 100, .stall_ms = 100});
  EXPECT_NEAR(runs.all_steps.ratio.value, 1, 0.003);
  EXPECT_NEAR(runs.all_steps.before_ns, 30e6, 1e5) << "100 ms in each tenth step of 20 ms";
  EXPECT_EQ(runs.all_steps.pause_share, 0);
}

TEST(Change, OneCheckpointMoreMayBeChanceWhereThereAreFew) {
  const Work shorter = {.noise = 0.003, .steps = 29, .stall_ms = 100},
             longer = {.noise = 0.003, .steps = 30, .stall_ms = 100};
  const RunComparison runs = fives_of(shorter, longer);
  // Two in the 27 steps after the warm-up, or three in 28: one makes 3.70 of 27.4 ms.
  EXPECT_NEAR(runs.all_steps.pause_share, 3.70 / 27.4, 1e-3);
  EXPECT_FALSE(runs.is_clear());
  EXPECT_EQ(judged_at_5_percent(runs).time, GateOutcome::kCannotTell);
  EXPECT_FALSE(judged_at_5_percent(runs).more_runs) << "more runs would have as many";
  const RunComparison equal = fives_of(longer, longer);
  EXPECT_EQ(equal.all_steps.pause_share, 0);
  EXPECT_LT(equal.all_steps.width(), 1.02);
}

// A stall each 50th step is in 4 of the 20 groups of the short runs, and in all of the long ones.
TEST(Change, StallsCountAlikeInShortRunsAndInLongOnes) {
  Work work = {
      .noise = 0.003, .stall_ms = 200, .stall_part = LogPart::kDataWait, .stall_every = 50};
  Work longer = work;
  longer.steps = 2000;
  const RunComparison runs = fives_of(work, longer);
  EXPECT_TRUE(runs.counts_all_groups);
  EXPECT_NEAR(runs.step().ratio.value, 1, 0.005);
  EXPECT_FALSE(fives_of(work, work).counts_all_groups);
}

TEST(Change, NamesThePartThatGrew) {
  std::vector<RunFigures> before, after;
  for (uint32_t seed = 1; seed <= 4; ++seed) {
    before.push_back(figures_of({.noise = 0.01, .stall_part = LogPart::kDataWait, .seed = seed}));
    after.push_back(figures_of(
        {.noise = 0.01, .stall_ms = 20, .stall_part = LogPart::kDataWait, .seed = seed + 9}));
  }
  const RunComparison runs = change_between(before, after);
  ASSERT_FALSE(runs.step().parts.empty());
  EXPECT_EQ(runs.step().parts.front().part, LogPart::kDataWait);
  EXPECT_TRUE(runs.step().parts.front().is_clear());
  EXPECT_NEAR(runs.step().parts.front().delta_ns.value, 2e6, 1e5);
}

TEST(Change, NamesTheWaitForOtherRanksWhereTheJobWaitedForNoneBefore) {
  const auto runs_of_two_ranks = [](Work work) {
    std::vector<RunFigures> runs;
    for (work.seed = 1; work.seed <= 4; ++work.seed) {
      StepLog log = work_log(work);
      log.world_size = 2;
      runs.push_back(*run_figures({summarise(log)}));
    }
    return runs;
  };
  const Work waits = {.stall_ms = 20, .stall_part = LogPart::kCommunicationWait};
  const RunComparison runs = change_between(runs_of_two_ranks({}), runs_of_two_ranks(waits));
  ASSERT_FALSE(runs.all_steps.parts.empty());
  EXPECT_EQ(runs.all_steps.parts[0].part, LogPart::kCommunicationWait);
  EXPECT_NEAR(runs.all_steps.parts[0].delta_ns.value, 2e6, 1e5);
}

TEST(Change, NamesAnEvaluationThatThereWasNotBefore) {
  std::vector<RunFigures> before, after;
  for (uint32_t seed = 1; seed <= 4; ++seed) {
    before.push_back(figures_of({.noise = 0.01, .seed = seed}));
    after.push_back(figures_of(
        {.noise = 0.01, .stall_ms = 20, .stall_part = LogPart::kEvaluation, .seed = seed}));
  }
  const StepChange added = change_between(before, after).all_steps;
  ASSERT_FALSE(added.parts.empty());
  EXPECT_EQ(added.parts[0].part, LogPart::kEvaluation);
  EXPECT_NEAR(added.parts[0].delta_ns.value, 2e6, 1e5);
  const StepChange removed = change_between(after, before).all_steps;
  EXPECT_EQ(removed.parts[0].part, LogPart::kEvaluation);
  EXPECT_NEAR(removed.parts[0].delta_ns.value, -2e6, 1e5);
}

TEST(Change, WhatOneSideSeesAsAPartIsOutsideOfThePartsThatBothSee) {
  constexpr auto kWait = static_cast<size_t>(LogPart::kDataWait);
  constexpr auto kForward = static_cast<size_t>(LogPart::kForward);
  std::vector<RunFigures> sides[2] = {runs_of({60, 60.1, 60.2}, 0, 10),
                                      runs_of({66, 66.1, 66.2}, 5, 10)};
  for (const size_t side : {0U, 1U}) {
    for (RunFigures& run : sides[side]) {
      auto& parts = run.all_steps.parts;
      parts[kForward] = StepTime{side == 0 ? 40e6 : 46e6};
      if (side == 0) parts[kWait] = StepTime{12e6};
      parts[kLogParts] =
          StepTime{run.all_steps.step.ns - parts[kForward]->ns - (side == 0 ? 12e6 : 0)};
    }
  }
  const StepChange change = change_between(sides[0], sides[1]).all_steps;
  ASSERT_EQ(change.parts.size(), 2);
  EXPECT_EQ(change.parts[0].part, LogPart::kForward);
  EXPECT_NEAR(change.parts[0].delta_ns.value, 6e6, 1);
  EXPECT_EQ(change.parts[1].part, std::nullopt);
  EXPECT_NEAR(change.parts[1].delta_ns.value, 0, 1e3);
  for (auto& side : sides) {
    for (RunFigures& run : side) run.all_steps.parts[kForward].reset();
  }
  EXPECT_TRUE(change_between(sides[0], sides[1]).all_steps.parts.empty()) << "nothing but the rest";
}

TEST(Change, OfOneRunASideTheLargestPartIsNamedFirst) {
  std::vector<RunFigures> sides[2] = {runs_of({62.5}), runs_of({77.5}, 100)};
  for (const size_t side : {0U, 1U}) {
    auto& parts = sides[side][0].all_steps.parts;
    parts[static_cast<size_t>(LogPart::kForward)] = StepTime{side == 0 ? 60e6 : 74e6};
    parts[static_cast<size_t>(LogPart::kDataWait)] = StepTime{side == 0 ? 0.5e6 : 1.5e6};
  }
  const StepChange change = change_between(sides[0], sides[1]).all_steps;
  ASSERT_EQ(change.parts.size(), 2);
  EXPECT_EQ(change.parts[0].part, LogPart::kForward);
  EXPECT_TRUE(change.parts[1].is_clear());
}

TEST(Change, NamesThePartThatSurelyGrewBeforeTheOneThatMayHaveGrownMore) {
  std::vector<RunFigures> sides[2] = {runs_of({20, 20.1, 20.2, 20.1}, 0, 10),
                                      runs_of({23, 24, 23.5, 24.5}, 5, 10)};
  const std::vector<double> forward_ms[2] = {{10, 10.4, 10.2, 10}, {11, 13.4, 12, 13.2}};
  for (const size_t side : {0U, 1U}) {
    for (size_t i = 0; i < 4; ++i) {
      StepFigures& figures = sides[side][i].all_steps;
      figures.parts[static_cast<size_t>(LogPart::kForward)] = StepTime{forward_ms[side][i] * 1e6};
      const double wait_ms = static_cast<double>(side) + 0.01 * static_cast<double>(i);
      figures.parts[static_cast<size_t>(LogPart::kCommunicationWait)] = StepTime{wait_ms * 1e6};
    }
  }
  const StepChange change = change_between(sides[0], sides[1]).all_steps;
  ASSERT_EQ(change.parts.size(), 2);
  EXPECT_EQ(change.parts[0].part, LogPart::kCommunicationWait);
  EXPECT_GT(change.parts[1].delta_ns.value, 2 * change.parts[0].delta_ns.value);
  EXPECT_TRUE(change.parts[1].is_clear());
  EXPECT_EQ(change_between(sides[1], sides[0]).all_steps.parts[0].part,
            LogPart::kCommunicationWait);
}

// All steps as they are, and undisturbed steps that take `after` times as long as before.
RunComparison noisy_runs(const std::vector<double>& all_after, double after) {
  std::vector<RunFigures> sides[2] = {runs_of({100, 120, 110, 90}, 0, 10),
                                      runs_of(all_after, 5, 10)};
  for (const size_t side : {0U, 1U}) {
    for (size_t i = 0; i < 4; ++i) {
      const double ms = (side == 1 ? after : 1) * (80 + 0.1 * static_cast<double>(i * side));
      sides[side][i].undisturbed = StepFigures{{ms * 1e6, 0}, {}};
    }
  }
  return change_between(sides[0], sides[1]);
}

TEST(Change, IsThatOfTheUndisturbedStepsWhereTheOthersAreTooNoisy) {
  const RunComparison runs = noisy_runs({130, 100, 105, 120}, 1.05);
  EXPECT_TRUE(runs.is_by_undisturbed());
  EXPECT_NEAR(runs.step().ratio.value, 1.052, 1e-3);
  EXPECT_NEAR(runs.step().after_ns, 80e6 * 1.052, 1e5);
  // Each of two intervals may miss the truth in half of the cases in which one alone may.
  const double s = runs.all_steps.spread;
  EXPECT_NEAR(std::log(runs.all_steps.width()), 2 * student_t(3, 0.025) * s * std::sqrt(0.5), 1e-5);
}

TEST(Change, IsThatOfAllStepsWhereTheyAreClearAndTheOthersSayNothingOrTheContrary) {
  EXPECT_FALSE(noisy_runs({130, 100, 105, 120}, 1).is_by_undisturbed());  // neither is clear
  for (const double other : {1.0, 0.95}) {
    const RunComparison runs = noisy_runs({200, 241, 220, 180}, other);
    EXPECT_FALSE(runs.is_by_undisturbed());
    EXPECT_NEAR(runs.step().ratio.value, 2, 0.01);
  }
  // Both say the same: the narrower interval counts.
  EXPECT_TRUE(noisy_runs({150, 170, 170, 130}, 1.5).is_by_undisturbed());
  EXPECT_FALSE(noisy_runs({150, 180, 165, 135}, 1.5).is_by_undisturbed());
}

TEST(Gate, UndisturbedStepsShowThatAProgramIsSlowerButNotThatItIsAsFast) {
  const auto outcome = [](const RunComparison& runs, double limit) {
    return judge_change(runs, {.slower = limit, .memory = std::nullopt}).time;
  };
  const std::vector<double> noise = {130, 100, 105, 120};
  EXPECT_EQ(outcome(noisy_runs(noise, 1.05), 0.03), GateOutcome::kSurelyBeyond);
  EXPECT_EQ(outcome(noisy_runs(noise, 1.05), 0.06), GateOutcome::kCannotTell);
  EXPECT_EQ(outcome(noisy_runs(noise, 1.0), 0.05), GateOutcome::kCannotTell);
  // All steps together are surely faster.
  EXPECT_EQ(outcome(noisy_runs({50, 60, 55, 45}, 1.05), 0.03), GateOutcome::kNoWorse);
}

TEST(Gate, FewerRunsAreMissingWhereUndisturbedStepsWillTell) {
  const std::vector<double> noise = {130, 100, 105, 120};
  const auto more = [&](double after, double limit) {
    return judge_change(noisy_runs(noise, after), {.slower = limit, .memory = std::nullopt})
        .more_runs;
  };
  // The undisturbed steps are 5.2 % slower. With five runs t(4) * spread * sqrt(2 / 5) is 0.0020
  // for a tail of 0.05, but 0.0025 for half of it, which is more than the 0.0023 that are needed.
  EXPECT_EQ(more(1.05, 0.0495), 2);
  EXPECT_EQ(more(1.05, 0.06), std::nullopt);
}

TEST(Gate, IsBeyondOnlyIfTheWholeIntervalIs) {
  EXPECT_EQ(outcome_of({1.08, 1.06, 1.10}, 0.05), GateOutcome::kSurelyBeyond);
  EXPECT_EQ(outcome_of({1.08, 1.04, 1.12}, 0.05), GateOutcome::kCannotTell);
  EXPECT_EQ(outcome_of({1.02, 1.00, 1.04}, 0.05), GateOutcome::kNoWorse);
  EXPECT_EQ(outcome_of({0.80, 0.50, 1.30}, 0.05), GateOutcome::kCannotTell);
}

TEST(Gate, SaysHowManyRunsAreMissing) {
  auto before = runs_of({99, 100, 101}), after = runs_of({102, 104, 106}, 100);
  const RunComparison runs = change_between(before, after);
  const GateVerdict gate = judge_change(runs, {.slower = 0.02, .memory = std::nullopt});
  ASSERT_EQ(gate.time, GateOutcome::kCannotTell);
  ASSERT_TRUE(gate.more_runs);
  // With n runs a side of this spread: t(2n - 2) * spread * sqrt(2 / n) < ln(1.04 / 1.02).
  EXPECT_EQ(*gate.more_runs, 4);
  EXPECT_EQ(judge_change(runs, {.slower = 0.04, .memory = std::nullopt}).more_runs, std::nullopt);
  // The last look of `redline compare` has the smaller tail 0.03, and each of two ways half of it.
  const auto more_in_turns = [&] {
    return judge_change(change_between(before, after, 0.05, kLastTail),
                        {.slower = 0.02, .memory = std::nullopt})
        .more_runs;
  };
  EXPECT_EQ(more_in_turns(), 5);
  for (auto* side : {&before, &after}) {
    for (RunFigures& run : *side) run.undisturbed = run.all_steps;
  }
  EXPECT_EQ(more_in_turns(), 7);
}

TEST(Gate, SaysHowManyRunsAreMissingForTheMemory) {
  std::vector<RunFigures> before = runs_of({99, 100, 101}), after = runs_of({102, 104, 106}, 100);
  // In logarithms as far apart as the times, so that as many runs tell.
  for (auto* side : {&before, &after}) {
    for (RunFigures& run : *side) run.host_bytes = run.all_steps.step.ns;
  }
  const auto more = [&](std::optional<double> slower, std::optional<double> memory) {
    return judge_change(change_between(before, after), {.slower = slower, .memory = memory})
        .more_runs;
  };
  EXPECT_EQ(more(std::nullopt, 0.02), 4);
  EXPECT_EQ(more(0.05, 0.02), more(0.02, 0.05)) << "that of whichever needs more";
  EXPECT_GT(more(0.02, 0.05), 4);
  EXPECT_EQ(more(0.04, 0.02), std::nullopt) << "too many for one of them";
}

TEST(Gate, TheWorstOfTimeAndMemoryCounts) {
  std::vector<RunFigures> before = runs_of({100, 101, 99}), after = runs_of({100, 101, 99}, 50);
  EXPECT_EQ(judge_change(change_between(before, after), {.slower = 0.05, .memory = 0.05}).outcome(),
            GateOutcome::kCannotTell);  // nobody knows the memory
  for (RunFigures& run : before) run.host_bytes = 1e9;
  for (RunFigures& run : after) run.host_bytes = 1.2e9;
  const GateVerdict gate =
      judge_change(change_between(before, after), {.slower = 0.05, .memory = 0.05});
  EXPECT_EQ(gate.time, GateOutcome::kNoWorse);
  EXPECT_EQ(gate.memory, GateOutcome::kSurelyBeyond);
  EXPECT_EQ(gate.outcome(), GateOutcome::kSurelyBeyond);
}

TEST(Looks, ShareTheErrorOfFivePercent) {
  for (const int64_t planned : {1, 2, 3, 4, 5, 10, 30}) {
    double sum = 0;
    for (int64_t pairs = 1; pairs <= planned; ++pairs) {
      if (is_look(pairs, planned)) sum += tail_of_look(pairs, planned);
    }
    EXPECT_NEAR(sum, 0.05, 1e-12) << planned;
  }
}

}  // namespace
}  // namespace redline::trace
