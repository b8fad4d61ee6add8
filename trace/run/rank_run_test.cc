#include "trace/run/rank_run.h"

#include <gtest/gtest.h>

#include <vector>

namespace redline::trace {
namespace {

std::vector<int64_t> steps_after(const std::vector<int64_t>& gaps) {
  std::vector<int64_t> steps = {7};
  for (const int64_t gap : gaps) steps.push_back(steps.back() + gap);
  return steps;
}

TEST(Period, IsTheUsualGap) {
  EXPECT_EQ(period_of(steps_after({100, 100, 100})), 100);
  EXPECT_EQ(period_of(steps_after({20, 20, 20, 20, 340, 20, 20})), 20)
      << "five of seven are more than 70 %";
  EXPECT_EQ(period_of(steps_after({100, 100})), 0) << "too few";
  EXPECT_EQ(period_of(steps_after({1, 1, 1, 1, 1})), 0) << "each step";
}

TEST(Period, SevenOfTenGapsAreAlike) {
  EXPECT_EQ(period_of(steps_after({50, 50, 50, 50, 50, 50, 50, 90, 91, 92})), 50);
  EXPECT_EQ(period_of(steps_after({50, 50, 50, 50, 50, 50, 80, 90, 91, 92})), 0);
}

TEST(Period, AStepMoreOrLessIsAlikeFromTenOn) {
  EXPECT_EQ(period_of(steps_after({11, 10, 9, 10, 11})), 10);
  EXPECT_EQ(period_of(steps_after({8, 9, 10, 9, 8})), 0);
  EXPECT_EQ(period_of(steps_after({200, 204, 196, 200, 203})), 200) << "2 %";
  EXPECT_EQ(period_of(steps_after({200, 205, 195, 205, 195})), 0);
}

}  // namespace
}  // namespace redline::trace
