#include "profiler/session/slow_steps.h"

#include <gtest/gtest.h>

namespace redline::profiler {
namespace {

constexpr int64_t kMs = 1'000'000;

/// Makes `count` steps of `took_ms` each, one after the other. Gives how many were told as slow.
int told(SlowSteps& steps, int count, int64_t took_ms, int64_t& now_ms) {
  int told = 0;
  for (int i = 0; i < count; ++i) {
    now_ms += took_ms;
    told += steps.judge(i, took_ms * kMs, now_ms * kMs).has_value() ? 1 : 0;
  }
  return told;
}

TEST(SlowSteps, AreSeveralTimesTheMedian) {
  SlowSteps steps(3, 0);
  int64_t now = 0;
  EXPECT_EQ(told(steps, 50, 10, now), 0);
  EXPECT_EQ(told(steps, 1, 30, now), 0);
  now += 31;
  EXPECT_EQ(steps.judge(7, 31 * kMs, now * kMs),
            "step 7 took 31.0 ms, 3.1 times the median of 10.0 ms");
}

TEST(SlowSteps, HangWhereTheyAreSlowBySecondsAndGoOn) {
  SlowSteps steps(3, 0);
  int64_t now = 0;
  EXPECT_FALSE(steps.hangs(3'600'000 * kMs));
  EXPECT_EQ(told(steps, 50, 10, now), 0);
  EXPECT_FALSE(steps.hangs(31 * kMs));
  EXPECT_FALSE(steps.hangs(1030 * kMs));
  EXPECT_TRUE(steps.hangs(1031 * kMs));
  EXPECT_EQ(steps.tell_hanging(7, 1031 * kMs, now * kMs),
            "step 7 has not ended after 1031.0 ms, 103.1 times the median of 10.0 ms");
  SlowSteps with_pause(3, 3'600'000 * kMs);
  EXPECT_EQ(told(with_pause, 50, 10, now) + told(with_pause, 2, 100, now), 1);
  EXPECT_TRUE(with_pause.tell_hanging(7, 1031 * kMs, now * kMs));
  EXPECT_FALSE(with_pause.tell_hanging(8, 1031 * kMs, now * kMs));
  EXPECT_EQ(with_pause.not_told(), 2u);
  EXPECT_FALSE(SlowSteps(0, 0).hangs(1031 * kMs));
}

TEST(SlowSteps, NeedSomeStepsToCompareWith) {
  SlowSteps steps(3, 0);
  int64_t now = 0;
  EXPECT_EQ(told(steps, 1, 10, now) + told(steps, 1, 1000, now), 0);
}

TEST(SlowSteps, AreTheNewUsualWhenTheyStay) {
  SlowSteps steps(3, 0);
  int64_t now = 0;
  EXPECT_EQ(told(steps, 64, 10, now), 0);
  EXPECT_EQ(told(steps, 40, 50, now), 32);  // then half of the last 64 are like them
  SlowSteps settled(3, 0);
  EXPECT_EQ(told(settled, 10, 10, now), 0);
  EXPECT_GT(told(settled, 40, 50, now), 0);
  EXPECT_EQ(told(settled, 40, 50, now), 0);
}

TEST(SlowSteps, AreToldOnceInAPause) {
  SlowSteps steps(2, 1000 * kMs);
  int64_t now = 0;
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(told(steps, 20, 10, now), 0);
    told(steps, 1, 100, now);  // one slow step every 300 ms
  }
  EXPECT_GT(steps.not_told(), 25u);
  EXPECT_LT(steps.not_told(), 35u);
}

TEST(SlowSteps, AreToldHoursIntoAJob) {
  SlowSteps steps(3, 1000 * kMs);
  int64_t now = 0;
  for (int i = 0; i < 100; ++i) {  // an evaluation now and then
    EXPECT_EQ(told(steps, 110, 10, now), 0);
    EXPECT_EQ(told(steps, 1, 100, now), 1);
    EXPECT_TRUE(steps.tell_hanging(7, 1031 * kMs, now * kMs));
  }
  EXPECT_EQ(steps.not_told(), 0u);
}

TEST(SlowSteps, AreToldSoSeldomThatWritingThemTakesAFiftiethOfTheTime) {
  SlowSteps steps(2, 1000 * kMs);
  int64_t now = 0;
  EXPECT_EQ(told(steps, 20, 10, now) + told(steps, 1, 100, now), 1);
  steps.written(40 * kMs);  // 50 times that is 2 s
  now += 1899;
  EXPECT_EQ(told(steps, 1, 100, now), 0);
  now -= 99;
  EXPECT_EQ(told(steps, 1, 100, now), 1);
  steps.written(2 * kMs);  // less than the shortest pause
  now += 900;
  EXPECT_EQ(told(steps, 1, 100, now), 1);
}

TEST(SlowSteps, AreNoneWhereNobodyWantsThem) {
  SlowSteps steps(0, 0);
  int64_t now = 0;
  EXPECT_EQ(told(steps, 20, 10, now) + told(steps, 1, 10'000, now), 0);
}

}  // namespace
}  // namespace redline::profiler
