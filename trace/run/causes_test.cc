// What else holds up a whole run.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "trace/run/testing_job.h"

namespace redline::trace {
namespace {

using namespace redline::testing;

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

TEST(RunVerdict, ARankThatIsLateAllAlongIsNamedHoweverShortTheLastLevelIs) {
  for (const int64_t last : {0, 100}) {
    Job job{.ranks = 4, .steps = 4000};
    job.change = [&](Own& own, std::mt19937&) {
      if (own.step >= job.steps - last) own.backward *= 1.5;
      if (own.rank == 2) own.forward *= 1.8;
    };
    const RunVerdict verdict = judge(job);
    EXPECT_EQ(verdict.segments.size(), last > 0 ? 2U : 1U);
    const auto uneven =
        std::ranges::find(verdict.findings, RunCause::kUnevenRank, &RunFinding::cause);
    ASSERT_NE(uneven, verdict.findings.end()) << last;
    EXPECT_EQ(uneven->ranks, std::vector<int>{2});
    EXPECT_NEAR(uneven->lost_share, 8 / 45.0, 0.02);
  }
}

TEST(RunVerdict, ARankThatBecameLateEarlyWasNotLateAllAlong) {
  Job job{.ranks = 4, .steps = 4000};
  job.change = [](Own& own, std::mt19937&) {
    if (own.rank == 2 && own.step >= 600) own.forward *= 1.8;
  };
  const RunFinding finding = only(judge(job));
  EXPECT_EQ(finding.cause, RunCause::kSlower);
  EXPECT_NEAR(static_cast<double>(finding.from_step), 600, 32);
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

// As where a number in the model changes with each step, until torch gives up.
TEST(RunVerdict, CompilingInEachStepAtFirstIsToldOnce) {
  std::vector<StepLog> logs = logs_of({.steps = 300, .change = [](Own& own, std::mt19937&) {
                                         if (own.step >= 66) return;
                                         own.compile = 80;
                                         own.other += 15;
                                       }});
  for (int i = 0; i < 64; ++i) {
    logs[0].marks.push_back(
        {.time_ns = kFirstStepBegin, .kind = LogMarkKind::kCompile, .text = ""});
  }
  const RunFinding finding = only(judge(logs));
  EXPECT_EQ(finding.cause, RunCause::kPart);
  EXPECT_EQ(finding.part, LogPart::kCompile);
}

TEST(RunVerdict, TwoSteadyLevelsAreNotUnsteady) {
  Job job{.change = [](Own& own, std::mt19937&) {
    if (own.step >= 2000) own.forward *= 9;
  }};
  EXPECT_EQ(only(judge(job)).cause, RunCause::kSlower);
}

TEST(RunVerdict, MemoryThatFills) {
  for (const bool fills : {true, false}) {
    std::vector<StepLog> logs = logs_of({});
    for (int64_t i = 0; i < 400; ++i) {
      const int64_t base = 2'000'000'000;
      // A cache that fills up is no leak.
      const int64_t more = fills ? i * 1'000'000 : std::min<int64_t>(i, 80) * 10'000'000;
      logs[0].memory.push_back({kFirstStepBegin + i * 360'000'000, base + more + i % 3 * 100'000});
    }
    logs[0].memory.push_back({logs[0].steps.back().end_ns() + 1, 2'000'000'000});
    const RunVerdict verdict = judge(logs);
    if (!fills) {
      EXPECT_TRUE(verdict.findings.empty());
      continue;
    }
    const RunFinding finding = only(verdict);
    EXPECT_EQ(finding.cause, RunCause::kMemoryGrowth);
    EXPECT_FALSE(finding.on_device);
    EXPECT_NEAR(finding.bytes_per_hour, 10e9, 0.2e9);
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

TEST(RunVerdict, ALongWarmUp) {
  Job job{.steps = 400};
  job.change = [](Own& own, std::mt19937&) {
    if (own.step < 5) own.forward += 2000;
  };
  const RunFinding finding = only(judge(job));
  EXPECT_EQ(finding.cause, RunCause::kWarmUp);
  EXPECT_GT(finding.lost_share, 0.3);
}

}  // namespace
}  // namespace redline::trace
