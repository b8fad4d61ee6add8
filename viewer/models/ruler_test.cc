#include "viewer/models/ruler.h"

#include <gtest/gtest.h>

#include <set>

namespace redline::viewer {
namespace {

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
