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
  const Chart close{
      "t", "trial", false, {{"a", {{1, 5.0, true, 1, ""}, {1, 5.05, true, 2, ""}}, false, {}}}};
  const ChartGeometry both(close, kRect);
  EXPECT_EQ(both.point_at(both.x_of(1), both.y_of(5.0)), 0U) << "the other is near enough, too";
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

// Each value by hand: the highest point is 8 % below the top, a failed one 6 pixels above the
// bottom.
TEST(ChartGeometry, PlacesAndTicksOfPlainAxes) {
  const Chart chart{
      "t",
      "trial",
      false,
      {{"a", {{1, 10.0, true, 1, "", 0, 25}, {5, std::nullopt, true, 2, ""}}, false, {}},
       {"b", {{3, 20.0, true, 3, ""}}, false, {}}}};
  const ChartGeometry geometry(chart, {0, 0, 500, 270});
  EXPECT_DOUBLE_EQ(geometry.x_of(0.5), 0);
  EXPECT_DOUBLE_EQ(geometry.x_of(5.5), 500);
  EXPECT_DOUBLE_EQ(geometry.x_of(3), 250);
  EXPECT_DOUBLE_EQ(geometry.y_of(27.0), 0) << "25, the end of a range, times 1.08";
  EXPECT_DOUBLE_EQ(geometry.y_of(13.5), 135);
  EXPECT_DOUBLE_EQ(geometry.y_of(std::nullopt), 264);
  const auto texts = [](const std::vector<ChartTick>& ticks) {
    std::string all;
    for (const ChartTick& tick : ticks) all += tick.text + " ";
    return all;
  };
  EXPECT_EQ(texts(geometry.x_ticks()), "1 2 3 4 5 ");
  EXPECT_EQ(texts(geometry.y_ticks()), "0 10 20 ");
  EXPECT_EQ(texts(ChartGeometry(chart, {0, 0, 100, 270}).x_ticks()), "1 ");
  EXPECT_EQ(geometry.point_at(250 + 8, geometry.y_of(20.0)), 2U);
  EXPECT_EQ(geometry.point_at(250 + 8.1, geometry.y_of(20.0)), std::nullopt);
  EXPECT_EQ(geometry.point_at(50, geometry.y_of(10.0) + 7.9), 0U);

  const auto y_ticks = [&](double top) {
    const Chart one{"t", "x", false, {{"a", {{1, top, true, 1, ""}}, false, {}}}};
    return texts(ChartGeometry(one, kRect).y_ticks());
  };
  EXPECT_EQ(y_ticks(0), "0 0.200 0.400 0.600 0.800 1 ");
  EXPECT_EQ(y_ticks(0.5), "0 0.200 0.400 ");
  EXPECT_EQ(y_ticks(4), "0 1 2 3 4 ");
  EXPECT_EQ(y_ticks(5), "0 2 4 ");
  EXPECT_EQ(y_ticks(25 / 1.08), "0 5 10 15 20 25 ");
  EXPECT_EQ(y_ticks(4'500), "0 1,000 2,000 3,000 4,000 ");

  const auto x_ticks = [&](double low, double high, double width) {
    const Chart both{
        "t", "x", true, {{"a", {{low, 1.0, true, 1, ""}, {high, 1.0, true, 2, ""}}, false, {}}}};
    return texts(ChartGeometry(both, {0, 0, width, 100}).x_ticks());
  };
  EXPECT_EQ(x_ticks(1, 1024, 1000), "1 2 4 8 16 32 64 128 256 512 1,024 ");
  EXPECT_EQ(x_ticks(1, 1024, 400), "1 4 16 64 256 1,024 ");
  EXPECT_EQ(x_ticks(1, 1024, 10), "1 64 ");
  EXPECT_EQ(x_ticks(4 * 1.3, 32 / 1.3, 1000), "4 8 16 32 ") << "both ends belong to the axis";
}

}  // namespace
}  // namespace redline::viewer
