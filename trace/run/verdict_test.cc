#include "trace/run/verdict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "trace/run/recent.h"
#include "trace/run/testing_job.h"

namespace redline::trace {
namespace {

using namespace redline::testing;

TEST(RunVerdict, HealthyRunsHaveNoFinding) {
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    Job job;
    job.seed = seed;
    job.ranks = seed % 3 == 0 ? 4 : 1;
    job.steps = seed % 2 == 0 ? 300 : 5000;
    job.noise = seed % 5 == 0 ? 0.1 : 0.03;
    job.memory = seed % 4 == 0 ? 0.95 : 0.6;
    job.jitter = seed % 7 == 0 ? 0.08 : 0.01;
    // A sound run also has an evaluation now and then, a checkpoint, a pause.
    job.change = [seed](Own& own, std::mt19937&) {
      if (own.step % 500 == 499) own.evaluation = 400;
      if (own.rank == 0 && own.step % 1000 == 999) own.checkpoint = 300;
      if (seed % 2 == 0 && own.step % 97 == 50) own.data_wait += 25;
      if (own.step % 100 == 99) own.samples = 20;
    };
    const RunVerdict verdict = judge(job);
    for (const RunFinding& finding : verdict.findings) {
      if (finding.cause == RunCause::kWarmUp && job.steps == 300) continue;
      ADD_FAILURE() << "seed " << seed << ": cause " << static_cast<int>(finding.cause) << " part "
                    << (finding.part ? static_cast<int>(*finding.part) : -1) << " from step "
                    << finding.from_step << " change " << finding.change << " lost "
                    << finding.lost_share;
    }
  }
}

TEST(RunVerdict, TheRunBeginsWithItsFirstStep) {
  std::vector<StepLog> logs = logs_of({});
  logs[0].begin_ns = logs[0].steps[1].begin_ns;  // the file is opened once a step has ended
  EXPECT_EQ(judge(logs).begin_ns, logs[0].steps[0].begin_ns);
}

TEST(RunVerdict, ARunIsNoLongerThanItsRanksIfTheClocksOfTwoNodesDiffer) {
  constexpr int64_t kHour = 3'600'000'000'000;
  std::vector<StepLog> logs = logs_of({.ranks = 9, .steps = 300});
  const RunVerdict even = judge(logs);
  logs[8] = begun_later(logs[8], kHour);
  const RunVerdict later = judge(logs);
  EXPECT_EQ(later.begin_ns, even.begin_ns);
  EXPECT_EQ(later.end_ns, even.end_ns);
  logs[8].host = logs[0].host;
  EXPECT_EQ(judge(logs).end_ns, even.end_ns + kHour) << "one machine has one clock";
  logs[8].host = "node1";
  logs[8].steps.resize(200);
  EXPECT_GT(judge(logs).end_ns, even.end_ns + kHour / 2) << "nobody knows if they ran together";
}

TEST(RunVerdict, TheClockOfARunIsThatOfItsPoints) {
  std::vector<StepLog> logs = logs_of({.ranks = 9, .steps = 300});
  for (size_t rank = 0; rank < 8; ++rank) logs[rank].steps.resize(280);
  logs[8] = begun_later(logs[8], 3'600'000'000'000);
  const RunVerdict verdict = judge(logs);
  EXPECT_EQ(verdict.begin_ns, verdict.points.front().time_ns);
  EXPECT_LT(verdict.points.back().time_ns, verdict.end_ns);
}

TEST(RunVerdict, SamplesThatRanksShareCountOnce) {
  Job job;
  job.ranks = 4;
  std::vector<StepLog> logs = logs_of(job);
  const RunVerdict apart = judge(logs);
  for (size_t rank = 0; rank < 4; ++rank) logs[rank].batches.digest = rank < 2 ? "a" : "b";
  const RunVerdict shared = judge(logs);
  EXPECT_FALSE(apart.shares_samples);
  EXPECT_TRUE(shared.shares_samples);
  EXPECT_NEAR(*shared.samples_per_s, *apart.samples_per_s / 2, 1e-6);
  EXPECT_NEAR(*shared.points[2].samples_per_s, *apart.points[2].samples_per_s / 2, 1e-6);
  EXPECT_NEAR(*recent_run(logs)->samples_per_s, *shared.samples_per_s, 0.2 * *shared.samples_per_s);
  EXPECT_EQ(std::ranges::count(shared.findings, RunCause::kSameSamples, &RunFinding::cause), 0);
}

TEST(RunVerdict, RatesAndPartsAreThoseOfAllRanks) {
  Job job{.ranks = 2, .noise = 0, .jitter = 0};
  job.change = [](Own& own, std::mt19937&) {
    if (own.step == 0) own.forward = 10;
  };
  const RunVerdict verdict = judge(job);
  EXPECT_NEAR(verdict.steps_per_s, 1000 / 37.0, 0.01);
  EXPECT_NEAR(*verdict.samples_per_s, 64 * 1000 / 37.0, 0.1);
  EXPECT_NEAR(*verdict.part_share[static_cast<size_t>(LogPart::kForward)], 10 / 37.0, 1e-6);
  EXPECT_NEAR(verdict.other_share, 2 / 37.0, 1e-6);
  ASSERT_EQ(verdict.segments.size(), 1U);
  EXPECT_NEAR(verdict.segments[0].step_ns, 37e6, 1e3);
}

TEST(RunVerdict, ARankThatEndedEarlyGivesNoMoreSamples) {
  Job job{.ranks = 2, .steps = 300, .noise = 0, .jitter = 0};
  job.change = [](Own& own, std::mt19937&) {
    if (own.step == 0) own.forward = 10;
  };
  std::vector<StepLog> logs = logs_of(job);
  logs[1].steps.resize(50);
  const RunVerdict verdict = judge(logs);
  EXPECT_NEAR(*verdict.samples_per_s, 350 * 32 / (300 * 0.037), 0.1);
  EXPECT_EQ(verdict.ranks[1].steps, 50);
  logs[1].lost_steps = 250;
  EXPECT_NEAR(*judge(logs).samples_per_s, 600 * 32 / (300 * 0.037), 0.1);
}

TEST(RunVerdict, RatesAreThoseOfTheWholeRunAlsoIfRankZeroEndedEarly) {
  Job job{.ranks = 2, .steps = 900};
  job.change = [](Own& own, std::mt19937&) {
    if (own.step >= 300) own.forward += 37;
  };
  std::vector<StepLog> logs = logs_of(job);
  const RunVerdict whole = judge(logs);
  logs[0].steps.resize(899);
  EXPECT_EQ(judge(logs).points.back().step, whole.points.back().step);
  logs[0].steps.resize(300);
  const RunVerdict early = judge(logs);
  EXPECT_NEAR(early.steps_per_s, whole.steps_per_s, 1e-9);
  EXPECT_EQ(early.points.size(), whole.points.size());
  EXPECT_NEAR(early.low_steps_per_s, whole.low_steps_per_s, 1e-9);
}

TEST(RunVerdict, OldHoursAsMinutesTellTheSameSamplesAndEvaluations) {
  Job job{.change = [](Own& own, std::mt19937&) {
    if (own.step % 2 == 1) own.samples = kUnseen;  // as the second optimizer of a GAN
    if (own.step % 100 == 99) own.evaluation = 3000;
  }};
  std::vector<StepLog> logs = logs_of(job);
  const RunVerdict whole = judge(logs);
  thin_out(logs[0].steps, logs[0].steps[2000].begin_ns, 10'000'000'000);
  const RunVerdict thinned = judge(logs);
  EXPECT_NEAR(*thinned.samples_per_s, *whole.samples_per_s, 1e-6);
  EXPECT_NEAR(only(thinned).typical_ns, 3e9, 1e6);
  EXPECT_EQ(only(thinned).count, only(whole).count);
}

TEST(RunVerdict, StallsCountAgainstTheTimeInWhichTheyAreSeen) {
  Job job{.change = [](Own& own, std::mt19937&) {
    if (own.step % 100 == 42) own.other += 500;
  }};
  std::vector<StepLog> logs = logs_of(job);
  const RunVerdict whole = judge(logs);
  EXPECT_EQ(whole.thinned_before_step, 0);
  EXPECT_GT(whole.warm_up_steps, 0);
  const int64_t before_ns = logs[0].steps[2000].begin_ns;
  thin_out(logs[0].steps, before_ns, 10'000'000'000);
  logs[0].lost_marks = 3;
  const RunVerdict thinned = judge(logs);
  EXPECT_NEAR(only(thinned).lost_share, only(whole).lost_share, 0.01);
  EXPECT_EQ(only(thinned).count, 20);
  EXPECT_EQ(thinned.thinned_before_ns, before_ns);
  EXPECT_EQ(thinned.thinned_before_step, 2000);
  EXPECT_EQ(thinned.warm_up_steps, 0) << "a minute does not tell";
  EXPECT_EQ(thinned.lost_marks, 3);
}

TEST(RunVerdict, TheSlowestStepComesFirst) {
  const RunVerdict verdict = judge(logs_of({.change = [](Own& own, std::mt19937&) {
    if (own.step % 500 == 250) own.other += own.step == 3250 ? 400 : 100;
  }}));
  ASSERT_EQ(verdict.slow.size(), 8U);
  EXPECT_EQ(verdict.slow.front().step, 3250);
}

TEST(RunVerdict, TellsWhatCameAfterTheLastStep) {
  std::vector<StepLog> logs = logs_of({.ranks = 2, .steps = 200});
  const int64_t end_ns = logs[0].steps.back().end_ns();
  for (StepLog& log : logs) log.last_sign_ns = end_ns;
  logs[1].last_sign_ns += 30'000'000'000;
  EXPECT_NEAR(static_cast<double>(judge(logs).after_steps_ns), 30e9, 1e9);
  logs[1].ended = false;
  EXPECT_LT(judge(logs).after_steps_ns, 1'000'000'000) << "it may make more steps";
}

TEST(RunVerdict, AFewShortStepsSayNothingOfALongerRun) {
  const Job job{.steps = 5, .change = [](Own& own, std::mt19937&) { own.data_wait = 20; }};
  EXPECT_TRUE(judge(logs_of(job)).findings.empty());
  EXPECT_EQ(judge(logs_of(job)).low_steps_per_s, 0);
  EXPECT_TRUE(judge(logs_of(job)).has_too_few_steps);
  EXPECT_FALSE(judge(Job{.steps = 8}).has_too_few_steps);
}

TEST(RunVerdict, NothingIsSaidOfNoSteps) {
  EXPECT_FALSE(judge_run({}, 0));
  StepLog log;
  EXPECT_FALSE(judge_run({summarise(log)}, 0));
}

}  // namespace
}  // namespace redline::trace
