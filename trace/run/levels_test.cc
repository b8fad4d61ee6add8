// How a run's levels become findings.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "trace/run/causes.h"
#include "trace/run/testing_job.h"

namespace redline::trace {
namespace {

using namespace redline::testing;

constexpr int64_t kLevelSteps = 1000;

/// The slow-downs of a rank that has taken these milliseconds a step, for a thousand steps each.
std::vector<RunFinding> slowdowns_of(const std::vector<double>& levels_ms,
                                     int64_t thinned_before_step = 0) {
  RankRun rank;
  rank.block_steps = 50;
  rank.thinned_before_step = thinned_before_step;
  std::vector<RunSegment> segments;
  for (const double ms : levels_ms) {
    const int64_t first = std::ssize(segments) * kLevelSteps;
    segments.push_back({first, first + kLevelSteps, ms * 1e6});
    rank.all.length_ns += ms * 1e6 * static_cast<double>(kLevelSteps);
  }
  return find_slowdowns({rank}, segments);
}

TEST(Levels, SmallRisesInARowAreOneSlowDown) {
  const auto findings = slowdowns_of({100, 104, 108, 112});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].from_step, 1000);
  EXPECT_EQ(findings[0].risen_step, 3000);
  EXPECT_FALSE(findings[0].to_step);
  EXPECT_NEAR(findings[0].change, 0.12, 1e-9);
  EXPECT_NEAR(findings[0].lost_share, (4 + 8 + 12) / 424.0, 1e-9);
  EXPECT_EQ(slowdowns_of({100, 104, 108}).size(), 1U);
  EXPECT_TRUE(slowdowns_of({100, 104, 100, 104}).empty()) << "never twice in a row";
}

TEST(Levels, ASlowDownBitByBitEndsWhereTheRunIsAsFastAsBefore) {
  const auto findings = slowdowns_of({100, 104, 108, 102, 101});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].to_step, 3000);
  EXPECT_NEAR(findings[0].lost_share, (4 + 8) / 515.0, 1e-9);
}

TEST(Levels, RisesOfARampMayEachBeWorthAFinding) {
  for (const double middle_ms : {110, 113}) {  // rises of 3.8 % and 7.1 %, or of 6.6 % and 7.1 %
    const auto findings = slowdowns_of({100, 106, middle_ms, 121});
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].from_step, 1000);
    EXPECT_NEAR(findings[0].change, 0.21, 1e-9);
  }
}

TEST(Levels, ASuddenSlowDownIsToldByItself) {
  const auto sudden = slowdowns_of({100, 104, 124.8, 129.792});
  ASSERT_EQ(sudden.size(), 1U);
  EXPECT_EQ(sudden[0].from_step, 2000);
  EXPECT_EQ(sudden[0].risen_step, 2000);
  EXPECT_NEAR(sudden[0].change, 0.2, 1e-9);
  EXPECT_NEAR(sudden[0].lost_share, 2 * 20.8 / 458.592, 1e-9);
  const auto two = slowdowns_of({100, 110, 121});
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[0].from_step, 1000);
  EXPECT_EQ(two[1].from_step, 2000);
}

TEST(Levels, WhatCostsHardlyAnythingIsNoFinding) {
  for (const double ms : {1, 100}) {
    std::vector<double> levels(300, ms);
    levels[200] = 1.26 * ms;  // costs 0.26 s or 26 s of 300,000 steps
    EXPECT_EQ(slowdowns_of(levels).size(), ms == 1 ? 0U : 1U);
  }
  EXPECT_EQ(slowdowns_of({1, 1, 1, 1.26, 1}).size(), 1U) << "0.26 s of 5 s";
}

/// A job of 4,000 steps whose steps take so many times as long as usual.
RunVerdict judge_course(const std::function<double(int64_t)>& factor) {
  Job job;
  job.change = [factor](Own& own, std::mt19937&) {
    for (double* part : {&own.data_wait, &own.forward, &own.backward, &own.optimizer, &own.other}) {
      *part *= factor(own.step);
    }
  };
  return judge(job);
}

/// The share of the way from one step to another.
double way(int64_t step, int64_t from, int64_t to) {
  return std::clamp(static_cast<double>(step - from) / static_cast<double>(to - from), 0.0, 1.0);
}

void expect_about(int64_t step, int64_t wanted, int64_t most_off) {
  EXPECT_LE(std::abs(step - wanted), most_off) << step;
}

TEST(Levels, ARunThatSlowsDownSteadilyHasNoStepAtWhichItDid) {
  for (const double rise : {0.15, 0.5, 1.0}) {
    const RunFinding finding =
        only(judge_course([rise](int64_t step) { return 1 + rise * way(step, 0, 4000); }));
    EXPECT_EQ(finding.cause, RunCause::kSlower);
    EXPECT_TRUE(finding.is_whole_step);
    expect_about(finding.from_step, 400, 50);  // the second of ten stairs
    expect_about(finding.risen_step, 3600, 200);
    EXPECT_FALSE(finding.to_step);
    EXPECT_NEAR(finding.change, 0.9 * rise / (1 + 0.05 * rise), 0.03);
    EXPECT_NEAR(finding.lost_share, 0.45 * rise / (1 + 0.5 * rise), 0.02);
  }
}

TEST(Levels, AfterASteadySlowDownARunMayStaySlowOrRecover) {
  for (const bool recovers : {false, true}) {
    const RunFinding finding = only(judge_course([recovers](int64_t step) {
      return recovers && step >= 3700 ? 1 : 1 + 0.6 * way(step, 1000, 2500);
    }));
    expect_about(finding.from_step, 1000, 150);
    expect_about(finding.risen_step, 2500, 150);
    EXPECT_NEAR(finding.change, 0.6, 0.03);
    ASSERT_EQ(finding.to_step.has_value(), recovers);
    expect_about(finding.to_step.value_or(3700), 3700, 50);
  }
}

TEST(Levels, AJumpBeforeASteadySlowDownIsToldByItself) {
  const RunVerdict verdict = judge_course(
      [](int64_t step) { return step < 1200 ? 1 : 1.5 + 0.6 * way(step, 1200, 4000); });
  ASSERT_EQ(verdict.findings.size(), 2U);
  for (const RunFinding& finding : verdict.findings) {
    const bool is_jump = finding.risen_step == finding.from_step;
    expect_about(finding.from_step, is_jump ? 1200 : 1480, 100);
    EXPECT_NEAR(finding.change, is_jump ? 0.53 : 0.35, 0.04);
  }
  EXPECT_NE(verdict.findings[0].risen_step == verdict.findings[0].from_step,
            verdict.findings[1].risen_step == verdict.findings[1].from_step);
}

TEST(Levels, JumpsTeethAndASlowBeginAreNoSteadySlowDown) {
  const std::vector<std::function<double(int64_t)>> courses = {
      [](int64_t step) { return step < 1700 ? 1 : 1.3; },
      [](int64_t step) { return step < 1200   ? 1
                                : step < 2600 ? 1.3
                                              : 1.7; },
      [](int64_t step) { return 1 + 0.3 * way(step % 500, 0, 500); },
      [](int64_t step) { return 1.5 - 0.5 * way(step, 0, 1500); },
      [](int64_t step) { return 2 - way(step, 0, 4000); },
  };
  for (const auto& course : courses) {
    const RunVerdict verdict = judge_course(course);
    EXPECT_TRUE(std::ranges::none_of(verdict.segments, &RunSegment::creeps));
    for (const RunFinding& finding : verdict.findings) {
      EXPECT_EQ(finding.risen_step, finding.is_slow_begin() ? 0 : finding.from_step);
    }
  }
}

TEST(Levels, ARankWhoseLoaderSlowsDownSteadilyIsNamed) {
  Job job{.ranks = 4};
  job.change = [](Own& own, std::mt19937&) {
    if (own.rank == 2) own.data_wait += 20 * way(own.step, 0, 4000);
  };
  const RunVerdict verdict = judge(job);
  const auto slower = std::ranges::find(verdict.findings, RunCause::kSlower, &RunFinding::cause);
  ASSERT_NE(slower, verdict.findings.end());
  EXPECT_GT(slower->risen_step, slower->from_step);
  EXPECT_EQ(slower->ranks, std::vector<int>{2});
  EXPECT_EQ(slower->part, LogPart::kDataWait);
}

TEST(Levels, WhereMinutesEndARunDoesNotBecomeFaster) {
  const std::vector<double> levels_ms = {100, 110, 99};
  EXPECT_EQ(slowdowns_of(levels_ms)[0].to_step, 2000);
  EXPECT_EQ(slowdowns_of(levels_ms, 2101)[0].to_step, 2000);
  for (const int64_t before_step : {1900, 2030, 2100}) {
    const auto findings = slowdowns_of(levels_ms, before_step);
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].from_step, 1000);
    EXPECT_FALSE(findings[0].to_step) << before_step;
    EXPECT_NEAR(findings[0].change, 0.1, 1e-9);
    EXPECT_NEAR(findings[0].lost_share, 20 / 309.0, 1e-9);
  }
  EXPECT_EQ(slowdowns_of({100, 110, 99, 90}, 2030)[0].to_step, 3000);
}

TEST(Levels, ASlowDownAfterTheMinutesCostsWhatItsOwnStepsLost) {
  const auto findings = slowdowns_of({110, 100, 120}, 1000);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_NEAR(findings[0].change, 0.2, 1e-9);
  EXPECT_NEAR(findings[0].lost_share, 20 / 330.0, 1e-9);
}

TEST(Levels, LongerSequencesExplainSlowerSteps) {
  for (const int64_t tokens : {4000, 4600, 5000}) {
    Job job{.ranks = 2, .noise = 0, .jitter = 0};
    job.change = [tokens](Own& own, std::mt19937&) {
      own.tokens = 4000;
      if (own.step < 2000) return;
      own.tokens = tokens;
      own.forward *= 1.25;
      own.backward *= 1.25;
      own.optimizer *= 1.25;
    };
    const RunFinding finding = only(judge(job));
    EXPECT_EQ(finding.cause, RunCause::kSlower);
    EXPECT_TRUE(finding.is_whole_step);
    EXPECT_NEAR(finding.change, 8.5 / 37, 1e-3);
    EXPECT_NEAR(finding.more_tokens, static_cast<double>(tokens - 4000) / 4000, 1e-9);
    EXPECT_EQ(finding.lost_share > 0, tokens == 4000);
  }
}

TEST(Levels, AFewMoreTokensOrThoseOfOtherRanksExplainNothing) {
  for (const bool is_other : {false, true}) {
    Job job{.ranks = 4, .noise = 0, .jitter = 0};
    job.change = [is_other](Own& own, std::mt19937&) {
      const bool is_late = own.step >= 2000;
      own.tokens = 4000;
      if (is_late && is_other && own.rank != 1) own.tokens = 5000;
      if (is_late && !is_other && own.rank == 1) own.tokens = 4400;
      if (is_late && own.rank == 1) own.forward *= 2;
    };
    const RunFinding finding = only(judge(job));
    EXPECT_EQ(finding.ranks, std::vector<int>{1});
    EXPECT_EQ(finding.more_tokens, 0);
    EXPECT_GT(finding.lost_share, 0);
  }
}

TEST(Levels, ALevelEndsWithTheLastStep) {
  const RunVerdict verdict = judge(Job{.steps = 301});  // in blocks of two
  ASSERT_EQ(verdict.segments.size(), 1U);
  EXPECT_EQ(verdict.segments[0].end_step, 301);
}

// Half as many samples a step, with twice the tokens each, are the same work.
TEST(Levels, TokensCountForASample) {
  for (const bool has_longer : {false, true}) {
    Job job{.noise = 0, .jitter = 0};
    job.change = [has_longer](Own& own, std::mt19937&) {
      own.tokens = 4000;
      if (own.step < 2000) return;
      own.samples /= 2;
      if (!has_longer) own.tokens /= 2;
    };
    const RunFinding finding = only(judge(job));
    EXPECT_NEAR(finding.change, 1, 1e-3);
    EXPECT_NEAR(finding.more_tokens, has_longer ? 1 : 0, 1e-9);
    EXPECT_NEAR(finding.fewer_samples, 0.5, 1e-9) << "and no step became longer";
  }
}

TEST(Levels, SequencesThatBecomeLongerAtAStepDoNotVary) {
  Job job{.noise = 0, .jitter = 0};
  job.change = [](Own& own, std::mt19937&) {
    own.tokens = 4000;
    if (own.step < 2000) return;
    own.tokens *= 2;
    for (double* part : {&own.forward, &own.backward, &own.optimizer}) *part *= 2;
  };
  const RunFinding finding = only(judge(job));
  EXPECT_EQ(finding.cause, RunCause::kSlower);
  EXPECT_NEAR(finding.more_tokens, 1, 1e-9);
}

// Four times the samples take four times as long, but for the loader.
TEST(Levels, ThePartThatBecameSlowForItsSamplesIsNamed) {
  Job job{.noise = 0, .jitter = 0};
  job.change = [](Own& own, std::mt19937&) {
    if (own.step < 2000) return;
    own.samples *= 4;
    for (double* part : {&own.forward, &own.backward, &own.optimizer}) *part *= 4;
    own.data_wait += 80;
  };
  const RunFinding finding = only(judge(job));
  EXPECT_EQ(finding.cause, RunCause::kSlower);
  EXPECT_EQ(finding.part, LogPart::kDataWait);
  EXPECT_FALSE(finding.is_whole_step);
  EXPECT_NEAR(finding.change, 219.0 / 4 / 37 - 1, 1e-3);
  EXPECT_NEAR(finding.lost_share, 2000 * (219 - 4 * 37) / (2000.0 * (37 + 219)), 0.01);
}

// Per sample the loader takes much longer, and the other parts no longer, so no rank waits.
TEST(Levels, WhereBatchesShrinkRanksThatDoNotWaitAreNotBlamed) {
  Job job{.ranks = 2, .noise = 0, .jitter = 0};
  job.change = [](Own& own, std::mt19937&) {
    own.data_wait = own.step < 2000 ? 1 : 12;
    if (own.step < 2000) return;
    own.samples /= 4;
    for (double* part : {&own.forward, &own.backward}) *part /= 4;
  };
  const RunVerdict verdict = judge(job);
  ASSERT_FALSE(verdict.findings.empty());
  EXPECT_EQ(verdict.findings[0].cause, RunCause::kSlower);
  EXPECT_EQ(verdict.findings[0].part, LogPart::kDataWait);
  EXPECT_EQ(verdict.findings[0].fewer_samples, 0) << "that is not all";
}

TEST(Levels, ASlowDownWithMoreSamplesAStepCostsTheTimeOfThese) {
  Job job{.noise = 0, .jitter = 0};
  job.change = [](Own& own, std::mt19937&) {
    if (own.step < 3552) return;
    own.samples *= 16;
    for (double* part : {&own.data_wait, &own.forward, &own.backward, &own.optimizer, &own.other}) {
      *part *= 16 * 1.5;
    }
  };
  const RunFinding finding = only(judge(job));
  EXPECT_NEAR(finding.change, 0.5, 1e-3);
  EXPECT_NEAR(finding.lost_share, 448 * 0.5 * 592 / (3552 * 37 + 448 * 888.0), 0.005);
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

TEST(RunVerdict, ASlowBeginThatFadesCostsWhatAllItsStepsLost) {
  double lost_ms = 0;
  Job job{.steps = 8000};
  job.change = [&](Own& own, std::mt19937&) {
    const double more_ms = 80 * std::exp(-static_cast<double>(own.step) / 800);
    own.backward += more_ms;
    lost_ms += more_ms;
  };
  const RunVerdict verdict = judge(job);
  const RunFinding finding = only(verdict);
  EXPECT_TRUE(finding.is_slow_begin());
  const double all_ms = 8000 * 37 + 400 + lost_ms;
  EXPECT_NEAR(finding.lost_share, lost_ms / all_ms, 0.03);
}

// The end of the warm-up, or a last block of few steps.
TEST(Levels, OneBlockAtTheEdgeMakesNoLevel) {
  for (const bool is_last : {true, false}) {
    Job job{.steps = 4000};
    job.change = [&](Own& own, std::mt19937&) {
      if (is_last ? own.step >= 3984 : own.step < 16) own.backward += 20;
    };
    const RunVerdict verdict = judge(job);
    EXPECT_EQ(verdict.segments.size(), 1U);
    EXPECT_TRUE(verdict.findings.empty());
  }
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

TEST(RunVerdict, StepsOfMoreSamplesTakeLonger) {
  Job job{.change = [](Own& own, std::mt19937& random) {
    own.samples = std::uniform_int_distribution<int64_t>(4, 64)(random);
    own.backward *= static_cast<double>(own.samples) / 32;
    own.forward *= static_cast<double>(own.samples) / 32;
  }};
  EXPECT_TRUE(judge(job).findings.empty());
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

TEST(RunVerdict, MinutesWithStallsAreNoSlowBegin) {
  std::vector<StepLog> logs = logs_of({.steps = 40'000, .change = [](Own& own, std::mt19937&) {
                                         if (own.step % 100 == 42) own.other += 500;
                                       }});
  thin_out(logs[0].steps, logs[0].steps[20'000].begin_ns, 8'400'000'000);
  EXPECT_EQ(only(judge(logs)).cause, RunCause::kSlowSteps);
}

}  // namespace
}  // namespace redline::trace
