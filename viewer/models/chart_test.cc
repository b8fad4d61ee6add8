#include "viewer/models/chart.h"

#include <gtest/gtest.h>

namespace redline::viewer {
namespace {

constexpr ChartGeometry::Rect kRect{50, 10, 450, 210};

Chart batches() {
  Chart chart{"t", "batch size", true, {}};
  chart.series.push_back({"a",
                          {{16, 100.0, true, 1, "one"},
                           {64, 300.0, true, 2, "two"},
                           {256, std::nullopt, false, 3, "three"}},
                          false,
                          {}});
  return chart;
}

TEST(ChartGeometry, PointsStandInsideAndInOrder) {
  const Chart chart = batches();
  const ChartGeometry geometry(chart, kRect);
  EXPECT_GT(geometry.x_of(16), kRect.left);
  EXPECT_LT(geometry.x_of(256), kRect.right);
  EXPECT_NEAR(geometry.x_of(64) - geometry.x_of(16), geometry.x_of(256) - geometry.x_of(64), 1e-9)
      << "by ratio";
  EXPECT_EQ(geometry.y_of(0.0), kRect.bottom);
  EXPECT_GT(geometry.y_of(300.0), kRect.top);
  EXPECT_LT(geometry.y_of(300.0), geometry.y_of(100.0));
  EXPECT_LT(geometry.y_of(std::nullopt), kRect.bottom);
}

TEST(ChartGeometry, TicksAreRoundAndInside) {
  const Chart chart = batches();
  const ChartGeometry geometry(chart, kRect);
  std::string texts;
  for (const ChartTick& tick : geometry.x_ticks()) texts += tick.text + " ";
  EXPECT_EQ(texts, "16 32 64 128 256 ");
  for (const ChartTick& tick : geometry.y_ticks()) {
    EXPECT_GE(geometry.y_of(tick.value), kRect.top);
    EXPECT_LE(geometry.y_of(tick.value), kRect.bottom);
  }
  EXPECT_EQ(geometry.y_ticks().back().text, "300");
}

TEST(ChartGeometry, FindsTheNearestPoint) {
  const Chart chart = batches();
  const ChartGeometry geometry(chart, kRect);
  const auto at = [&](double x, const std::optional<double>& y, double off) {
    return geometry.point_at(geometry.x_of(x) + off, geometry.y_of(y) - off);
  };
  EXPECT_EQ(at(64, 300, 3), 1U);
  EXPECT_EQ(at(256, std::nullopt, 0), 2U);
  EXPECT_EQ(at(64, 300, 20), std::nullopt);
}

TEST(ChartGeometry, AnEmptyOrFlatChartHasNoInfinities) {
  const Chart nothing;
  EXPECT_TRUE(nothing.empty());
  const ChartGeometry empty(nothing, kRect);
  EXPECT_TRUE(empty.x_ticks().empty());
  EXPECT_EQ(empty.point_at(100, 100), std::nullopt);
  const Chart failed{"t", "trial", false, {{"a", {{1, std::nullopt, false, 1, ""}}, true, {}}}};
  const ChartGeometry one(failed, kRect);
  EXPECT_NEAR(one.x_of(1), 250, 1e-9);
  EXPECT_EQ(one.x_ticks().size(), 1U);
  EXPECT_EQ(one.y_ticks().front().text, "0");
}

TEST(ChartSteps, WalkASeriesAndLeadToTheNearestPointOfTheOthers) {
  Chart chart = batches();
  chart.series.push_back({"none", {}, false, {}});
  chart.series.push_back(
      {"b", {{8, 1.0, true, 4, "four"}, {128, 2.0, true, 5, "five"}}, false, {}});
  ASSERT_EQ(chart.point_count(), 5U);
  EXPECT_EQ(chart.point(3).hint, "four");
  const auto after = [&](size_t index, ChartStep step) {
    return chart.point(point_after(chart, index, step)).hint;
  };
  EXPECT_EQ(after(0, ChartStep::kRight), "two");
  EXPECT_EQ(after(2, ChartStep::kRight), "three") << "the end";
  EXPECT_EQ(after(0, ChartStep::kLeft), "one");
  EXPECT_EQ(after(2, ChartStep::kLeft), "two");
  EXPECT_EQ(after(1, ChartStep::kFirst), "one");
  EXPECT_EQ(after(3, ChartStep::kLast), "five");
  EXPECT_EQ(after(0, ChartStep::kSeriesAfter), "four") << "8 is nearer to 16 than 128";
  EXPECT_EQ(after(2, ChartStep::kSeriesAfter), "five");
  EXPECT_EQ(after(4, ChartStep::kSeriesAfter), "five");
  EXPECT_EQ(after(3, ChartStep::kSeriesBefore), "one");
  EXPECT_EQ(after(1, ChartStep::kSeriesBefore), "two");
}

}  // namespace
}  // namespace redline::viewer
