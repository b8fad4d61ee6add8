#include "viewer/models/lane_pixels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "viewer/models/testing_trace.h"

namespace redline::viewer {
namespace {

// The covered share of each column, computed by looking at every slice.
std::vector<double> brute_force(const RandomLane& lane, const TimeAxis& axis) {
  std::vector<double> cover(static_cast<size_t>(axis.width), 0.0);
  for (size_t i = 0; i < lane.begin_ns.size(); ++i) {
    const double x0 = axis.x_of(lane.begin_ns[i]);
    const double x1 = axis.x_of(lane.end_ns[i]);
    const int last = std::min(axis.width - 1, static_cast<int>(std::floor(x1)));
    for (int c = std::max(0, static_cast<int>(std::floor(x0))); c <= last; ++c) {
      cover[static_cast<size_t>(c)] += std::max(0.0, std::min(x1, c + 1.0) - std::max(x0, c + 0.0));
    }
  }
  return cover;
}

std::vector<double> shown(const LanePixels& pixels) {
  std::vector<double> cover(pixels.cover.size());
  for (size_t c = 0; c < cover.size(); ++c) cover[c] = pixels.cover[c] / 255.0;
  for (const SliceBox& box : pixels.boxes) {
    for (int c = box.left; c < box.right; ++c) cover[static_cast<size_t>(c)] = 1;
  }
  return cover;
}

TimeAxis axis_over(const RandomLane& lane, double from, double to, int width) {
  const double span = static_cast<double>(lane.end_ns.back() - lane.begin_ns.front());
  const int64_t begin = lane.begin_ns.front() + static_cast<int64_t>(from * span);
  return {begin, std::max<int64_t>(1, static_cast<int64_t>((to - from) * span)), width};
}

TEST(LanePixels, WhereSliceFollowsSliceEachColumnIsFull) {
  std::vector<int64_t> begin_ns, end_ns;
  for (int64_t i = 0; i < 4000; ++i) {
    begin_ns.push_back(10 * i);
    end_ns.push_back(10 * i + 10);
  }
  const std::vector<uint8_t> classes(begin_ns.size());
  const LaneColumns lane{begin_ns, end_ns, classes};
  const LanePyramid pyramid(lane);
  LanePixels pixels;
  for (int width = 3; width < 600; ++width) {
    draw_lane(lane, pyramid, {0, end_ns.back(), width}, pixels);
    // The last bucket of a level reaches beyond the lane, so the last column may be less.
    for (size_t x = 0; x + 1 < pixels.cover.size(); ++x) {
      ASSERT_GE(pixels.cover[x], 250) << "column " << x << " of " << width;
    }
  }
}

TEST(LanePixels, ShowsWhatIsThereAtEveryZoom) {
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    const RandomLane lane(seed, 20'000, 1'790'857'026'000'000'000);
    const LanePyramid pyramid(lane.columns());
    LanePixels pixels;
    for (const double to : {1.0, 0.7, 0.4, 0.35, 0.31, 0.301, 0.3001}) {
      const TimeAxis axis = axis_over(lane, to == 1.0 ? 0 : 0.3, to, 700);
      draw_lane(lane.columns(), pyramid, axis, pixels);
      const std::vector<double> expected = brute_force(lane, axis);
      const std::vector<double> cover = shown(pixels);
      double difference = 0;
      for (size_t c = 0; c < cover.size(); ++c) {
        // A column is never empty if it has slices (boxes end at the nearest whole column), and
        // never filled if it has none.
        if (expected[c] > 0.99) {
          ASSERT_GT(cover[c], 0) << "column " << c << " zoom " << to;
        }
        const double around = expected[c] + (c > 0 ? expected[c - 1] : 1) +
                              (c + 1 < cover.size() ? expected[c + 1] : 1);
        if (around == 0) {
          ASSERT_LE(cover[c], 1.5 / 255) << "column " << c << " zoom " << to;
        }
        difference += std::abs(cover[c] - expected[c]);
      }
      EXPECT_LT(difference / axis.width, 0.06) << "zoom " << to;
    }
  }
}

TEST(LanePixels, NoSliceIsTooShortToBeSeen) {
  const RandomLane lane(21, 20'000, 0);
  const LanePyramid pyramid(lane.columns());
  LanePixels pixels;
  for (const double to : {1.0, 0.5, 0.31, 0.3001}) {
    const TimeAxis axis = axis_over(lane, 0.3, to, 800);
    draw_lane(lane.columns(), pyramid, axis, pixels);
    const std::vector<double> cover = shown(pixels);
    for (const int64_t begin : lane.begin_ns) {
      const double x = axis.x_of(begin);
      if (x < 1 || x >= axis.width - 1) continue;
      const size_t column = static_cast<size_t>(x);
      ASSERT_GT(cover[column - 1] + cover[column] + cover[column + 1], 0) << "zoom " << to;
    }
  }
}

TEST(LanePixels, AColumnHasTheColourOfASliceThatTouchesIt) {
  const RandomLane lane(31, 20'000, 0);
  const LanePyramid pyramid(lane.columns());
  LanePixels pixels;
  for (const double to : {1.0, 0.5, 0.31, 0.3001}) {
    const TimeAxis axis = axis_over(lane, 0.3, to, 800);
    draw_lane(lane.columns(), pyramid, axis, pixels);
    for (size_t c = 0; c < pixels.cover.size(); ++c) {
      if (pixels.cover[c] == 0) continue;
      const uint32_t slice = pixels.slice[c];
      const double x = static_cast<double>(c);
      EXPECT_LT(axis.x_of(lane.begin_ns[slice]), x + 2) << "zoom " << to;
      EXPECT_GT(axis.x_of(lane.end_ns[slice]), x - 1) << "zoom " << to;
      EXPECT_EQ(pixels.colour[c], lane.columns().classes[slice]);
    }
  }
}

TEST(LanePixels, EveryWideSliceIsABoxAtEveryZoom) {
  const RandomLane lane(11, 20'000, 0);
  const LanePyramid pyramid(lane.columns());
  LanePixels pixels;
  for (const double to : {1.0, 0.6, 0.32, 0.302}) {
    const TimeAxis axis = axis_over(lane, 0.3, to, 900);
    draw_lane(lane.columns(), pyramid, axis, pixels);
    std::vector<uint32_t> boxed;
    int right = 0;
    for (const SliceBox& box : pixels.boxes) {
      EXPECT_GE(box.left, right) << "boxes overlap";
      EXPECT_GT(box.right, box.left);
      right = box.right;
      boxed.push_back(box.slice);
    }
    for (uint32_t i = 0; i < lane.begin_ns.size(); ++i) {
      const double x0 = axis.x_of(lane.begin_ns[i]);
      const double x1 = axis.x_of(lane.end_ns[i]);
      if (x1 - x0 < 4 || x1 < 1 || x0 > axis.width - 1) continue;
      EXPECT_TRUE(std::binary_search(boxed.begin(), boxed.end(), i)) << "slice " << i;
    }
  }
}

TEST(LanePixels, ReadsPixelsNotSlices) {
  // One pixel of an unevenly filled lane has 2 million slices; galloping must skip them.
  std::vector<int64_t> begin;
  std::vector<int64_t> end;
  for (int64_t i = 0; i < 100'000; ++i) {
    begin.push_back(i * 2);
    end.push_back(i * 2 + 1);
  }
  begin.push_back(1'000'000'000'000);
  end.push_back(1'000'000'001'000);
  const std::vector<uint8_t> classes(begin.size(), 2);
  const LaneColumns lane{begin, end, classes};
  LanePixels pixels;
  draw_lane(lane, LanePyramid(), {0, 1'000'000, 100}, pixels);
  EXPECT_NEAR(pixels.cover[3], 127, 20);
  EXPECT_NEAR(pixels.cover[19], 127, 20);
  EXPECT_EQ(pixels.cover[21], 0);
}

TEST(SliceAt, FindsTheSliceUnderTheCursorAsALookAtAllOfThemDoes) {
  const RandomLane lane(5, 3000, 0);
  std::mt19937 random(1);
  for (int n = 0; n < 5000; ++n) {
    const int64_t time = static_cast<int64_t>(random() % static_cast<uint64_t>(lane.end_ns.back()));
    uint32_t inside = LanePyramid::kNoSlice;
    for (uint32_t i = 0; i < lane.begin_ns.size(); ++i) {
      if (lane.begin_ns[i] <= time && time < lane.end_ns[i]) inside = i;
    }
    const uint32_t found = slice_at(lane.columns(), time, 0);
    if (inside != LanePyramid::kNoSlice) {
      ASSERT_EQ(found, inside);
    } else if (found != LanePyramid::kNoSlice) {
      ASSERT_TRUE(lane.begin_ns[found] == time || lane.end_ns[found] == time);
    }
  }
}

TEST(SliceAt, ToleranceReachesTheNearest) {
  const std::vector<int64_t> begin{100, 200};
  const std::vector<int64_t> end{110, 200};
  const std::vector<uint8_t> classes{0, 0};
  const LaneColumns lane{begin, end, classes};
  EXPECT_EQ(slice_at(lane, 120, 5), LanePyramid::kNoSlice);
  EXPECT_EQ(slice_at(lane, 120, 10), 0U);
  EXPECT_EQ(slice_at(lane, 190, 10), 1U);
  EXPECT_EQ(slice_at(lane, 205, 10), 1U);
  EXPECT_EQ(slice_at(lane, 95, 10), 0U);
  EXPECT_EQ(slice_at({}, 95, 10), LanePyramid::kNoSlice);
}

std::string shown_text(const LanePixels& pixels) {
  std::string text;
  for (size_t c = 0; c < pixels.cover.size(); ++c) {
    text += fmt::format("{}/{}/{} ", pixels.cover[c], pixels.colour[c], pixels.slice[c]);
  }
  for (const SliceBox& box : pixels.boxes) {
    text += fmt::format("[{}/{} {}-{}] ", box.slice, box.colour, box.left, box.right);
  }
  return text;
}

// Ten nanoseconds a pixel. What is covered is of 255, by hand.
TEST(LanePixels, EachColumnIsAsTheSlicesSay) {
  const std::vector<int64_t> begin{80, 100, 103, 118, 125, 140, 165, 181, 195};
  const std::vector<int64_t> end{99, 100, 108, 124, 127, 160, 184, 195, 230};
  const std::vector<uint8_t> classes{1, 2, 3, 4, 5, 6, 7, 8, 9};
  LanePixels pixels;
  draw_lane({begin, end, classes}, LanePyramid(), {100, 100, 10}, pixels);
  EXPECT_EQ(shown_text(pixels),
            "128/3/2 51/4/3 153/4/3 0/0/0 0/0/0 0/0/0 128/7/6 255/7/6 255/8/7 128/8/7 "
            "[5/6 4-6] ");
}

// Each of 160 slices takes 16 ns, but every eighth takes 48 ns.
TEST(LanePixels, BucketsAreSharedOutOverTheColumns) {
  std::vector<int64_t> begin, end;
  std::vector<uint8_t> classes;
  for (int64_t i = 0; i < 160; ++i) {
    const int64_t at = 1'000 + 64 * i;
    begin.push_back(at);
    end.push_back(at + (i % 8 == 3 ? 48 : 16));
    classes.push_back(static_cast<uint8_t>(i % 8));
  }
  const LaneColumns lane{begin, end, classes};
  const LanePyramid pyramid(lane);
  ASSERT_EQ(pyramid.levels().front().shift, 8);
  LanePixels pixels;
  draw_lane(lane, pyramid, {1'000, 256 * 10, 10}, pixels);
  EXPECT_EQ(shown_text(pixels),
            "96/3/3 65/4/4 97/3/11 65/4/12 97/3/19 65/4/20 97/3/27 65/4/28 97/3/35 65/4/36 ");
  draw_lane(lane, pyramid, {1'000 + 64, 384 * 8, 8}, pixels);
  EXPECT_EQ(shown_text(pixels), "80/3/3 86/3/11 80/3/19 75/4/20 80/3/27 86/3/35 80/3/43 75/4/44 ");
}

TEST(LanePixels, ALongSliceAmongManyShortOnesIsABox) {
  std::vector<int64_t> begin, end;
  for (int64_t i = 0; i < 1'000; ++i) {
    begin.push_back(10 * i);
    end.push_back(10 * i + 5);
  }
  begin.push_back(20'000);
  end.push_back(60'000);
  begin.push_back(60'000);
  end.push_back(61'000);
  const std::vector<uint8_t> classes(begin.size(), 3);
  const LaneColumns lane{begin, end, classes};
  const LanePyramid pyramid(lane);
  LanePixels pixels;
  for (const auto& [from, span, width, boxes] :
       {std::tuple(0, 100'000, 100, "[1000/3 20-60] "),
        std::tuple(30'000, 10'000, 30, "[1000/3 0-30] "),
        std::tuple(0, 100'000, 20, "[1000/3 4-12] "), std::tuple(0, 1'000'000, 40, ""),
        std::tuple(0, 1'000'000, 50, "[1000/3 1-3] ")}) {
    draw_lane(lane, pyramid, {from, span, width}, pixels);
    ASSERT_NE(pyramid.level_for(static_cast<double>(span) / width), nullptr);
    const std::string text = shown_text(pixels);
    const size_t box = text.find('[');
    EXPECT_EQ(box == std::string::npos ? "" : text.substr(box), boxes) << span << " " << width;
  }
}

}  // namespace
}  // namespace redline::viewer
