#include "trace/emit/write_pace.h"

#include <gtest/gtest.h>

#include <random>

namespace redline::trace {
namespace {

constexpr int64_t kPaceSecond = 1'000'000'000;

TEST(WritePace, HasNoBoundUntilOneIsSet) {
  WritePace pace;
  EXPECT_EQ(pace.take(1'000'000'000), 1'000'000'000U);
  EXPECT_EQ(pace.wait_and_take(7), 7U);
}

TEST(WritePace, GivesASecondsWorthAtOnceAndThenWhatTheTimeBrings) {
  WritePace pace;
  pace.set(1000);
  const int64_t begin = 1'000 * kPaceSecond;
  EXPECT_EQ(pace.take(400, begin), 400U);
  EXPECT_EQ(pace.take(5000, begin), 600U);
  EXPECT_EQ(pace.take(5000, begin), 0U);
  EXPECT_EQ(pace.take(5000, begin + kPaceSecond / 4), 250U);
  EXPECT_EQ(pace.take(5000, begin + 60 * kPaceSecond), 1000U) << "what was not used is gone";
  EXPECT_EQ(pace.take(5000, begin + 60 * kPaceSecond + kPaceSecond / 1000), 1U);
}

TEST(WritePace, NeverGivesMoreThanTheRateForAnyTime) {
  std::mt19937_64 random(7);
  WritePace pace;
  pace.set(12'345);
  int64_t now_ns = kPaceSecond;
  uint64_t taken = 0;
  for (int round = 0; round < 2000; ++round) {
    now_ns += static_cast<int64_t>(random() % (kPaceSecond / 50));
    taken += pace.take(random() % 1000, now_ns);
    const double most = 12'345 * (static_cast<double>(now_ns) * 1e-9);
    ASSERT_LE(static_cast<double>(taken), most);
  }
  EXPECT_GT(taken, 200'000U);
}

TEST(WritePace, WaitsNoLongerOnceItIsLifted) {
  WritePace pace;
  pace.set(1);
  EXPECT_EQ(pace.wait_and_take(1), 1U);
  EXPECT_EQ(pace.take(1), 0U);
  pace.lift();
  EXPECT_EQ(pace.wait_and_take(1'000'000), 1'000'000U);
  pace.set(1);
  EXPECT_LE(pace.take(100), 1U) << "a new bound ends it";
}

}  // namespace
}  // namespace redline::trace
