#include "trace/run/recent.h"

#include <gtest/gtest.h>

#include "tests/trace_text.h"

namespace redline::trace {
namespace {

using redline::testing::kMs;

struct RankWork {
  int rank = 0;
  int64_t steps = 1000;
  int64_t step_ms = 100;
  int64_t wait_ms = kUnseen;  ///< for data
  int64_t collective_ms = kUnseen;
  int64_t begin_ms = 0;
};

StepLog log_of(const RankWork& work) {
  StepLog log;
  log.rank = work.rank;
  log.world_size = 2;
  log.host = "node" + std::to_string(work.rank);
  log.begin_ns = work.begin_ms * kMs;
  const auto part = [](int64_t ms) { return ms == kUnseen ? kUnseen : ms * kMs; };
  for (int64_t i = 0; i < work.steps; ++i) {
    LoggedStep step;
    step.step = i;
    step.begin_ns = log.begin_ns + i * work.step_ms * kMs;
    step.length_ns = work.step_ms * kMs;
    step.samples = 8;
    step.part_ns[static_cast<size_t>(LogPart::kDataWait)] = part(work.wait_ms);
    step.part_ns[static_cast<size_t>(LogPart::kCommunicationWait)] = part(work.collective_ms);
    log.steps.push_back(step);
  }
  return log;
}

TEST(RecentRun, TellsOfTheLastMinuteAlone) {
  StepLog log = log_of({.steps = 2000, .wait_ms = 10});
  for (size_t i = 0; i < 1400; ++i) {  // before its last minute it was slower, and waited longer
    log.steps[i].samples = 2;
    log.steps[i].part_ns[static_cast<size_t>(LogPart::kDataWait)] = 90 * kMs;
  }
  const auto run = recent_run({log});
  ASSERT_TRUE(run);
  EXPECT_EQ(run->steps, 2000);
  EXPECT_NEAR(run->steps_per_s, 10, 1e-9);
  EXPECT_NEAR(run->samples_per_s.value_or(0), 80, 1e-9);
  EXPECT_EQ(run->tokens_per_s, std::nullopt);
  EXPECT_NEAR(run->data_wait_share.value_or(0), 0.1, 1e-9);
  EXPECT_EQ(run->ranks[0].last_step_ns, 200'000 * kMs);
}

TEST(RecentRun, NamesTheRankWithTheMostWorkOfItsOwn) {
  const auto even = recent_run(
      {log_of({.rank = 0, .collective_ms = 20}), log_of({.rank = 1, .collective_ms = 18})});
  EXPECT_EQ(even->slowest, std::nullopt);
  const auto uneven = recent_run(
      {log_of({.rank = 1, .collective_ms = 0}), log_of({.rank = 0, .collective_ms = 50})});
  ASSERT_TRUE(uneven->slowest);
  EXPECT_EQ(uneven->ranks[*uneven->slowest].rank, 1);
  EXPECT_NEAR(uneven->slowest_excess, 1, 1e-9);
  EXPECT_NEAR(uneven->samples_per_s.value_or(0), 160, 1e-9);
  // Nobody sees whether rank 0 waits for the other or works.
  EXPECT_EQ(recent_run({log_of({.rank = 0}), log_of({.rank = 1, .collective_ms = 50})})->slowest,
            std::nullopt);
}

TEST(RecentRun, TheMostSilentRankIsAmongThoseThatStillRun) {
  std::vector<StepLog> logs = {log_of({.rank = 0, .steps = 50}), log_of({.rank = 1}),
                               log_of({.rank = 2, .steps = 10})};
  logs[2].ended = true;
  const auto run = recent_run(logs);
  ASSERT_TRUE(run->most_silent);
  EXPECT_EQ(run->ranks[*run->most_silent].rank, 0);
  EXPECT_EQ(run->steps, 1000);
}

TEST(RecentRun, ARankThatEndedLongBeforeTheOthersHasNoRateAnyMore) {
  std::vector<StepLog> logs = {log_of({.rank = 0, .steps = 400, .wait_ms = 50}),
                               log_of({.rank = 1, .step_ms = 200, .wait_ms = 20})};
  for (StepLog& log : logs) log.batches.digest = "the same samples";
  EXPECT_NEAR(recent_run(logs)->samples_per_s.value_or(0), 60, 1e-9) << "it may only be silent";
  logs[0].ended = true;
  const auto run = recent_run(logs);
  EXPECT_NEAR(run->steps_per_s, 5, 1e-9);
  EXPECT_NEAR(run->samples_per_s.value_or(0), 40, 1e-9);
  EXPECT_NEAR(run->data_wait_share.value_or(0), 0.1, 1e-9);
  EXPECT_EQ(run->ranks.size(), 2U);
  logs[0] = log_of({.rank = 0, .steps = 1400, .wait_ms = 50});  // a minute before the other
  logs[0].ended = true;
  EXPECT_NEAR(recent_run(logs)->samples_per_s.value_or(0), 120, 1e-9);
}

TEST(RecentRun, StepsWithoutABatchOfTheirOwnAddNothing) {
  StepLog log = log_of({.wait_ms = 10});
  for (LoggedStep& step : log.steps) {
    if (step.step % 5 == 4) continue;
    step.samples = kUnseen;
    step.part_ns[static_cast<size_t>(LogPart::kDataWait)] = kUnseen;
  }
  const auto run = recent_run({log});
  EXPECT_NEAR(run->samples_per_s.value_or(0), 16, 1e-9);
  EXPECT_NEAR(run->data_wait_share.value_or(0), 0.02, 1e-9);
}

TEST(RecentRun, OfARankThatWasStartedAgainTheLastLogCounts) {
  const auto run = recent_run({log_of({.steps = 7, .begin_ms = 500'000}), log_of({.steps = 900})});
  EXPECT_EQ(run->ranks.size(), 1U);
  EXPECT_EQ(run->steps, 7);
}

TEST(RecentRun, ARankThatTheJobWentOnWithoutIsLeftOut) {
  std::vector<StepLog> logs = {log_of({.rank = 0}), log_of({.rank = 1}), log_of({.rank = 2})};
  for (StepLog& log : logs) {
    log.world_size = 3;
    log.last_sign_ns = log.steps.back().end_ns();
  }
  logs.push_back(log_of({.rank = 0, .begin_ms = 500'000}));
  logs.push_back(log_of({.rank = 1, .begin_ms = 500'000}));
  const auto run = recent_run(logs);
  EXPECT_EQ(run->ranks.size(), 2U);
  EXPECT_EQ(run->world_size, 2);
  logs[2].last_sign_ns = 600'000 * kMs;  // it still runs
  EXPECT_EQ(recent_run(logs)->ranks.size(), 3U);
}

TEST(RecentRun, AJobThatMakesNoStepsHasNoRate) {
  auto run = recent_run({log_of({.rank = 0, .steps = 10}), log_of({.rank = 1})});
  const int64_t last_ns = run->ranks[1].last_step_ns;
  run->stop_if_silent(last_ns + 60'000 * kMs);
  EXPECT_NEAR(run->steps_per_s, 10, 1e-9);
  run->stop_if_silent(last_ns + 60'001 * kMs);
  EXPECT_EQ(run->steps_per_s, 0);
  EXPECT_EQ(run->samples_per_s, 0);
  EXPECT_EQ(run->tokens_per_s, std::nullopt);
  auto slow = recent_run({log_of({.steps = 5, .step_ms = 50'000})});
  slow->stop_if_silent(slow->ranks[0].last_step_ns + 150'000 * kMs);
  EXPECT_NEAR(slow->steps_per_s, 0.02, 1e-9);
  slow->stop_if_silent(slow->ranks[0].last_step_ns + 150'001 * kMs);
  EXPECT_EQ(slow->steps_per_s, 0);
}

TEST(RecentRun, IsOverAMinuteAfterTheLastStepIfAllRanksEndedWell) {
  std::vector<StepLog> logs = {log_of({.rank = 0}), log_of({.rank = 1, .steps = 900})};
  const int64_t last_ns = logs[0].steps.back().end_ns();
  const auto is_over = [&](int64_t after_ms) {
    return recent_run(logs)->is_over(last_ns + after_ms * kMs);
  };
  logs[0].ended = logs[1].ended = true;
  logs[0].exit_status = 0;
  EXPECT_FALSE(is_over(3'600'000)) << "nobody knows how rank 1 ended";
  logs[1].exit_status = 1;
  EXPECT_FALSE(is_over(3'600'000)) << "torchrun may start them again";
  logs[1].exit_status = 0;
  EXPECT_FALSE(is_over(60'000));
  EXPECT_TRUE(is_over(60'001));
  logs.push_back(log_of({.rank = 1, .steps = 1, .begin_ms = 500'000}));
  EXPECT_FALSE(is_over(3'600'000)) << "rank 1 was started again";
}

TEST(RecentRun, NothingIsSaidOfNoSteps) {
  EXPECT_FALSE(recent_run({}));
  EXPECT_FALSE(recent_run({StepLog()}));
}

}  // namespace
}  // namespace redline::trace
