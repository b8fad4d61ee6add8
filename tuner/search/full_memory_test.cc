#include "tuner/search/full_memory.h"

#include <gtest/gtest.h>

namespace redline::tuner {
namespace {

TEST(FullMemory, IsSuspectedWhereAllLargestBatchSizesAreSlow) {
  const FullMemory full({{64, 700, false}, {72, 800, false}, {80, 660, false}, {84, 700, false}});
  EXPECT_TRUE(full.is_suspected());
  EXPECT_FALSE(full.is_at(79, false));
  EXPECT_TRUE(full.is_at(80, false));
  EXPECT_FALSE(full.is_at(84, true)) << "reduced precision needs less";
}

TEST(FullMemory, IsNotSuspectedWhereALargerBatchIsFast) {
  const FullMemory full({{64, 700, false}, {72, 500, false}, {80, 690, false}});
  EXPECT_FALSE(full.is_suspected());
  EXPECT_FALSE(FullMemory().is_suspected());
  EXPECT_FALSE(FullMemory({{64, 700, false}, {80, 670, false}}).is_suspected()) << "noise";
}

TEST(FullMemory, OfReducedPrecisionIsFullOfFullPrecisionToo) {
  const FullMemory full({{32, 500, false}, {64, 900, true}, {96, 700, true}});
  EXPECT_TRUE(full.is_at(96, true));
  EXPECT_TRUE(full.is_at(96, false));
  EXPECT_FALSE(full.is_at(64, false));
}

}  // namespace
}  // namespace redline::tuner
