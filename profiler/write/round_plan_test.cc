#include "profiler/write/round_plan.h"

#include <gtest/gtest.h>

namespace redline::profiler {
namespace {

constexpr int64_t kMs = 1'000'000;

TEST(RoundPlan, RecordsWaitForASecondWhereOthersHaveTheCores) {
  RoundPlan plan;
  EXPECT_EQ(plan.begin(1000 * kMs), 0);
  EXPECT_FALSE(plan.is_due(1049 * kMs, false));
  EXPECT_TRUE(plan.is_due(1050 * kMs, false));
  EXPECT_EQ(plan.next_ns(), 1050 * kMs);
  plan.end(machine::ThreadTimes{.run_ns = 100, .wait_ns = 51});
  EXPECT_EQ(plan.next_ns(), 2000 * kMs);
  EXPECT_FALSE(plan.is_due(1999 * kMs, false));
  EXPECT_TRUE(plan.is_due(2000 * kMs, false));
  EXPECT_FALSE(plan.is_due(1049 * kMs, true));
  EXPECT_TRUE(plan.is_due(1050 * kMs, true)) << "memory becomes short";
}

TEST(RoundPlan, OnlyWhatTheLastRoundWaitedCounts) {
  RoundPlan plan;
  const auto is_crowded = [&](int64_t run_ns, int64_t wait_ns) {
    plan.end(machine::ThreadTimes{.run_ns = run_ns, .wait_ns = wait_ns});
    return !plan.is_due(plan.begun_ns() + 50 * kMs, false);
  };
  EXPECT_EQ(plan.begin(5000 * kMs), 0);
  EXPECT_FALSE(is_crowded(100, 50));
  EXPECT_TRUE(is_crowded(200, 101));
  EXPECT_FALSE(is_crowded(400, 201));
  plan.end(std::nullopt);
  EXPECT_TRUE(plan.is_due(5050 * kMs, false)) << "the kernel does not say, so nothing changes";
  EXPECT_TRUE(is_crowded(500, 300));
  EXPECT_EQ(plan.begin(6000 * kMs), 5000 * kMs);
}

}  // namespace
}  // namespace redline::profiler
