// Who had the cores.
#include "trace/run/verdict.h"

#include <gtest/gtest.h>

#include <functional>

#include "trace/run/testing_job.h"

namespace redline::trace {
namespace {

using namespace redline::testing;

/// Who has the cores of a rank's host.
struct Cores {
  double own = 1.3;
  double waiting = 0;  // threads of the rank
  double busy = 1.4;
};

/// Readings every two seconds, of a host with two cores.
void log_cores(StepLog& log, const std::function<Cores(double share_of_run)>& cores_at,
               int64_t busy_before_ns = 7'000'000'000) {
  const int64_t begin_ns = log.steps.front().begin_ns, end_ns = log.steps.back().end_ns();
  LoggedCores last{begin_ns, 2, busy_before_ns, 1'000'000'000, 5};
  log.cores.push_back(last);
  while (last.time_ns < end_ns) {
    const int64_t next_ns = std::min(end_ns, last.time_ns + 2'000'000'000);
    const double time = static_cast<double>(next_ns - last.time_ns);
    const Cores cores = cores_at(static_cast<double>(last.time_ns - begin_ns) /
                                 static_cast<double>(end_ns - begin_ns));
    last.time_ns = next_ns;
    last.busy_ns += std::llround(cores.busy * time);
    last.used_ns += std::llround(cores.own * time);
    last.waited_ns += std::llround(cores.waiting * time);
    log.cores.push_back(last);
  }
}

TEST(RunVerdict, OtherProcessesThatHaveTheCores) {
  for (const bool has_enough : {false, true}) {
    Job job{.ranks = 2};
    if (!has_enough) {
      job.change = [](Own& own, std::mt19937& random) {
        own.backward *= std::uniform_real_distribution<double>(0.5, 2.5)(random);
      };
    }
    std::vector<StepLog> logs = logs_of(job);
    for (StepLog& log : logs) {
      log_cores(log, [&](double) {
        return has_enough ? Cores{.own = 0.4, .waiting = 0.02, .busy = 1.9}
                          : Cores{.own = 0.6, .waiting = 0.5, .busy = 2};
      });
    }
    const RunVerdict verdict = judge(logs);
    if (has_enough) {
      EXPECT_TRUE(verdict.findings.empty());
      continue;
    }
    const RunFinding finding = only(verdict);
    EXPECT_EQ(finding.cause, RunCause::kOtherProcesses);
    EXPECT_NEAR(finding.taken_cores, 0.8, 0.05);
    EXPECT_EQ(finding.cores, 2);
    EXPECT_NEAR(finding.lost_share, 0.4, 0.02) << "at most what the others had";
  }
}

TEST(RunVerdict, ASlowDownAfterTheFirstStepsIsThatOfTheProcessesThatHaveTheCores) {
  Job job{.steps = 240};
  job.change = [](Own& own, std::mt19937&) {
    if (own.step < 10) return;
    for (double* part : {&own.forward, &own.backward, &own.optimizer}) *part *= 2.2;
  };
  std::vector<StepLog> logs = logs_of(job);
  EXPECT_EQ(judge(logs).findings.front().cause, RunCause::kSlower);
  log_cores(logs[0], [](double) { return Cores{.own = 0.5, .waiting = 0.5, .busy = 2}; });
  EXPECT_EQ(only(judge(logs)).cause, RunCause::kOtherProcesses);
}

TEST(RunVerdict, MoreWorkersNeedACore) {
  struct Case {
    Cores cores;
    bool has_none;
  };
  for (const auto& [cores, has_none] : {Case{{.own = 1.7, .waiting = 0.05, .busy = 1.75}, false},
                                        Case{{.own = 1.7, .waiting = 0.15, .busy = 1.75}, true},
                                        Case{{.own = 0.4, .waiting = 0.02, .busy = 2}, false}}) {
    std::vector<StepLog> logs = logs_of({.change = [](Own& each, auto&) { each.data_wait = 20; }});
    log_cores(logs[0], [&cores = cores](double) { return cores; });
    const RunFinding finding = only(judge(logs));
    EXPECT_EQ(finding.part, LogPart::kDataWait);
    EXPECT_EQ(finding.no_free_core, has_none);
  }
}

TEST(RunVerdict, WhereARunBecameSlowerOnlyItsLaterCoresCount) {
  for (const bool are_full_later : {false, true}) {
    std::vector<StepLog> logs = logs_of({.change = [](Own& each, auto&) {
      if (each.step >= 2000) each.data_wait = 40;
    }});
    log_cores(logs[0], [&](double share) {
      const bool is_late = share > 0.33;
      return is_late == are_full_later ? Cores{.own = 1.95, .busy = 2} : Cores{};
    });
    const RunFinding finding = only(judge(logs));
    EXPECT_EQ(finding.cause, RunCause::kSlower);
    EXPECT_EQ(finding.no_free_core, are_full_later);
  }
}

TEST(RunVerdict, RanksWithoutALogAreNoOtherProcesses) {
  std::vector<StepLog> logs = logs_of({.ranks = 2});
  logs.pop_back();
  log_cores(logs[0], [](double) { return Cores{.own = 1, .waiting = 0.5, .busy = 2}; });
  EXPECT_TRUE(judge(logs).findings.empty());
}

TEST(RunVerdict, ARankWithMoreWorkWaitsLongerForACoreAndIsUnevenAllTheSame) {
  for (const bool has_more_work : {true, false}) {
    Job job{.ranks = 2};
    job.change = [](Own& own, std::mt19937&) {
      if (own.rank == 1) own.forward *= 4;
    };
    std::vector<StepLog> logs = logs_of(job);
    log_cores(logs[0], [&](double) {
      return Cores{.own = has_more_work ? 0.2 : 0.4, .waiting = 0.1, .busy = 2};
    });
    log_cores(logs[1], [](double) { return Cores{.own = 0.4, .waiting = 0.6, .busy = 2}; });
    const RunVerdict verdict = judge(logs);
    const auto uneven = std::find_if(
        verdict.findings.begin(), verdict.findings.end(),
        [](const RunFinding& finding) { return finding.cause == RunCause::kUnevenRank; });
    ASSERT_NE(uneven, verdict.findings.end());
    EXPECT_EQ(uneven->ranks, std::vector<int>{1});
    EXPECT_EQ(uneven->by_others, !has_more_work);
  }
}

TEST(RunVerdict, BusyTimeOfCoresThatWereNotCountedBeforeIsNotOfNow) {
  std::vector<StepLog> logs = logs_of({.ranks = 2});
  for (StepLog& log : logs) {
    log_cores(
        log, [](double) { return Cores{.own = 0.4, .waiting = 0.3, .busy = 0.9}; },
        1'000'000'000'000'000);
    for (size_t i = 0; i < 3; ++i) log.cores[i].cores = log.cores[i].busy_ns = 1;
  }
  EXPECT_TRUE(judge(logs).findings.empty());
}

TEST(RunVerdict, MoreThreadsThanCores) {
  std::vector<StepLog> logs = logs_of({});
  log_cores(logs[0], [](double) { return Cores{.own = 1.95, .waiting = 11, .busy = 2}; });
  const RunFinding finding = only(judge(logs));
  EXPECT_EQ(finding.cause, RunCause::kCrowdedCores);
  EXPECT_NEAR(finding.taken_cores, 13, 0.1);
  EXPECT_EQ(finding.lost_share, 0);
}

TEST(RunVerdict, RanksWithCoresOfTheirOwnDoNotCrowdEachOther) {
  for (const bool have_cores_of_their_own : {true, false}) {
    std::vector<StepLog> logs = logs_of({.ranks = 4});
    for (StepLog& log : logs) {
      const int64_t busy_before_ns = have_cores_of_their_own ? (9 + log.rank) * 7'000'000'000 : 7;
      log_cores(
          log, [](double) { return Cores{.own = 0.49, .waiting = 0.4, .busy = 1.99}; },
          busy_before_ns);
    }
    // Alone, each rank has 0.5 of its two cores, and others have the rest.
    const RunFinding finding = only(judge(logs));
    EXPECT_EQ(finding.cause,
              have_cores_of_their_own ? RunCause::kOtherProcesses : RunCause::kCrowdedCores);
    EXPECT_EQ(finding.ranks, have_cores_of_their_own ? std::vector<int>{0} : std::vector<int>{});
    EXPECT_NEAR(finding.taken_cores, have_cores_of_their_own ? 1.5 : 3.56, 0.05);
  }
}

TEST(RunVerdict, RanksThatHadMoreCoresThanTheirsTogetherDoNotShareThem) {
  for (const double data_wait : {1, 20}) {
    std::vector<StepLog> logs = logs_of(
        {.ranks = 4, .change = [=](Own& each, std::mt19937&) { each.data_wait = data_wait; }});
    for (StepLog& log : logs) {
      log_cores(log, [](double) { return Cores{.own = 1, .busy = 1.1}; });
    }
    const RunVerdict verdict = judge(logs);
    if (data_wait == 1) {
      EXPECT_TRUE(verdict.findings.empty());
    } else {
      EXPECT_EQ(only(verdict).part, LogPart::kDataWait);
      EXPECT_FALSE(only(verdict).no_free_core) << "one of its two cores is free";
    }
  }
}

TEST(RunVerdict, WhoHadTheCoresExplainsSlowerSteps) {
  for (const bool others : {true, false}) {
    Job job;
    job.change = [](Own& own, std::mt19937&) {
      if (own.step < 2000) return;
      own.forward *= 1.5;
      own.backward *= 1.5;
      own.optimizer *= 1.5;
    };
    std::vector<StepLog> logs = logs_of(job);
    log_cores(logs[0], [&](double at) {
      const bool is_taken = others && at > 0.41;
      return is_taken ? Cores{.own = 1.2, .waiting = 0.6, .busy = 2} : Cores{};
    });
    const RunVerdict verdict = judge(logs);
    const auto slower =
        std::find_if(verdict.findings.begin(), verdict.findings.end(),
                     [](const RunFinding& finding) { return finding.cause == RunCause::kSlower; });
    ASSERT_NE(slower, verdict.findings.end());
    EXPECT_EQ(slower->by_others, others);
  }
}

TEST(RunVerdict, WhoHadTheCoresExplainsASlowBegin) {
  // 54 ms a step, then 37 ms: half of the change is 0.157 of the time.
  const auto by_others = [](int64_t slow_steps, int64_t steps, const Cores& then,
                            const Cores& later) {
    Job job{.steps = steps};
    job.change = [&](Own& own, std::mt19937&) {
      if (own.step >= slow_steps) return;
      own.forward *= 1.5;
      own.backward *= 1.5;
      own.optimizer *= 1.5;
    };
    std::vector<StepLog> logs = logs_of(job);
    const double slow_ms = 54 * static_cast<double>(slow_steps);
    const double all_ms = slow_ms + 37 * static_cast<double>(steps - slow_steps);
    log_cores(logs[0], [&](double at) { return at < slow_ms / all_ms ? then : later; });
    const RunVerdict verdict = judge(logs);
    const auto slow = std::ranges::find(verdict.findings, RunCause::kSlower, &RunFinding::cause);
    EXPECT_NE(slow, verdict.findings.end());
    if (slow == verdict.findings.end()) return std::optional<bool>();
    EXPECT_TRUE(slow->is_slow_begin());
    EXPECT_NEAR(static_cast<double>(*slow->to_step), static_cast<double>(slow_steps), 32);
    return slow->by_others;
  };
  const Cores taken{.own = 1.2, .waiting = 0.6, .busy = 2},
      some{.own = 1.4, .waiting = 0.3, .busy = 2};
  EXPECT_EQ(by_others(2000, 4000, taken, {}), true);
  EXPECT_EQ(by_others(2000, 4000, taken, taken), false) << "they had them all along";
  EXPECT_EQ(by_others(2000, 4000, {}, taken), false);
  EXPECT_EQ(by_others(2000, 4000, {.own = 1.14, .waiting = 0.43, .busy = 2}, some), true)
      << "57 of 70 % of the time were left";
  EXPECT_EQ(by_others(2000, 4000, taken, some), false) << "60 of 70 %";
  EXPECT_EQ(by_others(380, 400, taken, {}), true) << "0.7 s are too short to know what came later";
}

TEST(RunVerdict, WhoHadTheCoresExplainsStepsThatBecameSlowerBitByBit) {
  Job job{.noise = 0, .jitter = 0};
  job.change = [](Own& own, std::mt19937&) {
    const double factor = 1 + 0.04 * static_cast<double>(own.step / 800);
    own.forward *= factor;
    own.backward *= factor;
    own.optimizer *= factor;
  };
  std::vector<StepLog> logs = logs_of(job);
  log_cores(logs[0], [](double at) {
    return at > 0.6 ? Cores{.own = 1.2, .waiting = 0.6, .busy = 2} : Cores{};
  });
  const RunVerdict verdict = judge(logs);
  const auto slower = std::ranges::find(verdict.findings, RunCause::kSlower, &RunFinding::cause);
  ASSERT_NE(slower, verdict.findings.end());
  EXPECT_EQ(slower->from_step, 800);
  EXPECT_EQ(slower->risen_step, 3200);
  EXPECT_NEAR(slower->change, 0.16 * 34 / 37, 1e-3);
  EXPECT_TRUE(slower->by_others.value_or(false)) << "others came after the first rise";
}

TEST(RunVerdict, AWarmUpAmongOtherProcessesIsToldAsThat) {
  for (const bool others : {true, false}) {
    Job job{.steps = 400};
    job.change = [](Own& own, std::mt19937&) {
      if (own.step < 45) own.backward *= 6;
    };
    std::vector<StepLog> logs = logs_of(job);
    log_cores(logs[0], [&](double at) {
      return others && at < 0.3 ? Cores{.own = 0.2, .waiting = 0.8, .busy = 2} : Cores{};
    });
    const RunFinding finding = only(judge(logs));
    EXPECT_EQ(finding.cause, RunCause::kWarmUp);
    EXPECT_EQ(finding.by_others, others);
  }
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

}  // namespace
}  // namespace redline::trace
