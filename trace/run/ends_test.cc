// Which rank ended the run.
#include "trace/run/ends.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

#include "trace/run/testing_job.h"

namespace redline::trace {
namespace {

using namespace redline::testing;

TEST(RunVerdict, ARankWhoseProcessIsNoMoreNeedsNoLongSilence) {
  std::vector<StepLog> logs = logs_of({.ranks = 2});
  for (StepLog& log : logs) log.ended = false;
  const int64_t last_ns = logs[0].last_sign_ns;
  const auto causes_after = [&](int64_t ns, bool is_gone, bool is_over = false) {
    RankRuns ranks = {summarise(logs[0]), summarise(logs[1])};
    ranks[1].is_gone = is_gone;
    ranks[1].is_over = is_over;
    const auto verdict = judge_run(ranks, last_ns + ns);
    return verdict->findings.empty() ? std::vector<int>{-1} : verdict->findings[0].ranks;
  };
  EXPECT_EQ(causes_after(3'000'000'000, true), std::vector<int>{1});
  EXPECT_EQ(causes_after(2'000'000'000, true), std::vector<int>{-1});
  EXPECT_EQ(causes_after(3'000'000'000, false), std::vector<int>{-1});
  EXPECT_EQ(causes_after(0, false, /*is_over=*/true), std::vector<int>{1});
}

TEST(RunVerdict, TheRankThatDiedIsTheOneThatFellSilentFirst) {
  std::vector<StepLog> logs = logs_of({.ranks = 4});
  for (StepLog& log : logs) log.ended = false;
  for (size_t rank = 0; rank < 4; ++rank) {
    if (rank != 2) logs[rank].last_sign_ns += 8'000'000'000;
  }
  logs[2].last_part = LogPart::kBackward;
  logs[2].last_part_since_ns = logs[2].last_sign_ns - 1'000'000'000;
  const RunFinding finding = only(judge(logs));
  EXPECT_EQ(finding.cause, RunCause::kDied);
  EXPECT_EQ(finding.ranks, std::vector<int>{2});
  EXPECT_EQ(finding.part, LogPart::kBackward);
  EXPECT_EQ(finding.from_step, 4000);
  logs[2].last_part_since_ns += 1;
  EXPECT_EQ(only(judge(logs)).part, std::nullopt) << "it may have left it since";
}

TEST(RunVerdict, RanksThatDiedTogetherMayHaveMadeOtherSteps) {
  std::vector<StepLog> logs = logs_of({.ranks = 2, .steps = 50});
  for (StepLog& log : logs) log.ended = false;
  logs[1].steps.resize(40);
  const RunVerdict verdict = judge(logs);
  const auto died = std::ranges::find(verdict.findings, RunCause::kDied, &RunFinding::cause);
  ASSERT_NE(died, verdict.findings.end());
  EXPECT_EQ(died->ranks, (std::vector{0, 1}));
  EXPECT_EQ(died->from_step, 40);
  EXPECT_EQ(died->to_step, 50);
}

constexpr const char* kLostPartner =
    "RuntimeError: [gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:9";

void add_exception(StepLog& log, int64_t after_ns, const std::string& text) {
  log.marks.push_back({.time_ns = log.steps.back().end_ns() + after_ns,
                       .kind = LogMarkKind::kException,
                       .text = text});
}

TEST(RunVerdict, ARankWhosePartnerDiedIsNotTheOneThatFailed) {
  for (const bool launcher_was_faster : {false, true}) {
    std::vector<StepLog> logs = logs_of({.ranks = 2});
    logs[1].ended = false;
    logs[1].last_sign_ns -= 400'000'000;
    add_exception(logs[0], 3'000'000, kLostPartner);
    logs[0].ended = !launcher_was_faster;
    if (logs[0].ended) logs[0].exit_status = 1;
    const RunFinding finding = only(judge(logs));
    EXPECT_EQ(finding.cause, RunCause::kDied);
    EXPECT_EQ(finding.ranks, std::vector<int>{1});
  }
}

TEST(RunVerdict, ARankThatWasToldToEndIsNotTheOneThatFailed) {
  std::vector<StepLog> logs = logs_of({.ranks = 2});
  logs[1].ended = false;
  logs[0].last_sign_ns += 900'000'000;
  logs[0].exit_status = 128 + SIGTERM;
  const RunFinding finding = only(judge(logs));
  EXPECT_EQ(finding.cause, RunCause::kDied);
  EXPECT_EQ(finding.ranks, std::vector<int>{1});
  logs[1].ended = true;
  logs[1].exit_status = 128 + SIGTERM;
  EXPECT_EQ(only(judge(logs)).ranks, (std::vector{0, 1})) << "somebody ended the job";
}

TEST(RunVerdict, TheNodeOfARankThatEndedBeforeItsTimeIsNamed) {
  for (const bool has_failed : {true, false}) {
    std::vector<StepLog> logs = logs_of({.ranks = 16, .steps = 200});
    logs[11].ended = has_failed;
    if (has_failed) logs[11].exit_status = 1;
    const RunFinding finding = only(judge(logs));
    EXPECT_EQ(finding.cause, has_failed ? RunCause::kFailed : RunCause::kDied);
    EXPECT_EQ(finding.ranks, std::vector<int>{11});
    EXPECT_EQ(finding.host, "node1");
    for (StepLog& log : logs) log.host = "node1";
    EXPECT_EQ(only(judge(logs)).host, "") << "all are there";
  }
}

TEST(RunVerdict, WhoStopsAJobHimselfIsNotToldThatItFailed) {
  std::vector<StepLog> logs = logs_of({.ranks = 2});
  EXPECT_FALSE(judge(logs).is_interrupted);
  logs[0].exit_status = 128 + SIGINT;
  logs[1].exit_status = 1;
  add_exception(logs[1], 3'000'000, kLostPartner);
  const RunVerdict verdict = judge(logs);
  EXPECT_TRUE(verdict.is_interrupted);
  EXPECT_TRUE(verdict.findings.empty()) << "the other lost its partner";
}

TEST(RunVerdict, NobodyKnowsWhetherARunThatDiedWentOnWithoutItsMemory) {
  std::vector<StepLog> logs = logs_of({.ranks = 2});
  logs[1].marks.push_back({.time_ns = logs[1].steps[9].end_ns(),
                           .kind = LogMarkKind::kOutOfMemory,
                           .text = "CUDA out of memory"});
  EXPECT_FALSE(only(judge(logs)).has_ended);
  for (StepLog& log : logs) log.ended = false;
  const RunVerdict verdict = judge(logs);
  ASSERT_EQ(verdict.findings.size(), 2U);
  EXPECT_EQ(verdict.findings[0].cause, RunCause::kDied);
  EXPECT_EQ(verdict.findings[1].cause, RunCause::kOutOfMemory);
  EXPECT_TRUE(verdict.findings[1].has_ended);
}

TEST(RunVerdict, ARankWhoseCommandEndedWellNeedNotHaveDied) {
  std::vector<StepLog> logs = logs_of({.ranks = 3});
  logs[1].marks.push_back({.time_ns = logs[1].steps[9].end_ns(),
                           .kind = LogMarkKind::kOutOfMemory,
                           .text = "CUDA out of memory"});
  RunVerdict verdict = judge(logs);
  EXPECT_TRUE(take_back_deaths(verdict).empty());
  EXPECT_EQ(verdict.findings.size(), 1U);
  logs[1].ended = logs[2].ended = false;
  verdict = judge(logs);
  EXPECT_EQ(take_back_deaths(verdict), (std::vector{1, 2}));
  EXPECT_FALSE(only(verdict).has_ended) << "of the memory: it went on without";
}

TEST(RunVerdict, TheExceptionThatCameFirstIsTheCause) {
  std::vector<StepLog> logs = logs_of({.ranks = 4});
  for (StepLog& log : logs) log.exit_status = 1;
  add_exception(logs[0], 500'000'000, kLostPartner);
  add_exception(logs[1], 510'000'000, kLostPartner);
  add_exception(logs[2], 0, "ValueError: label 10 of 10 classes");
  logs[3].ended = false;  // killed by the launcher
  logs[3].exit_status.reset();
  const RunFinding finding = only(judge(logs));
  EXPECT_EQ(finding.cause, RunCause::kFailed);
  EXPECT_EQ(finding.ranks, std::vector<int>{2});
  EXPECT_EQ(finding.text, "ValueError: label 10 of 10 classes");
}

TEST(RunVerdict, ARankThatDiedWellBeforeAFailureIsNamed) {
  std::vector<StepLog> logs = logs_of({.ranks = 2});
  logs[0].exit_status = 1;
  add_exception(logs[0], 60'000'000'000, "DistBackendError: timeout");
  logs[1].ended = false;
  const RunVerdict verdict = judge(logs);
  ASSERT_FALSE(verdict.findings.empty());
  EXPECT_EQ(verdict.findings[0].cause, RunCause::kDied);
  EXPECT_EQ(verdict.findings[0].ranks, std::vector<int>{1});
}

TEST(RunVerdict, ARunThatGoesOnHasNoDeadRank) {
  std::vector<StepLog> logs = logs_of({.ranks = 2});
  for (StepLog& log : logs) {
    log.ended = false;
    log.last_sign_ns += 59'000'000'000;
  }
  const RunVerdict verdict = judge(logs);
  EXPECT_TRUE(verdict.is_running);
  EXPECT_TRUE(verdict.findings.empty());
}

}  // namespace
}  // namespace redline::trace
