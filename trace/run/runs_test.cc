#include "trace/run/runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "trace/run/testing_job.h"
#include "trace/run/verdict.h"

namespace redline::trace {
namespace {

using namespace redline::testing;

TEST(RunVerdict, LogsOfEarlierRunsAreLeftOut) {
  std::vector<StepLog> logs = logs_of({.steps = 200});
  std::vector<StepLog> earlier = logs_of({.steps = 900});
  earlier[0].run = "before";
  earlier[0].begin_ns -= 1'000'000'000'000;
  logs.push_back(earlier[0]);
  const RunVerdict verdict = judge(logs);
  EXPECT_EQ(verdict.steps, 200);
  EXPECT_EQ(verdict.earlier_logs, 1);
}

TEST(RunVerdict, CommandsOnTwoNodesLogOneRun) {
  std::vector<StepLog> logs = logs_of({.ranks = 4, .steps = 200});
  for (StepLog& log : logs) log.run = log.rank < 2 ? "11.1" : "12.1";
  std::vector<StepLog> earlier = logs;
  for (StepLog& log : earlier) {
    log.run = log.rank < 2 ? "10.1" : "09.1";
    log.begin_ns -= 1'000'000'000'000;
  }
  logs.insert(logs.end(), earlier.begin(), earlier.end());
  const RunVerdict verdict = judge(logs);
  EXPECT_EQ(verdict.ranks.size(), 4U);
  EXPECT_EQ(verdict.earlier_logs, 4);
}

TEST(RunVerdict, IsOfTheRunThatIsAskedForOrOfTheLatest) {
  RankRuns ranks;
  for (StepLog log : logs_of({.ranks = 2, .steps = 200})) {
    log.run = "1.1";
    ranks.push_back(summarise(log));
    log.run = "2.1";
    ranks.push_back(summarise(begun_later(log, 1'000'000'000)));
  }
  const auto verdict_on = [&](const std::string& run) { return judge_run(ranks, 0, run); };
  ASSERT_TRUE(verdict_on("1.1") && verdict_on("2.1") && verdict_on(""));
  EXPECT_EQ(verdict_on("1.1")->run, "1.1");
  EXPECT_EQ(verdict_on("1.1")->ranks.size(), 2U);
  EXPECT_EQ(verdict_on("1.1")->earlier_logs, 2);
  EXPECT_FALSE(verdict_on("1.1")->is_latest);
  EXPECT_EQ(verdict_on("2.1")->run, "2.1");
  EXPECT_TRUE(verdict_on("2.1")->is_latest);
  EXPECT_EQ(verdict_on("")->run, "2.1");
  EXPECT_TRUE(verdict_on("")->is_latest);
  EXPECT_FALSE(verdict_on("3.1"));
}

TEST(RunVerdict, ARankThatMadeNoStepIsNotTakenFromAnEarlierRun) {
  const std::vector<StepLog> all = logs_of({.ranks = 2, .steps = 200});
  const int64_t end_ns = all[0].last_sign_ns;
  const auto verdict_of = [&](int64_t command_ns) {  // of the later command, which lacks rank 1
    std::vector<StepLog> logs = all;
    logs[0].run = std::to_string(command_ns) + ".1";
    logs[1].run = std::to_string(kFirstStepBegin) + ".1";
    return judge(logs);
  };
  const RunVerdict later = verdict_of(end_ns + 1);
  EXPECT_EQ(later.ranks.size(), 1U);
  EXPECT_EQ(later.world_size, 2);
  EXPECT_EQ(later.earlier_logs, 1);
  EXPECT_EQ(verdict_of(end_ns - 1).ranks.size(), 2U) << "the other command went on meanwhile";
}

// torchrun --nnodes 2:3: rank 2 died, and the others were started again as two.
TEST(RunVerdict, ARankThatTheJobWentOnWithoutIsLeftOut) {
  std::vector<StepLog> logs = logs_of({.ranks = 3, .steps = 200});
  for (StepLog& log : logs) log.ended = false;
  const int64_t restart_ns = logs[2].last_sign_ns + 10'000'000'000;
  for (const StepLog& log : logs_of({.ranks = 2, .steps = 300})) {
    logs.push_back(begun_later(log, restart_ns - log.begin_ns));
  }
  const RunVerdict verdict = judge(logs);
  EXPECT_EQ(verdict.ranks.size(), 2U);
  EXPECT_EQ(verdict.world_size, 2);
  EXPECT_EQ(verdict.earlier_logs, 3);
  EXPECT_TRUE(verdict.findings.empty());
  RankRuns ranks;
  for (const StepLog& log : logs) ranks.push_back(summarise(log));
  const auto runs = runs_of(std::move(ranks));
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0][0].other_logs, 2) << "its own and the one of rank 2";
  EXPECT_EQ(runs[0][1].other_logs, 1);
}

TEST(RunVerdict, ARankThatHasMadeNoStepSinceARestartIsLeftOut) {
  constexpr int64_t kLater = 100'000'000'000;
  std::vector<StepLog> logs = logs_of({.ranks = 2, .steps = 200});
  for (StepLog& log : logs) log.ended = false;
  logs.push_back(begun_later(logs[0], kLater));
  logs[2].ended = true;
  const RunVerdict verdict = judge(logs);
  ASSERT_EQ(verdict.ranks.size(), 1U);
  EXPECT_EQ(verdict.ranks[0].rank, 0);
  EXPECT_EQ(verdict.world_size, 2);
  EXPECT_EQ(verdict.earlier_logs, 2);
  EXPECT_EQ(std::ranges::count(verdict.findings, RunCause::kDied, &RunFinding::cause), 0);
  logs = {logs[1], logs[2]};
  EXPECT_EQ(judge(logs).ranks.size(), 2U) << "without an earlier log, the clocks may differ";
}

// sh -c "python train.py && python test.py"
TEST(RunVerdict, OfCommandsThatEndedWellTheLongestCounts) {
  constexpr int64_t kLater = 100'000'000'000;
  std::vector<StepLog> logs = logs_of({.ranks = 1, .steps = 200});
  logs.push_back(begun_later(logs_of({.ranks = 1, .steps = 40})[0], kLater));
  for (StepLog& log : logs) {
    log.ended = true;
    log.exit_status = 0;
  }
  const auto steps_of = [&] {
    const RunVerdict verdict = judge(logs);
    EXPECT_EQ(verdict.ranks.size(), 1U);
    EXPECT_EQ(verdict.earlier_logs, 1);
    return verdict.ranks[0].steps;
  };
  EXPECT_EQ(steps_of(), 200);
  std::swap(logs[0], logs[1]);
  EXPECT_EQ(steps_of(), 200);
  logs[1].exit_status = 1;  // of the training, which was tried again
  EXPECT_EQ(steps_of(), 40);
}

}  // namespace
}  // namespace redline::trace
