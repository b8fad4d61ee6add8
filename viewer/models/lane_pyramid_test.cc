#include "viewer/models/lane_pyramid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "viewer/models/testing_trace.h"

namespace redline::viewer {
namespace {

struct Expected {
  int64_t longest = -1;
  double covered = 0;
};

// What the bucket [low, high) must hold, computed by looking at every slice.
Expected brute_force(const RandomLane& lane, int64_t low, int64_t high) {
  Expected expected;
  for (size_t i = 0; i < lane.begin_ns.size(); ++i) {
    const int64_t begin = lane.begin_ns[i];
    const int64_t last = std::max(lane.end_ns[i] - 1, begin);
    if (begin >= high || last < low) continue;
    expected.longest = std::max(expected.longest, lane.end_ns[i] - begin);
    if (lane.end_ns[i] > begin) {
      expected.covered +=
          static_cast<double>(std::min(lane.end_ns[i], high) - std::max(begin, low));
    }
  }
  return expected;
}

TEST(LanePyramid, EachBucketHoldsTheLongestSliceThatTouchesIt) {
  for (uint32_t seed = 1; seed <= 4; ++seed) {
    const RandomLane lane(seed, 1500, 1'790'857'026'000'000'000);
    const LanePyramid pyramid(lane.columns());
    ASSERT_GT(pyramid.levels().size(), 4U);
    for (const LanePyramid::Level& level : pyramid.levels()) {
      const int64_t width = int64_t{1} << level.shift;
      for (size_t b = 0; b < level.size(); ++b) {
        const int64_t low = pyramid.origin_ns() + static_cast<int64_t>(b) * width;
        const Expected expected = brute_force(lane, low, low + width);
        const uint32_t slice = level.slice[b];
        ASSERT_EQ(slice == LanePyramid::kNoSlice, expected.longest < 0);
        ASSERT_EQ(level.cover[b] == 0, expected.longest < 0);
        if (slice == LanePyramid::kNoSlice) continue;
        ASSERT_EQ(lane.end_ns[slice] - lane.begin_ns[slice], expected.longest);
        ASSERT_EQ(level.slice_class[b], lane.classes[slice]);
        // Each level rounds up by at most one step, and never below 1.
        const double cover = expected.covered / static_cast<double>(width) * 255;
        ASSERT_NEAR(level.cover[b], cover, 2.5) << "shift " << level.shift << " bucket " << b;
      }
    }
    EXPECT_EQ(pyramid.levels().back().size(), 1U);
  }
}

TEST(LanePyramid, LevelIsTheCoarsestThatStillFitsThePixel) {
  const RandomLane lane(7, 5000, 0);
  const LanePyramid pyramid(lane.columns());
  const double finest = std::ldexp(1.0, pyramid.levels().front().shift);
  EXPECT_EQ(pyramid.level_for(finest * 0.99), nullptr);
  for (const double pixel : {finest, finest * 1.9, finest * 2, finest * 37}) {
    const LanePyramid::Level* level = pyramid.level_for(pixel);
    ASSERT_NE(level, nullptr);
    const double bucket = std::ldexp(1.0, level->shift);
    EXPECT_LE(bucket, pixel);
    EXPECT_GT(bucket * 2, pixel);
  }
  EXPECT_EQ(pyramid.level_for(1e18), &pyramid.levels().back());
}

TEST(LanePyramid, CostsAFewBytesASlice) {
  const RandomLane lane(3, 100'000, 0);
  const LanePyramid pyramid(lane.columns());
  size_t bytes = 0;
  for (const LanePyramid::Level& level : pyramid.levels()) {
    bytes += level.size() *
             (sizeof level.slice[0] + sizeof level.slice_class[0] + sizeof level.cover[0]);
  }
  EXPECT_LT(bytes, lane.begin_ns.size() * 7);
}

TEST(LanePyramid, SmallAndHostileLanes) {
  EXPECT_TRUE(LanePyramid(LaneColumns{}).levels().empty());
  for (const size_t slices : {LanePyramid::kMinSlices - 1, LanePyramid::kMinSlices}) {
    const RandomLane lane(9, slices, 0);
    EXPECT_EQ(LanePyramid(lane.columns()).levels().empty(), slices < LanePyramid::kMinSlices);
  }
  std::vector<int64_t> times(200, 5);
  std::vector<uint8_t> classes(200, 1);
  const LanePyramid same(LaneColumns{times, times, classes});
  ASSERT_FALSE(same.levels().empty());
  EXPECT_EQ(same.levels()[0].cover[0], 1);

  times.assign(200, std::numeric_limits<int64_t>::min());
  std::vector<int64_t> ends = times;
  times.back() = std::numeric_limits<int64_t>::max() - 1;
  ends.back() = std::numeric_limits<int64_t>::max();
  const LanePyramid wide(LaneColumns{times, ends, classes});
  EXPECT_LE(wide.levels().front().size(), 200U);
}

}  // namespace
}  // namespace redline::viewer
