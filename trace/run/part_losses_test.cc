// What parts and slow steps cost.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "trace/run/testing_job.h"

namespace redline::trace {
namespace {

using namespace redline::testing;

// In each step all ranks wait 40 ms longer for each other.
void slow_network(std::vector<StepLog>& logs) {
  for (StepLog& log : logs) {
    for (LoggedStep& step : log.steps) {
      step.begin_ns += step.step * ns(40);
      step.length_ns += ns(40);
      step.part_ns[static_cast<size_t>(LogPart::kCommunicationWait)] += ns(40);
    }
  }
}

TEST(RunVerdict, ALoaderThatIsSlowAllAlong) {
  Job job;
  job.change = [](Own& own, std::mt19937&) { own.data_wait = own.step % 4 == 0 ? 60 : 1; };
  const RunFinding finding = only(judge(job));
  EXPECT_EQ(finding.cause, RunCause::kPart);
  EXPECT_EQ(finding.part, LogPart::kDataWait);
  EXPECT_NEAR(finding.lost_share, 15.75 / 52, 0.02);
}

TEST(RunVerdict, WaitsNoLongerThanAWorkerTakesToHandABatchOver) {
  const auto wait_ns = [](double wait_ms, int64_t period) {
    Job job;
    job.change = [&](Own& own, std::mt19937&) {
      own.data_wait = own.step % period == 0 ? wait_ms : 0;
      own.forward = own.backward = own.optimizer = 0.6;
      own.other = 0.1;
    };
    const RunFinding finding = only(judge(job));
    EXPECT_EQ(finding.part, LogPart::kDataWait);
    return finding.short_wait_ns;
  };
  EXPECT_NEAR(wait_ns(0.4, 1), 400e3, 1);
  EXPECT_EQ(wait_ns(0.5, 1), 0);
  EXPECT_EQ(wait_ns(2, 5), 0) << "five steps of an optimizer on each batch";
}

TEST(RunVerdict, ALoaderThatStartsItsWorkersForEachEpoch) {
  Job job;
  job.change = [](Own& own, std::mt19937&) { own.data_wait = own.step % 20 == 0 ? 200 : 1; };
  std::vector<StepLog> logs = logs_of(job);
  EXPECT_FALSE(only(judge(logs)).at_epochs) << "a loader may fetch 20 batches at a time";
  for (const LoggedStep& step : logs[0].steps) {
    if (step.step % 20 != 0) continue;
    logs[0].marks.push_back(
        {.time_ns = step.end_ns() - 1000, .kind = LogMarkKind::kEpoch, .text = ""});
  }
  EXPECT_TRUE(only(judge(logs)).at_epochs);
  for (LoggedStep& step : logs[0].steps) {
    step.part_ns[static_cast<size_t>(LogPart::kDataWait)] += 15'000'000;
    step.part_ns[static_cast<size_t>(LogPart::kBackward)] -= 15'000'000;
  }
  EXPECT_FALSE(only(judge(logs)).at_epochs) << "most of it is between";
}

TEST(RunVerdict, AStallEachHundredSteps) {
  Job job{.change = [](Own& own, std::mt19937&) {
    if (own.step % 100 == 42) own.other += 500;
  }};
  const RunFinding finding = only(judge(job));
  EXPECT_EQ(finding.cause, RunCause::kSlowSteps);
  EXPECT_FALSE(finding.part);
  EXPECT_NEAR(static_cast<double>(finding.count), 40, 1);  // one of them may be in the warm-up
  EXPECT_EQ(finding.period, 100);
  EXPECT_NEAR(finding.typical_ns, 500e6, 5e6);
  EXPECT_FALSE(finding.longer_ns);
}

// Where a queue is full after two steps, the host waits for those two at the next .item().
TEST(RunVerdict, StepsThatCatchUpAfterAWaitLoseNothing) {
  for (const bool catches_up : {true, false}) {
    const RunVerdict verdict = judge(Job{.change = [catches_up](Own& own, std::mt19937&) {
      if (own.step % 20 == 10) own.other += 30;
      if (catches_up && (own.step % 20 == 11 || own.step % 20 == 12)) own.backward -= 15;
    }});
    EXPECT_EQ(verdict.findings.empty(), catches_up);
    EXPECT_FALSE(verdict.slow.empty());
  }
}

TEST(RunVerdict, WhatTheNextStepsDoNotCatchUpIsLostAlsoOnAGpu) {
  std::vector<StepLog> logs = logs_of({.change = [](Own& own, std::mt19937&) {
    if (own.step % 20 == 10) own.other += 80;
    if (own.step % 20 == 11 || own.step % 20 == 12) own.backward -= 15;
  }});
  logs[0].memory.push_back({kFirstStepBegin, 1'000'000'000, 2'000'000'000});
  const RunFinding finding = only(judge(logs));
  EXPECT_EQ(finding.cause, RunCause::kSlowSteps);
  EXPECT_FALSE(finding.may_be_queued);
  EXPECT_NEAR(finding.typical_ns, 80e6, 1e6);
  EXPECT_NEAR(finding.lost_share, 50 / 790.0, 0.005);
}

/// The finding on a job that waits in some steps, as long as `wait_ms` says of the steps since.
RunFinding finding_on_waits(bool has_gpu, const std::vector<int64_t>& gaps, double wait_ms,
                            double wait_ms_of_a_step) {
  size_t next = 0;
  int64_t since = 0;
  Job job{.noise = 0, .jitter = 0};
  job.change = [&](Own& own, std::mt19937&) {
    if (++since < gaps[next % gaps.size()]) return;
    own.other += wait_ms + wait_ms_of_a_step * static_cast<double>(since);
    ++next;
    since = 0;
  };
  std::vector<StepLog> logs = logs_of(job);
  logs[0].memory.push_back({kFirstStepBegin, 1'000'000'000, has_gpu ? 2'000'000'000 : kUnseen});
  return only(judge(logs));
}

TEST(RunVerdict, WhatAHostWaitsForItsGpuMayBeNoLoss) {
  const auto is_lost = [](const RunFinding& finding) {
    EXPECT_EQ(finding.cause, RunCause::kSlowSteps);
    EXPECT_NE(finding.may_be_queued, finding.lost_share > 0);
    return finding.lost_share > 0;
  };
  EXPECT_TRUE(is_lost(finding_on_waits(false, {50}, 1000, 0)));
  EXPECT_FALSE(is_lost(finding_on_waits(true, {50}, 1000, 0))) << "nobody can tell";
  EXPECT_FALSE(is_lost(finding_on_waits(true, {50, 50, 20}, 0, 20)));
  EXPECT_TRUE(is_lost(finding_on_waits(true, {50, 50, 20}, 1000, 0)))
      << "it takes as long after fewer steps";
}

TEST(RunVerdict, AStallThatNoQueueOfAGpuExplainsCostsItsTime) {
  for (const bool is_replayed : {false, true}) {
    std::vector<StepLog> logs = logs_of({.change = [is_replayed](Own& own, std::mt19937&) {
      if (own.step == 1500 || own.step == 3700) own.other += 60'000;
      if (is_replayed) own.other += std::exchange(own.backward, 0);
    }});
    logs[0].memory.push_back({kFirstStepBegin, 1'000'000'000, 2'000'000'000});
    const RunFinding finding = only(judge(logs));
    EXPECT_EQ(finding.cause, RunCause::kSlowSteps);
    EXPECT_EQ(finding.may_be_queued, is_replayed) << "a CUDA graph is one launch";
    EXPECT_NEAR(finding.lost_share, is_replayed ? 0 : 120 / 268.0, 0.02);
  }
}

TEST(RunVerdict, AStalledLoaderCostsItsTimeAlsoOnAGpu) {
  std::vector<StepLog> logs = logs_of({.change = [](Own& own, std::mt19937&) {
    if (own.step % 100 == 42) own.data_wait += 500;
  }});
  logs[0].memory.push_back({kFirstStepBegin, 1'000'000'000, 2'000'000'000});
  const RunFinding finding = only(judge(logs));
  EXPECT_EQ(finding.part, LogPart::kDataWait);
  EXPECT_GT(finding.lost_share, 0.1);
}

TEST(RunVerdict, AStallInSeveralPartsTellsWhatEachTookLonger) {
  const RunVerdict verdict = judge(Job{.change = [](Own& own, std::mt19937&) {
    if (own.step % 100 != 42) return;
    for (double* part : {&own.forward, &own.backward, &own.optimizer}) *part += 60;
  }});
  const RunFinding finding = only(verdict);
  EXPECT_EQ(finding.cause, RunCause::kSlowSteps);
  EXPECT_FALSE(finding.part);
  EXPECT_NEAR(finding.typical_ns, 180e6, 2e6);
  ASSERT_TRUE(finding.longer_ns);
  for (const LogPart part : {LogPart::kForward, LogPart::kBackward, LogPart::kOptimizer}) {
    EXPECT_NEAR((*finding.longer_ns)[static_cast<size_t>(part)], 60e6, 1e6);
  }
  ASSERT_FALSE(verdict.slow.empty());
  EXPECT_TRUE(verdict.slow.front().is_in_several_parts());
}

TEST(RunVerdict, AStalledLoaderIsNamedWhereNoRankSeesItsWait) {
  Job job{.ranks = 3, .sees_waits = false};
  job.change = [](Own& own, std::mt19937&) {
    if (own.rank == 1 && own.step % 100 == 42) own.data_wait += 500;
  };
  std::vector<StepLog> logs = logs_of(job);
  // The others wait in what is no part, as in .item(), and as long but for a microsecond.
  for (StepLog& log : logs) {
    if (log.rank == 1) continue;
    for (LoggedStep& step : log.steps) {
      if (step.step % 100 != 42) continue;
      step.part_ns[static_cast<size_t>(LogPart::kBackward)] -= 500'000'000;
      step.length_ns += 1000;
    }
  }
  const RunFinding finding = only(judge(logs));
  EXPECT_EQ(finding.part, LogPart::kDataWait);
  EXPECT_EQ(finding.ranks, std::vector<int>{1});
  EXPECT_EQ(finding.period, 100);
}

TEST(RunVerdict, AnEvaluationOfOneRankIsNoTroubleOfTheNetwork) {
  Job job{.ranks = 4};
  job.change = [](Own& own, std::mt19937&) {
    if (own.rank == 0 && own.step % 100 == 99) own.evaluation = 2500;
  };
  const RunFinding finding = only(judge(job));
  EXPECT_EQ(finding.part, LogPart::kEvaluation);
  EXPECT_NEAR(finding.share, 0.4, 0.02);
  EXPECT_NEAR(finding.typical_ns, 2.5e9, 1e7);
}

// As where ranks average their parameters every few steps only.
TEST(RunVerdict, RanksThatMeetAnEvaluationStepsLaterWaitForIt) {
  constexpr int64_t kLong = 10'000'000'000;
  std::vector<StepLog> logs = logs_of({.ranks = 2, .steps = 1600});
  for (StepLog& log : logs) {
    const auto part = log.rank == 0 ? LogPart::kEvaluation : LogPart::kCommunicationWait;
    for (LoggedStep& step : log.steps) {
      if (step.step == 0 || step.step % 16 != (log.rank == 0 ? 0 : 8)) continue;
      step.part_ns[static_cast<size_t>(part)] += kLong;
      step.length_ns += kLong;
    }
  }
  const RunFinding finding = only(judge(logs));
  EXPECT_EQ(finding.part, LogPart::kEvaluation);
  EXPECT_GT(finding.share, 0.9);
}

TEST(RunVerdict, LoadersThatStallInTurnsCostWhatAllOfThemTake) {
  // Every sixth step is too often for slow steps to be told from usual ones. In a long run a block
  // has many steps, so several ranks are late in it.
  for (const auto& [each, steps] : {std::pair<int64_t, int64_t>{12, 1000}, {6, 1000}, {6, 8000}}) {
    Job job{.ranks = 16, .steps = steps};
    job.change = [each = each](Own& own, std::mt19937&) {
      if (own.step % each == 4 && own.step / each * 7 % 16 == own.rank) own.data_wait += 300;
    };
    const RunVerdict verdict = judge(job);
    const RunFinding finding = only(verdict);
    EXPECT_EQ(verdict.slow.empty(), each == 6);
    EXPECT_EQ(finding.cause, RunCause::kPart);
    EXPECT_EQ(finding.part, LogPart::kDataWait);
    EXPECT_TRUE(finding.ranks.empty());
    EXPECT_TRUE(finding.takes_turns);
    const auto stalls = 300 / static_cast<double>(each);
    EXPECT_NEAR(finding.lost_share, stalls / (37 + stalls), 0.06) << each;
    EXPECT_EQ(finding.share, finding.lost_share);
  }
}

TEST(RunVerdict, RanksThatCollectGarbageInTurns) {
  Job job{.ranks = 16, .steps = 1000};
  job.change = [](Own& own, std::mt19937&) {
    if (own.step % 12 == 4 && own.step / 12 % 16 == own.rank) own.collection = 300;
  };
  const RunFinding finding = only(judge(job));
  EXPECT_EQ(finding.part, LogPart::kGarbageCollection);
  EXPECT_NEAR(finding.share, 25 / 62.0, 0.06);
  EXPECT_EQ(finding.share, finding.lost_share);
  EXPECT_EQ(finding.period, 12);
}

TEST(RunVerdict, ASlowNetworkIsNamedBesideLoadersThatStallInTurns) {
  for (const auto& [each, steps] : {std::pair<int64_t, int64_t>{12, 1000}, {6, 8000}}) {
    Job job{.ranks = 4, .steps = steps};
    job.change = [each = each](Own& own, std::mt19937&) {
      const int64_t late_ms = 10 * each;
      if (own.step % each == 4 && own.step / each % 4 == own.rank) {
        own.data_wait += static_cast<double>(late_ms);
      }
    };
    std::vector<StepLog> logs = logs_of(job);
    slow_network(logs);
    const std::vector<RunFinding> findings = judge(logs).findings;
    ASSERT_EQ(findings.size(), 2U);
    EXPECT_EQ(findings[0].part, LogPart::kCommunicationWait);
    EXPECT_NEAR(findings[0].share, 40 / 87.0, 0.03);
    EXPECT_EQ(findings[1].part, LogPart::kDataWait);
    EXPECT_NEAR(findings[1].share, 11 / 87.0, 0.02);
  }
}

TEST(RunVerdict, WaitsForRanksWhoseWorkVariesAreNotForTheNetwork) {
  for (const bool is_network : {false, true}) {
    Job job{.ranks = 4, .steps = 2000};
    job.change = [is_network](Own& own, std::mt19937& random) {
      own.forward += std::uniform_real_distribution<double>(0, is_network ? 4 : 160)(random);
    };
    std::vector<StepLog> logs = logs_of(job);
    if (is_network) slow_network(logs);
    const std::vector<RunFinding> findings = judge(logs).findings;
    const auto waits = std::ranges::find(findings, LogPart::kCommunicationWait, &RunFinding::part);
    ASSERT_NE(waits, findings.end());
    EXPECT_EQ(waits->takes_turns, !is_network);
  }
}

TEST(RunVerdict, LoadersThatVaryALittleDoNotHideASlowNetwork) {
  Job job{.ranks = 8, .steps = 8000};
  job.change = [](Own& own, std::mt19937& random) {
    own.data_wait = std::uniform_real_distribution<double>(0, 2)(random);
  };
  std::vector<StepLog> logs = logs_of(job);
  slow_network(logs);
  const RunFinding finding = only(judge(logs));
  EXPECT_EQ(finding.part, LogPart::kCommunicationWait);
  EXPECT_NEAR(finding.share, 40 / 79.0, 0.03);
}

TEST(RunVerdict, ASlowNetworkIsNamedBesideARankThatIsLate) {
  for (const int64_t late_from : {0, 800}) {
    Job job{.ranks = 4, .steps = 1000};
    job.change = [late_from](Own& own, std::mt19937&) {
      if (own.rank == 2 && own.step >= late_from) own.forward += 6;
    };
    std::vector<StepLog> logs = logs_of(job);
    const RunFinding alone = only(judge(logs));
    slow_network(logs);
    const std::vector<RunFinding> findings = judge(logs).findings;
    ASSERT_EQ(findings.size(), 2U);
    EXPECT_EQ(findings[0].part, LogPart::kCommunicationWait);
    EXPECT_TRUE(findings[0].all_wait);
    EXPECT_NEAR(findings[0].share, late_from == 0 ? 40 / 83.0 : 40 / 78.2, 0.02);
    EXPECT_EQ(findings[0].lost_share, findings[0].share);
    EXPECT_EQ(findings[1].cause, alone.cause);
    EXPECT_EQ(findings[1].ranks, std::vector<int>{2});
  }
}

TEST(RunVerdict, ACheckpointOfOneRankThatAllWaitFor) {
  Job job{.ranks = 4};
  job.change = [](Own& own, std::mt19937&) {
    if (own.rank == 0 && own.step % 200 == 199) own.checkpoint = 2000;
  };
  const RunFinding finding = only(judge(job));
  EXPECT_EQ(finding.cause, RunCause::kPart);
  EXPECT_EQ(finding.part, LogPart::kCheckpoint);
  EXPECT_FALSE(finding.takes_turns);
  EXPECT_EQ(finding.period, 200);
  EXPECT_NEAR(finding.lost_share, 0.21, 0.02);
}

TEST(RunVerdict, EvaluationTooOften) {
  Job job{.change = [](Own& own, std::mt19937&) {
    if (own.step % 20 == 19) own.evaluation = 400;
  }};
  const RunFinding finding = only(judge(job));
  EXPECT_EQ(finding.part, LogPart::kEvaluation);
  EXPECT_NEAR(finding.share, 20.0 / 57, 0.02);
  EXPECT_EQ(finding.period, 20);
}

// 9 % of the run is evaluation. What else made these steps long is not.
TEST(RunVerdict, APartCostsNoMoreThanItTook) {
  Job job{.change = [](Own& own, std::mt19937&) {
    if (own.step % 100 != 42) return;
    own.evaluation = 400;
    own.other += 300;
  }};
  EXPECT_TRUE(judge(job).findings.empty());
  job.change = [](Own& own, std::mt19937&) {
    if (own.step % 100 != 42) return;
    own.forward += 400;
    own.other += 300;
  };
  const RunFinding finding = only(judge(job));
  EXPECT_EQ(finding.part, LogPart::kForward);
  EXPECT_NEAR(finding.typical_ns, 400e6, 5e6);
}

TEST(RunVerdict, GarbageCollection) {
  Job job{.change = [](Own& own, std::mt19937&) {
    if (own.step % 30 == 7) own.collection = 120;
  }};
  EXPECT_EQ(only(judge(job)).part, LogPart::kGarbageCollection);
}

TEST(RunVerdict, OnePauseOrStallOfAShortRunSaysNothingOfAnHour) {
  for (const LogPart part : {LogPart::kCheckpoint, LogPart::kDataWait}) {
    for (const int64_t often : {60, 20}) {
      Job job{.steps = 100};
      job.change = [part, often](Own& own, std::mt19937&) {
        if (own.step % often != often - 1) return;
        (part == LogPart::kCheckpoint ? own.checkpoint : own.data_wait) += 1500;
      };
      for (const RunFinding& finding : judge(job).findings) {
        if (finding.cause == RunCause::kWarmUp) continue;
        EXPECT_EQ(finding.part, part);
        EXPECT_EQ(finding.is_single, often == 60);
        EXPECT_NEAR(finding.typical_ns, 1.5e9, 2e7);
      }
    }
  }
}

TEST(RunVerdict, TheCollectionOfWhatTheImportsMadeSaysNothingOfAnHour) {
  Job job{.steps = 100};
  job.change = [](Own& own, std::mt19937&) {
    if (own.step == 1) own.collection = 1300;
  };
  for (const RunFinding& finding : judge(job).findings) {
    EXPECT_NE(finding.part, LogPart::kGarbageCollection);
  }
}

TEST(RunVerdict, AStepInWhichRedlineWroteATraceTellsNothing) {
  Job job{.steps = 400};
  job.change = [](Own& own, std::mt19937&) {
    if (own.step == 200) own.other = 4000;
  };
  std::vector<StepLog> logs = logs_of(job);
  EXPECT_EQ(only(judge(logs)).cause, RunCause::kSlowSteps);
  const LoggedStep& step = logs[0].steps[200];
  logs[0].marks.push_back({.time_ns = step.begin_ns + step.length_ns / 2,
                           .kind = LogMarkKind::kWindow,
                           .text = "traces/a.pt.trace.json.gz"});
  EXPECT_TRUE(judge(logs).findings.empty());
  logs[0].marks[0].time_ns = step.begin_ns - 1;  // the step before
  EXPECT_EQ(only(judge(logs)).cause, RunCause::kSlowSteps);
}

TEST(RunVerdict, CompilingAgainAndAgain) {
  Job job{.change = [](Own& own, std::mt19937&) {
    if (own.step % 250 == 100) own.compile = 3000;
  }};
  std::vector<StepLog> logs = logs_of(job);
  for (int i = 0; i < 16; ++i) {
    logs[0].marks.push_back(
        {.time_ns = kFirstStepBegin, .kind = LogMarkKind::kCompile, .text = ""});
  }
  const RunFinding finding = only(judge(logs));
  EXPECT_EQ(finding.part, LogPart::kCompile);
  EXPECT_EQ(finding.count, 16);
}

TEST(RunVerdict, ALoaderOfOneRankThatIsSlowAllAlongIsToldOnce) {
  Job job{.ranks = 8};
  job.change = [](Own& own, std::mt19937&) {
    if (own.rank == 3) own.data_wait += 15;
  };
  const RunFinding finding = only(judge(job));
  EXPECT_EQ(finding.cause, RunCause::kUnevenRank);
  EXPECT_EQ(finding.part, LogPart::kDataWait);
  EXPECT_EQ(finding.ranks, std::vector<int>{3});
}

TEST(RunVerdict, ASlowLoaderIsNamedWhereNoRankSeesItsWait) {
  for (const int of_one : {1, 0}) {
    Job job{.ranks = 16, .sees_waits = false};
    job.change = [of_one](Own& own, std::mt19937&) {
      if (own.rank == 11 || of_one == 0) own.data_wait += 15;
    };
    const RunFinding finding = only(judge(job));
    EXPECT_EQ(finding.cause, RunCause::kPart);
    EXPECT_EQ(finding.part, LogPart::kDataWait);
    EXPECT_EQ(finding.ranks, of_one == 1 ? std::vector{11} : std::vector<int>());
    EXPECT_EQ(finding.host, of_one == 1 ? "node1" : "");
  }
}

TEST(RunVerdict, AnEvaluationThatComesTooOftenToBeASlowStepHasItsPeriod) {
  Job job{.change = [](Own& own, std::mt19937&) {
    if (own.step % 5 == 4) own.evaluation = 80;
  }};
  const RunFinding finding = only(judge(job));
  EXPECT_EQ(finding.part, LogPart::kEvaluation);
  EXPECT_EQ(finding.period, 5);
  EXPECT_EQ(finding.count, 800);
  EXPECT_NEAR(finding.typical_ns, 80e6, 1e6);
}

TEST(RunVerdict, OneCollectionInAShortRunSaysNothingOfAnHour) {
  for (const int64_t often : {200, 20}) {
    Job job{.steps = 250};
    job.change = [often](Own& own, std::mt19937&) {
      if (own.step % often == often - 1) own.collection = 600;
    };
    EXPECT_EQ(judge(job).findings.empty(), often == 200) << often;
  }
}

}  // namespace
}  // namespace redline::trace
