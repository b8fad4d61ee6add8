#include "base/intervals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace redline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Intervals, MergeSortsAndJoins) {
  EXPECT_THAT(merge({{5, 9}, {0, 2}, {2, 3}, {8, 12}, {20, 20}}),
              ElementsAre(Interval{0, 3}, Interval{5, 12}));
  EXPECT_THAT(merge({}), IsEmpty());
}

TEST(Intervals, SetOperations) {
  const Intervals left = {{0, 10}, {20, 30}}, right = {{5, 22}, {25, 26}};
  EXPECT_THAT(unite(left, right), ElementsAre(Interval{0, 30}));
  EXPECT_THAT(intersect(left, right),
              ElementsAre(Interval{5, 10}, Interval{20, 22}, Interval{25, 26}));
  EXPECT_THAT(subtract(left, right),
              ElementsAre(Interval{0, 5}, Interval{22, 25}, Interval{26, 30}));
  EXPECT_EQ(total_ns(left), 20);
}

// Compares every operation with a count of single nanoseconds.
TEST(Intervals, AgreesWithCounting) {
  uint32_t random = 1;
  const auto next = [&] { return random = random * 1664525 + 1013904223, (random >> 20) % 64; };
  for (int round = 0; round < 300; ++round) {
    std::vector<Interval> lists[2];
    bool in[2][128] = {};
    for (int side = 0; side < 2; ++side) {
      for (int i = 0; i < 6; ++i) {
        const int64_t begin = next(), end = begin + next() / 8;
        lists[side].push_back({begin, end});
        for (int64_t at = begin; at < end; ++at) in[side][at] = true;
      }
    }
    const Intervals a = merge(lists[0]), b = merge(lists[1]);
    int64_t both = 0, either = 0, only_a = 0, within = 0;
    for (int at = 0; at < 128; ++at) {
      both += in[0][at] && in[1][at];
      either += in[0][at] || in[1][at];
      only_a += in[0][at] && !in[1][at];
      within += in[0][at] && at >= 10 && at < 40;
    }
    EXPECT_EQ(total_ns(intersect(a, b)), both);
    EXPECT_EQ(total_ns(unite(a, b)), either);
    EXPECT_EQ(total_ns(subtract(a, b)), only_a);
    EXPECT_EQ(total_within_ns(a, {10, 40}), within);
  }
}

}  // namespace
}  // namespace redline
