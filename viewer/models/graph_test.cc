#include "viewer/models/graph.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace redline::viewer {
namespace {

TEST(Graph, HoldsEachValueUntilTheNext) {
  const Graph graph({{100, 5}, {200, 7}, {150, 6}}, "W");
  EXPECT_EQ(graph.at(0), 5);
  EXPECT_EQ(graph.at(149), 5);
  EXPECT_EQ(graph.at(150), 6);
  EXPECT_EQ(graph.at(1000), 7);
  EXPECT_EQ(graph.low(), 0);
  EXPECT_EQ(graph.high(), 7);
}

TEST(Graph, LeavesOutWhatIsNoNumber) {
  const Graph graph({{1, std::nan("")}, {2, INFINITY}, {3, -4}}, "");
  ASSERT_EQ(graph.points().size(), 1U);
  EXPECT_EQ(graph.low(), -4);
  EXPECT_EQ(graph.high(), -4);
  EXPECT_EQ(Graph().at(5), 0);
  EXPECT_FALSE(graph_columns(Graph(), {0, 100, 10}).front().drawn);
}

TEST(Graph, FiguresHaveUnits) {
  EXPECT_EQ(Graph({}, "B").text(1536), "1.5 KiB");
  EXPECT_EQ(Graph({}, "busy %").text(87.5), "87.5 busy %");
  EXPECT_EQ(Graph({}, "").text(12345), "12,345");
  EXPECT_EQ(Graph({}, "B").text(-8), "-8 B");
  EXPECT_EQ(Graph({}, "B").text(1e300), "1e+300 B");
  EXPECT_EQ(Graph({}, "MiB").text(54119.75), "52.9 GiB");
  EXPECT_EQ(Graph({}, "MHz").text(54119.75), "54,120 MHz");
  EXPECT_EQ(Graph({}, "W").text(585.94), "585.9 W");
  EXPECT_EQ(Graph({}, "W").text(999.96), "1000 W");
  EXPECT_EQ(Graph({}, "W").text(1000.4), "1,000 W");
  EXPECT_EQ(Graph({}, "W").text(0), "0 W");
  EXPECT_EQ(Graph({}, "").text(-3), "-3");
  EXPECT_EQ(Graph({}, "").text(1e15), "1e+15");
  EXPECT_EQ(Graph({}, "B").text(0), "0 B");
}

TEST(GraphColumns, BeginWhereTheFirstValueStands) {
  const auto columns = graph_columns(Graph({{50, 3}, {90, 9}}, ""), {0, 100, 10});
  ASSERT_EQ(columns.size(), 10U);
  EXPECT_FALSE(columns[3].drawn);
  EXPECT_TRUE(columns[5].drawn);
  EXPECT_EQ(columns[5].high, 3);
  EXPECT_EQ(columns[7].low, 3);
  EXPECT_EQ(columns[9].low, 3);
  EXPECT_EQ(columns[9].high, 9);
}

// Compares with each column's extent, computed point by point, at any zoom.
TEST(GraphColumns, MissNoPeak) {
  std::mt19937 random(7);
  std::vector<Graph::Point> points;
  for (int64_t time = 0; points.size() < 5000; time += static_cast<int64_t>(random() % 40)) {
    points.push_back({time, static_cast<double>(random() % 1000)});
  }
  const Graph graph(points, "");
  const int64_t whole = points.back().time_ns;
  for (const TimeAxis axis : {TimeAxis{0, whole, 100}, TimeAxis{whole / 3, 900, 64},
                              TimeAxis{-whole, 3 * whole, 333}, TimeAxis{whole / 2, 10, 50}}) {
    const auto columns = graph_columns(graph, axis);
    for (int x = 0; x < axis.width; ++x) {
      const int64_t begin = axis.time_at(x);
      const int64_t end = axis.time_at(x + 1.0);
      if (end <= 0) continue;
      double high = begin > 0 ? graph.at(begin - 1) : 0;
      double low = begin > 0 ? graph.at(begin - 1) : HUGE_VAL;
      for (const Graph::Point& point : points) {
        if (point.time_ns < begin || point.time_ns >= end) continue;
        high = std::max(high, point.value);
        low = std::min(low, point.value);
      }
      ASSERT_TRUE(columns[static_cast<size_t>(x)].drawn) << x;
      EXPECT_EQ(columns[static_cast<size_t>(x)].high, high) << x << " of " << axis.width;
      EXPECT_EQ(columns[static_cast<size_t>(x)].low, low) << x << " of " << axis.width;
    }
  }
}

}  // namespace
}  // namespace redline::viewer
