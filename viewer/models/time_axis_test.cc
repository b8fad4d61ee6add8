#include "viewer/models/time_axis.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

namespace redline::viewer {
namespace {

constexpr int64_t kYear = TimeAxis::kMaxSpanNs;
constexpr int64_t kUnix = 1'790'857'026'000'000'123;  // a unix time: doubles step by 256 ns here

struct MappingCase {
  TimeAxis axis;
  int64_t time_ns;
  double x;
};

TEST(TimeAxis, MapsTimesToPixelsFromOneNanosecondToOneYear) {
  const MappingCase cases[] = {
      {{0, 1000, 100}, 500, 50},
      {{kUnix, 1, 1000}, kUnix, 0},
      {{kUnix, 1, 1000}, kUnix + 1, 1000},
      {{kUnix, 10, 1000}, kUnix + 7, 700},
      {{kUnix, 10, 1000}, kUnix - 1, -100},
      {{kUnix, 1'000'000, 500}, kUnix + 250'000, 125},
      {{kUnix, kYear, 1600}, kUnix + kYear / 2, 800},
      {{kUnix, kYear, 1600}, kUnix + kYear, 1600},
  };
  for (const MappingCase& c : cases) {
    EXPECT_NEAR(c.axis.x_of(c.time_ns), c.x, 1e-6) << c.axis.span_ns;
    EXPECT_NEAR(static_cast<double>(c.axis.time_at(c.x) - c.time_ns), 0,
                c.axis.span_ns > 1'000'000'000'000 ? 8 : 1)
        << c.axis.span_ns;
  }
}

TEST(TimeAxis, ZoomKeepsTheTimeUnderTheCursor) {
  for (const int64_t span : {int64_t{1000}, int64_t{1'000'000'000}, kYear / 4}) {
    for (const double x : {0.0, 13.0, 500.0, 999.0}) {
      const TimeAxis axis{kUnix, span, 1000};
      const TimeAxis nearer = axis.zoomed(0.8, x);
      const double tolerance = static_cast<double>(span) * 1e-9 + 2;
      EXPECT_NEAR(static_cast<double>(nearer.time_at(x) - axis.time_at(x)), 0, tolerance) << span;
      EXPECT_NEAR(static_cast<double>(nearer.span_ns), 0.8 * static_cast<double>(span), 1);
    }
  }
}

TEST(TimeAxis, ZoomNeverGetsStuckAndNeverLeavesItsLimits) {
  TimeAxis axis{kUnix, kYear, 1000};
  for (int i = 0; i < 2000 && axis.span_ns > 1; ++i) {
    const int64_t before = axis.span_ns;
    axis = axis.zoomed(0.9, 400);
    ASSERT_LT(axis.span_ns, before);
  }
  EXPECT_EQ(axis.span_ns, TimeAxis::kMinSpanNs);
  EXPECT_EQ(axis.zoomed(0.9, 400).span_ns, 1);
  for (int i = 0; i < 2000 && axis.span_ns < kYear; ++i) {
    const int64_t before = axis.span_ns;
    axis = axis.zoomed(1.1, 400);
    ASSERT_GT(axis.span_ns, before);
  }
  EXPECT_EQ(axis.zoomed(1.1, 400).span_ns, kYear);
}

TEST(TimeAxis, PanMovesByPixelsAndComesBack) {
  const TimeAxis axis{kUnix, 1'000'000, 1000};
  EXPECT_EQ(axis.panned(10).begin_ns, kUnix + 10'000);
  EXPECT_EQ(axis.panned(10).panned(-10).begin_ns, kUnix);
}

TEST(TimeAxis, StaysNearTheTrace) {
  const TimeRange bounds{100, 200};
  EXPECT_EQ((TimeAxis{1000, 10, 100}.kept_near(bounds).range()), (TimeRange{195, 205}));
  EXPECT_EQ((TimeAxis{-1000, 10, 100}.kept_near(bounds).range()), (TimeRange{95, 105}));
  EXPECT_EQ((TimeAxis{120, 10, 100}.kept_near(bounds).range()), (TimeRange{120, 130}));
}

TEST(TimeAxis, HostileTimesSaturate) {
  constexpr int64_t lowest = std::numeric_limits<int64_t>::min();
  constexpr int64_t highest = std::numeric_limits<int64_t>::max();
  const TimeAxis axis{highest - 5, 1000, 100};
  EXPECT_EQ(axis.end_ns(), highest);
  EXPECT_LT(axis.x_of(lowest), 0);
  EXPECT_EQ(axis.time_at(1e30), highest);
  EXPECT_EQ((TimeRange{lowest, highest}.span_ns()), highest);
  EXPECT_EQ(axis.showing({lowest, highest}).span_ns, kYear);
}

TEST(Ruler, RoundDistances) {
  const auto ticks = ruler_ticks({0, 40'000'000, 1000}, 0, 90);
  std::vector<std::string> labels;
  for (const Tick& tick : ticks) {
    if (!tick.label.empty()) labels.push_back(tick.label);
  }
  EXPECT_EQ(labels, (std::vector<std::string>{"+0 ms", "+5 ms", "+10 ms", "+15 ms", "+20 ms",
                                              "+25 ms", "+30 ms", "+35 ms", "+40 ms"}));
}

TEST(Ruler, LabelsDifferAndKeepTheirDistanceAtEveryZoom) {
  for (int64_t span = 1; span < TimeAxis::kMaxSpanNs / 3; span *= 3) {
    const TimeAxis axis{123'456'789, span, 1200};
    std::set<std::string> seen;
    double last_x = -1e9;
    const auto ticks = ruler_ticks(axis, 0, 90);
    EXPECT_LE(ticks.size(), 100U) << span;
    for (const Tick& tick : ticks) {
      if (tick.label.empty()) continue;
      EXPECT_TRUE(seen.insert(tick.label).second) << tick.label << " twice at " << span;
      EXPECT_GE(axis.x_of(tick.time_ns) - last_x, 89.9) << span;
      last_x = axis.x_of(tick.time_ns);
    }
    EXPECT_GE(seen.size(), 1U) << span;
  }
}

TEST(Ruler, HostileAxis) {
  (void)ruler_ticks({INT64_MAX - 10, 1000, 100}, 0, 90);
  (void)ruler_ticks({INT64_MIN, 1000, 100}, 0, 90);
}

}  // namespace

}  // namespace redline::viewer
