#include "viewer/models/time_axis.h"

#include <fmt/format.h>
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

std::string ticks_text(const TimeAxis& axis, int64_t zero_ns, int pixels) {
  std::string text;
  for (const Tick& tick : ruler_ticks(axis, zero_ns, pixels)) {
    text += tick.label.empty() ? "." : fmt::format(" {}@{}", tick.label, tick.time_ns);
  }
  return text;
}

TEST(Ruler, TicksStandAtRoundTimes) {
  EXPECT_EQ(ticks_text({0, 1000, 100}, 0, 25), " +0.0 µs@0.... +0.5 µs@500.... +1.0 µs@1000");
  EXPECT_EQ(ticks_text({0, 999, 100}, 0, 20),
            " +0 ns@0.... +200 ns@200.... +400 ns@400.... +600 ns@600.... +800 ns@800....");
  EXPECT_EQ(ticks_text({0, 999, 100}, 0, 10),
            " +0 ns@0.... +100 ns@100.... +200 ns@200.... +300 ns@300.... +400 ns@400.... "
            "+500 ns@500.... +600 ns@600.... +700 ns@700.... +800 ns@800.... +900 ns@900....");
  EXPECT_EQ(ticks_text({-7, 20, 10}, 0, 5), " -10 ns@-10.... +0 ns@0.... +10 ns@10.");
  EXPECT_EQ(ticks_text({1'000'000, 3'000'000'000, 300}, 500, 100),
            " +0 s@500.... +1 s@1000000500.... +2 s@2000000500.... +3 s@3000000500");
  EXPECT_EQ(ticks_text({2'000'000'000, 3, 300}, 0, 100),
            " +2.000000000 s@2000000000 +2.000000001 s@2000000001 +2.000000002 s@2000000002 "
            "+2.000000003 s@2000000003");
}

TEST(TimeAxis, WholePixelsAndExtremesByHand) {
  const TimeAxis axis{1'000, 500, 100};
  EXPECT_EQ(axis.time_at(0.1), 1'000);
  EXPECT_EQ(axis.time_at(-0.1), 999);
  EXPECT_EQ(axis.time_at(1e300), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(axis.time_at(-1e300), std::numeric_limits<int64_t>::min() + 1'000);
  EXPECT_EQ(axis.panned(-3).begin_ns, 985);
  const TimeAxis half = axis.zoomed(0.5, 25);
  EXPECT_EQ(half.begin_ns, 1'063);  // a quarter of what went
  EXPECT_EQ(half.span_ns, 250);
  EXPECT_EQ(axis.showing({7, 9}).span_ns, 2);
  EXPECT_EQ(axis.showing({7, 7}).span_ns, 1);
  EXPECT_EQ(axis.kept_near({0, 2'000}).begin_ns, 1'000);
  EXPECT_EQ(axis.kept_near({0, 1'100}).begin_ns, 850);
  EXPECT_EQ(axis.kept_near({2'000, 3'000}).begin_ns, 1'750);
  EXPECT_EQ(axis.kept_near({2'000, 1'000}).begin_ns, 1'750);
}

}  // namespace

}  // namespace redline::viewer
