#include "trace/run/verdict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "trace/run/recent.h"
#include "trace/run/runs.h"
#include "trace/run/testing_job.h"

namespace redline::trace {
namespace {

using namespace redline::testing;

StepLog begun_later(StepLog log, int64_t later_ns) {
  for (LoggedStep& step : log.steps) step.begin_ns += later_ns;
  log.begin_ns += later_ns;
  log.last_sign_ns += later_ns;
  return log;
}

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

TEST(RunVerdict, DataParallelRanksThatReadTheSame) {
  Job job;
  job.ranks = 4;
  std::vector<StepLog> logs = logs_of(job);
  for (size_t rank = 0; rank < 4; ++rank) {
    logs[rank].batches = {.digest = rank == 1 ? "own" : "same", .is_data_parallel = true};
  }
  const RunVerdict verdict = judge(logs);
  const RunFinding finding = only(verdict);
  EXPECT_EQ(finding.cause, RunCause::kSameSamples);
  EXPECT_EQ(finding.ranks, (std::vector{0, 2, 3}));
  EXPECT_FALSE(verdict.shares_samples) << "a user's own count has each of them, too";
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

TEST(RunVerdict, ALoaderOfOneRankThatBecomesSlow) {
  Job job{.ranks = 16};
  job.change = [](Own& own, std::mt19937&) {
    if (own.rank == 11 && own.step >= 2500) own.data_wait += 5;
  };
  const RunFinding finding = only(judge(job));
  EXPECT_EQ(finding.cause, RunCause::kSlower);
  EXPECT_EQ(finding.part, LogPart::kDataWait);
  EXPECT_EQ(finding.ranks, std::vector<int>{11});
  EXPECT_EQ(finding.host, "node1");
  EXPECT_NEAR(static_cast<double>(finding.from_step), 2500, 64);
  EXPECT_NEAR(finding.change, 5 / 37.5, 0.03);
  EXPECT_FALSE(finding.to_step);
}

TEST(RunVerdict, ALateRankIsNamedAlsoWhereNoRanksWaitIsSeen) {
  Job job{.ranks = 4, .sees_waits = false};
  job.change = [](Own& own, std::mt19937&) {
    if (own.rank == 2 && own.step >= 1500) own.data_wait += 8;
  };
  const RunFinding finding = only(judge(job));
  EXPECT_EQ(finding.cause, RunCause::kSlower);
  EXPECT_EQ(finding.part, LogPart::kDataWait);
  EXPECT_EQ(finding.ranks, std::vector<int>{2});
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
  // Every sixth step is too often for slow steps to be told from usual ones.
  for (const int64_t each : {12, 6}) {
    Job job{.ranks = 16, .steps = 1000};
    job.change = [each](Own& own, std::mt19937&) {
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
  Job job{.ranks = 4, .steps = 1000};
  job.change = [](Own& own, std::mt19937&) {
    if (own.step % 12 == 4 && own.step / 12 % 4 == own.rank) own.data_wait += 120;
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

TEST(RunVerdict, ARankWithMoreWorkThanTheOthers) {
  Job job{.ranks = 8};
  job.change = [](Own& own, std::mt19937&) {
    if (own.rank == 5) own.forward *= 1.4;
  };
  const RunFinding finding = only(judge(job));
  EXPECT_EQ(finding.cause, RunCause::kUnevenRank);
  EXPECT_EQ(finding.ranks, std::vector<int>{5});
  EXPECT_EQ(finding.part, LogPart::kForward);
  EXPECT_NEAR(finding.lost_share, 4.0 / 41, 0.02);
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

TEST(RunVerdict, CompilingAgainIsNoPartOfTheWarmUp) {
  Job job{.steps = 300};
  job.change = [](Own& own, std::mt19937&) {
    if (own.step == 0) own.compile = 9000;
    if (own.step % 12 == 11) own.compile = 400;
  };
  const RunVerdict verdict = judge(job);
  ASSERT_EQ(verdict.findings.size(), 2U);
  const RunFinding& compiling = verdict.findings[0];
  EXPECT_EQ(compiling.part, LogPart::kCompile);
  const double length_s = 300 * 0.037 + 9 + 25 * 0.4;
  EXPECT_NEAR(compiling.lost_share, 25 * 0.4 / length_s, 0.02);
  EXPECT_EQ(verdict.findings[1].cause, RunCause::kWarmUp);
  EXPECT_NEAR(verdict.findings[1].typical_ns, 9.4e9, 0.1e9) << "with the 400 ms of any job";
}

TEST(RunVerdict, TwoSteadyLevelsAreNotUnsteady) {
  Job job{.change = [](Own& own, std::mt19937&) {
    if (own.step >= 2000) own.forward *= 9;
  }};
  EXPECT_EQ(only(judge(job)).cause, RunCause::kSlower);
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

TEST(RunVerdict, MemoryThatFills) {
  for (const bool fills : {true, false}) {
    std::vector<StepLog> logs = logs_of({});
    for (int64_t i = 0; i < 400; ++i) {
      const int64_t base = 2'000'000'000;
      // A cache that fills up is no leak.
      const int64_t more = fills ? i * 1'000'000 : std::min<int64_t>(i, 80) * 10'000'000;
      logs[0].memory.push_back(
          {kFirstStepBegin + i * 5'000'000'000, base + more + i % 3 * 100'000});
    }
    const RunVerdict verdict = judge(logs);
    if (!fills) {
      EXPECT_TRUE(verdict.findings.empty());
      continue;
    }
    const RunFinding finding = only(verdict);
    EXPECT_EQ(finding.cause, RunCause::kMemoryGrowth);
    EXPECT_FALSE(finding.on_device);
    EXPECT_NEAR(finding.bytes_per_hour, 720e6, 10e6);
  }
}

TEST(RunVerdict, MemoryThatFillsInHalfAMinute) {
  for (const bool fills : {true, false}) {
    std::vector<StepLog> logs = logs_of({.steps = 800});
    for (int64_t i = 0; i < 30; ++i) {
      const int64_t base = 400'000'000;
      const int64_t more = fills ? i * 20'000'000 : std::min<int64_t>(i, 8) * 60'000'000;
      logs[0].memory.push_back({kFirstStepBegin + i * 1'000'000'000, base + more + i % 3 * 90'000});
    }
    const RunVerdict verdict = judge(logs);
    if (fills) {
      EXPECT_EQ(only(verdict).cause, RunCause::kMemoryGrowth);
    } else {
      EXPECT_TRUE(verdict.findings.empty());
    }
  }
}

TEST(RunVerdict, BlocksThatAnAllocatorTakesInTheEndAreNoGrowth) {
  for (const int blocks : {1, 2, 3}) {
    std::vector<StepLog> logs = logs_of({.steps = 800});
    for (int64_t i = 0; i < 30; ++i) {
      const int64_t more = std::clamp<int64_t>((i - 20) / 2, 0, blocks) * 67'000'000;
      logs[0].memory.push_back(
          {kFirstStepBegin + i * 1'000'000'000, 400'000'000, 1'044'000'000 + more});
    }
    EXPECT_EQ(judge(logs).findings.empty(), blocks < 3) << blocks;
  }
}

TEST(RunVerdict, StepsAsLongAsTheirSequences) {
  Job job{.change = [](Own& own, std::mt19937& random) {
    own.tokens = std::uniform_int_distribution<int64_t>(1000, 6000)(random);
    const double factor = static_cast<double>(own.tokens) / 3500;
    own.forward *= factor;
    own.backward *= factor;
  }};
  const RunFinding finding = only(judge(job));
  EXPECT_EQ(finding.cause, RunCause::kVaryingLengths);
  EXPECT_GT(finding.share, 0.9);
}

TEST(RunVerdict, OtherWorkOnTheProcessorsForAWhile) {
  Job job{.change = [](Own& own, std::mt19937&) {
    if (own.step < 1200 || own.step >= 2000) return;
    own.forward *= 1.5;
    own.backward *= 1.5;
    own.optimizer *= 1.5;
  }};
  const RunFinding finding = only(judge(job));
  EXPECT_EQ(finding.cause, RunCause::kSlower);
  EXPECT_TRUE(finding.is_whole_step);
  EXPECT_FALSE(finding.part);
  EXPECT_NEAR(static_cast<double>(finding.from_step), 1200, 64);
  EXPECT_NEAR(static_cast<double>(finding.to_step.value_or(0)), 2000, 64);
  EXPECT_NEAR(finding.change, 17.0 / 37, 0.04);
}

TEST(RunVerdict, ALoaderThatBecomesFast) {
  Job job{.change = [](Own& own, std::mt19937&) {
    if (own.step < 1500) own.data_wait += 10;
  }};
  const RunFinding finding = only(judge(job));
  EXPECT_EQ(finding.cause, RunCause::kSlower);
  EXPECT_EQ(finding.part, LogPart::kDataWait);
  EXPECT_EQ(finding.from_step, 0);
  EXPECT_NEAR(static_cast<double>(finding.to_step.value_or(0)), 1500, 64);
  EXPECT_NEAR(finding.change, 10 / 37.0, 0.03);
  EXPECT_NEAR(finding.lost_share, 15 / 163.0, 0.01);
  job.change = [](Own& own, std::mt19937&) {
    if (own.step < 1000 || own.step >= 2000) own.data_wait += 10;
  };
  EXPECT_NEAR(static_cast<double>(only(judge(job)).from_step), 2000, 64) << "not for good";
}

TEST(RunVerdict, ASlowBeginTellsOfItsWarmUp) {
  Job job{.steps = 300, .change = [](Own& own, std::mt19937&) {
            if (own.step < 150) own.data_wait += 37;
          }};
  const RunFinding finding = only(judge(job));
  EXPECT_EQ(finding.cause, RunCause::kSlower);
  EXPECT_NEAR(static_cast<double>(finding.to_step.value_or(0)), 150, 4);
  EXPECT_NEAR(finding.lost_share, 150 * 37 / 17050.0, 0.02);
}

TEST(RunVerdict, ASlowBeginIsToldBesideALaterSlowDown) {
  const RunVerdict verdict = judge(Job{.change = [](Own& own, std::mt19937&) {
    if (own.step < 1000) own.data_wait += 40;
    if (own.step >= 3000) own.data_wait += 4;
  }});
  ASSERT_EQ(verdict.findings.size(), 2U);
  const RunFinding& begin = verdict.findings[0];
  EXPECT_TRUE(begin.is_slow_begin());
  EXPECT_EQ(begin.part, LogPart::kDataWait);
  EXPECT_NEAR(static_cast<double>(begin.to_step.value_or(0)), 1000, 64);
  EXPECT_NEAR(begin.lost_share, 36 / 192.0, 0.01) << "as fast as in the end, it would have taken";
  EXPECT_NEAR(static_cast<double>(verdict.findings[1].from_step), 3000, 64);
}

TEST(RunVerdict, ASlowBeginIsToldWhereStepsAreJoinedToMinutes) {
  std::vector<StepLog> logs = logs_of({.steps = 40'000, .change = [](Own& own, std::mt19937&) {
                                         if (own.step < 8000) own.data_wait += 40;
                                       }});
  thin_out(logs[0].steps, logs[0].steps[20'000].begin_ns, 8'400'000'000);
  const RunFinding finding = only(judge(logs));
  EXPECT_TRUE(finding.is_slow_begin());
  EXPECT_NEAR(static_cast<double>(finding.to_step.value_or(0)), 8000, 600);
  EXPECT_NEAR(finding.change, 40 / 37.0, 0.05);
  EXPECT_NEAR(finding.lost_share, 320 / 1800.0, 0.02);
}

TEST(RunVerdict, ASlowBeginIsToldHoweverLongItIs) {
  for (const int64_t until : {200, 280, 330}) {  // up to 300 of the steps may be a warm-up
    const RunFinding finding = only(judge(Job{.steps = 3000, .change = [=](Own& own, auto&) {
                                                if (own.step < until) own.forward += 37;
                                              }}));
    const auto slow = static_cast<double>(until);
    EXPECT_NEAR(finding.lost_share, slow * 37 / (3000 * 37 + slow * 37 + 400), 0.01);
    EXPECT_EQ(finding.cause, until < 300 ? RunCause::kWarmUp : RunCause::kSlower);
    if (until < 300) continue;
    EXPECT_TRUE(finding.is_slow_begin());
    EXPECT_NEAR(static_cast<double>(finding.to_step.value_or(0)), slow, 32);
    EXPECT_NEAR(finding.change, 1, 0.06);
  }
}

TEST(RunVerdict, StepsThatVaryWithoutAReason) {
  Job job{.change = [](Own& own, std::mt19937& random) {
    const double factor = std::uniform_real_distribution<double>(0.5, 2.5)(random);
    own.backward *= factor;
  }};
  const RunFinding finding = only(judge(job));
  EXPECT_EQ(finding.cause, RunCause::kUnsteady);
  EXPECT_EQ(finding.part, LogPart::kBackward);
  EXPECT_EQ(finding.lost_share, 0) << "nobody knows how long the steps need to take";
  EXPECT_LT(finding.low_ns, finding.high_ns);
}

TEST(RunVerdict, StepsOfMoreSamplesTakeLonger) {
  Job job{.change = [](Own& own, std::mt19937& random) {
    own.samples = std::uniform_int_distribution<int64_t>(4, 64)(random);
    own.backward *= static_cast<double>(own.samples) / 32;
    own.forward *= static_cast<double>(own.samples) / 32;
  }};
  EXPECT_TRUE(judge(job).findings.empty());
}

TEST(RunVerdict, ALongWarmUp) {
  Job job{.steps = 400};
  job.change = [](Own& own, std::mt19937&) {
    if (own.step < 5) own.forward += 2000;
  };
  const RunFinding finding = only(judge(job));
  EXPECT_EQ(finding.cause, RunCause::kWarmUp);
  EXPECT_GT(finding.lost_share, 0.3);
}

TEST(RunVerdict, OneOperatorThatBecameSlow) {
  Job job{.change = [](Own& own, std::mt19937&) {
    if (own.step >= 3000) own.optimizer += 4;
  }};
  const RunFinding finding = only(judge(job));
  EXPECT_EQ(finding.cause, RunCause::kSlower);
  EXPECT_EQ(finding.part, LogPart::kOptimizer);
}

TEST(RunVerdict, WhatNobodySawIsNotNamed) {
  Job job;
  job.change = [](Own& own, std::mt19937&) { own.data_wait = 30; };
  std::vector<StepLog> logs = logs_of(job);
  for (LoggedStep& step : logs[0].steps) step.part_ns.fill(kUnseen);
  const RunVerdict verdict = judge(logs);
  EXPECT_TRUE(verdict.findings.empty());
  for (const auto& share : verdict.part_share) EXPECT_FALSE(share);
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

TEST(RunVerdict, OldHoursAsMinutesTellTheSameLevels) {
  Job job{.steps = 12'000};
  job.change = [](Own& own, std::mt19937&) {
    if (own.step >= 5000) own.data_wait += 10;
  };
  std::vector<StepLog> logs = logs_of(job);
  thin_out(logs[0].steps, logs[0].steps[9000].begin_ns, 2'000'000'000);
  ASSERT_LT(logs[0].steps.size(), 3500U);
  const RunFinding finding = only(judge(logs));
  EXPECT_EQ(finding.cause, RunCause::kSlower);
  EXPECT_EQ(finding.part, LogPart::kDataWait);
  EXPECT_NEAR(static_cast<double>(finding.from_step), 5000, 200);
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

TEST(RunVerdict, MinutesWithStallsAreNoSlowBegin) {
  std::vector<StepLog> logs = logs_of({.steps = 40'000, .change = [](Own& own, std::mt19937&) {
                                         if (own.step % 100 == 42) own.other += 500;
                                       }});
  thin_out(logs[0].steps, logs[0].steps[20'000].begin_ns, 8'400'000'000);
  EXPECT_EQ(only(judge(logs)).cause, RunCause::kSlowSteps);
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

TEST(RunVerdict, NothingIsSaidOfNoSteps) {
  EXPECT_FALSE(judge_run({}, 0));
  StepLog log;
  EXPECT_FALSE(judge_run({summarise(log)}, 0));
}

}  // namespace
}  // namespace redline::trace
