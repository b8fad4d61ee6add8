// Makes jobs whose causes are known, and checks what judge_run() must find and where it must be
// silent.
#include "trace/run/verdict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

namespace redline::trace {
namespace {

constexpr int64_t kFirstStepBegin = 1'700'000'000'000'000'000;

/// Milliseconds that the parts of one rank's step take by themselves.
struct Own {
  int rank = 0;
  int64_t step = 0;
  double data_wait = 1;
  double forward = 10;
  double backward = 20;
  double optimizer = 4;
  double evaluation = 0;
  double checkpoint = 0;
  double collection = 0;
  double compile = 0;
  double other = 2;
  int64_t samples = 32;
  int64_t tokens = kUnseen;
};

struct Job {
  int ranks = 1;
  int64_t steps = 4000;
  double noise = 0.03;   // noise that is the same on all ranks
  double memory = 0.5;   // how much of the noise stays from step to step
  double jitter = 0.01;  // noise of each step alone
  bool sees_waits = true;
  uint32_t seed = 1;
  std::function<void(Own&, std::mt19937&)> change = [](Own&, std::mt19937&) {};
};

int64_t ns(double ms) { return std::llround(ms * 1e6); }

std::vector<StepLog> logs_of(const Job& job) {
  std::mt19937 random(job.seed);
  std::normal_distribution<double> normal;
  std::vector<StepLog> logs(static_cast<size_t>(job.ranks));
  for (int rank = 0; rank < job.ranks; ++rank) {
    StepLog& log = logs[static_cast<size_t>(rank)];
    log.run = "run";
    log.rank = rank;
    log.world_size = job.ranks;
    log.host = "node" + std::to_string(rank / 8);
    log.begin_ns = kFirstStepBegin;
    log.ended = true;
  }
  double drift = 0;
  int64_t time_ns = kFirstStepBegin;
  for (int64_t number = 0; number < job.steps; ++number) {
    drift = job.memory * drift + std::sqrt(1 - job.memory * job.memory) * normal(random);
    std::vector<Own> own;
    double longest = 0;
    const auto total = [](const Own& each) {
      return each.data_wait + each.forward + each.backward + each.optimizer + each.evaluation +
             each.checkpoint + each.collection + each.compile + each.other;
    };
    for (int rank = 0; rank < job.ranks; ++rank) {
      Own each;
      each.rank = rank;
      each.step = number;
      const double factor = std::max(0.5, 1 + job.noise * drift + job.jitter * normal(random));
      each.forward *= factor;
      each.backward *= factor;
      each.optimizer *= factor;
      if (number == 0) each.forward += 400;
      job.change(each, random);
      longest = std::max(longest, total(each));
      own.push_back(each);
    }
    for (const Own& each : own) {
      LoggedStep step;
      step.step = number;
      step.begin_ns = time_ns;
      step.length_ns = step.shortest_ns = step.longest_ns = ns(longest);
      step.samples = each.samples;
      step.tokens = each.tokens;
      const double wait = longest - total(each);
      const double backward = each.backward + (job.sees_waits ? 0 : wait);
      step.part_ns = {
          ns(each.data_wait), ns(each.forward),    ns(backward),        ns(each.optimizer),
          ns(wait),           ns(each.evaluation), ns(each.checkpoint), ns(each.collection),
          ns(each.compile)};
      if (job.ranks == 1 || !job.sees_waits) step.part_ns[4] = kUnseen;
      logs[static_cast<size_t>(each.rank)].steps.push_back(step);
    }
    time_ns += ns(longest);
  }
  for (StepLog& log : logs) log.last_sign_ns = time_ns;
  return logs;
}

RunVerdict judge(const std::vector<StepLog>& logs) {
  std::vector<RankRun> ranks;
  for (const StepLog& log : logs) ranks.push_back(summarise(log));
  const int64_t now_ns = logs.front().steps.back().end_ns() + 60'000'000'000;
  return *judge_run(std::move(ranks), now_ns);
}

RunVerdict judge(const Job& job) { return judge(logs_of(job)); }

/// The only finding of a job that has one cause.
RunFinding only(const RunVerdict& verdict) {
  EXPECT_EQ(verdict.findings.size(), 1U);
  for (const RunFinding& finding : verdict.findings) {
    SCOPED_TRACE(::testing::Message() << "cause " << static_cast<int>(finding.cause) << " part "
                                      << (finding.part ? static_cast<int>(*finding.part) : -1)
                                      << " lost " << finding.lost_share);
    if (verdict.findings.size() > 1) ADD_FAILURE();
  }
  return verdict.findings.empty() ? RunFinding() : verdict.findings.front();
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

TEST(RunVerdict, ALoaderThatIsSlowAllAlong) {
  Job job;
  job.change = [](Own& own, std::mt19937&) { own.data_wait = own.step % 4 == 0 ? 60 : 1; };
  const RunFinding finding = only(judge(job));
  EXPECT_EQ(finding.cause, RunCause::kPart);
  EXPECT_EQ(finding.part, LogPart::kDataWait);
  EXPECT_NEAR(finding.lost_share, 15.75 / 52, 0.02);
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
  Job job;
  job.change = [](Own& own, std::mt19937&) {
    if (own.step % 100 == 42) own.other += 500;
  };
  const RunFinding finding = only(judge(job));
  EXPECT_EQ(finding.cause, RunCause::kSlowSteps);
  EXPECT_FALSE(finding.part);
  EXPECT_NEAR(static_cast<double>(finding.count), 40, 1);  // one of them may be in the warm-up
  EXPECT_EQ(finding.period, 100);
  EXPECT_NEAR(finding.typical_ns, 500e6, 5e6);
}

TEST(RunVerdict, ACheckpointOfOneRankThatAllWaitFor) {
  Job job{.ranks = 4};
  job.change = [](Own& own, std::mt19937&) {
    if (own.rank == 0 && own.step % 200 == 199) own.checkpoint = 2000;
  };
  const RunFinding finding = only(judge(job));
  EXPECT_EQ(finding.cause, RunCause::kPart);
  EXPECT_EQ(finding.part, LogPart::kCheckpoint);
  EXPECT_EQ(finding.period, 200);
  EXPECT_NEAR(finding.lost_share, 0.21, 0.02);
}

TEST(RunVerdict, EvaluationTooOften) {
  Job job;
  job.change = [](Own& own, std::mt19937&) {
    if (own.step % 20 == 19) own.evaluation = 400;
  };
  const RunFinding finding = only(judge(job));
  EXPECT_EQ(finding.part, LogPart::kEvaluation);
  EXPECT_NEAR(finding.share, 20.0 / 57, 0.02);
  EXPECT_EQ(finding.period, 20);
}

TEST(RunVerdict, GarbageCollection) {
  Job job;
  job.change = [](Own& own, std::mt19937&) {
    if (own.step % 30 == 7) own.collection = 120;
  };
  EXPECT_EQ(only(judge(job)).part, LogPart::kGarbageCollection);
}

TEST(RunVerdict, CompilingAgainAndAgain) {
  Job job;
  job.change = [](Own& own, std::mt19937&) {
    if (own.step % 250 == 100) own.compile = 3000;
  };
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

TEST(RunVerdict, StepsAsLongAsTheirSequences) {
  Job job;
  job.change = [](Own& own, std::mt19937& random) {
    own.tokens = std::uniform_int_distribution<int64_t>(1000, 6000)(random);
    const double factor = static_cast<double>(own.tokens) / 3500;
    own.forward *= factor;
    own.backward *= factor;
  };
  const RunFinding finding = only(judge(job));
  EXPECT_EQ(finding.cause, RunCause::kVaryingLengths);
  EXPECT_GT(finding.share, 0.9);
}

TEST(RunVerdict, OtherWorkOnTheProcessorsForAWhile) {
  Job job;
  job.change = [](Own& own, std::mt19937&) {
    if (own.step < 1200 || own.step >= 2000) return;
    own.forward *= 1.5;
    own.backward *= 1.5;
    own.optimizer *= 1.5;
  };
  const RunFinding finding = only(judge(job));
  EXPECT_EQ(finding.cause, RunCause::kSlower);
  EXPECT_TRUE(finding.is_whole_step);
  EXPECT_FALSE(finding.part);
  EXPECT_NEAR(static_cast<double>(finding.from_step), 1200, 64);
  EXPECT_NEAR(static_cast<double>(finding.to_step.value_or(0)), 2000, 64);
  EXPECT_NEAR(finding.change, 17.0 / 37, 0.04);
}

TEST(RunVerdict, StepsThatVaryWithoutAReason) {
  Job job;
  job.change = [](Own& own, std::mt19937& random) {
    const double factor = std::uniform_real_distribution<double>(0.5, 2.5)(random);
    own.backward *= factor;
  };
  const RunFinding finding = only(judge(job));
  EXPECT_EQ(finding.cause, RunCause::kUnsteady);
  EXPECT_EQ(finding.part, LogPart::kBackward);
  EXPECT_EQ(finding.lost_share, 0) << "nobody knows how long the steps need to take";
  EXPECT_LT(finding.low_ns, finding.high_ns);
}

TEST(RunVerdict, StepsOfMoreSamplesTakeLonger) {
  Job job;
  job.change = [](Own& own, std::mt19937& random) {
    own.samples = std::uniform_int_distribution<int64_t>(4, 64)(random);
    own.backward *= static_cast<double>(own.samples) / 32;
    own.forward *= static_cast<double>(own.samples) / 32;
  };
  EXPECT_TRUE(judge(job).findings.empty());
}

/// Who has the cores of a rank's host.
struct Cores {
  double own = 1.3;
  double waiting = 0;  // threads of the rank
  double busy = 1.4;
};

/// Readings every two seconds, of a host with two cores.
void log_cores(StepLog& log, const std::function<Cores(double share_of_run)>& cores_at) {
  const int64_t begin_ns = log.steps.front().begin_ns, end_ns = log.steps.back().end_ns();
  LoggedCores last{begin_ns, 2, 7'000'000'000, 1'000'000'000, 5};
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

TEST(RunVerdict, MoreThreadsThanCores) {
  std::vector<StepLog> logs = logs_of({});
  log_cores(logs[0], [](double) { return Cores{.own = 1.95, .waiting = 11, .busy = 2}; });
  const RunFinding finding = only(judge(logs));
  EXPECT_EQ(finding.cause, RunCause::kCrowdedCores);
  EXPECT_NEAR(finding.taken_cores, 13, 0.1);
  EXPECT_EQ(finding.lost_share, 0);
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

TEST(RunVerdict, ALongWarmUp) {
  Job job{.steps = 400};
  job.change = [](Own& own, std::mt19937&) {
    if (own.step < 5) own.forward += 2000;
  };
  const RunFinding finding = only(judge(job));
  EXPECT_EQ(finding.cause, RunCause::kWarmUp);
  EXPECT_GT(finding.lost_share, 0.3);
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

TEST(RunVerdict, OneOperatorThatBecameSlow) {
  Job job;
  job.change = [](Own& own, std::mt19937&) {
    if (own.step >= 3000) own.optimizer += 4;
  };
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

TEST(RunVerdict, TheRankThatDiedIsTheOneThatFellSilentFirst) {
  std::vector<StepLog> logs = logs_of({.ranks = 4});
  for (StepLog& log : logs) log.ended = false;
  for (size_t rank = 0; rank < 4; ++rank) {
    if (rank != 2) logs[rank].last_sign_ns += 8'000'000'000;
  }
  logs[2].last_part = LogPart::kBackward;
  const RunFinding finding = only(judge(logs));
  EXPECT_EQ(finding.cause, RunCause::kDied);
  EXPECT_EQ(finding.ranks, std::vector<int>{2});
  EXPECT_EQ(finding.part, LogPart::kBackward);
  EXPECT_EQ(finding.from_step, 4000);
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

TEST(RunVerdict, NothingIsSaidOfNoSteps) {
  EXPECT_FALSE(judge_run({}, 0));
  StepLog log;
  EXPECT_FALSE(judge_run({summarise(log)}, 0));
}

}  // namespace
}  // namespace redline::trace
