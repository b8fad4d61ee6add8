#include "tuner/search/gaussian_process.h"

#include <gtest/gtest.h>

#include <cmath>

namespace redline::tuner {
namespace {

TEST(GaussianProcess, KnowsItsPointsAndIsLessSureFarFromThem) {
  const GaussianProcess process({.ordered = {true}, .weights = {0.3}, .noise = 0.01},
                                {{0}, {1}, {2}}, {-1, 0, 1});
  EXPECT_NEAR(process.at({2}).value, 1, 0.05);
  EXPECT_NEAR(process.at({1.5}).value, 0.5, 0.1);
  EXPECT_LT(process.at({1}).deviation, process.at({4}).deviation);
  EXPECT_NEAR(process.at({1000}).value, 0, 1e-6) << "what is usual";
}

TEST(GaussianProcess, OneValueMakesItSureOfNothingElse) {
  const GaussianProcess process({.ordered = {true}, .weights = {0.3}, .noise = 0.01}, {{0}}, {0});
  EXPECT_GT(process.at({3}).deviation, 0.1);
}

TEST(GaussianProcess, FindsTheCoordinateThatMatters) {
  std::vector<Point> points;
  std::vector<double> values;
  for (int i = 0; i < 24; ++i) {
    points.push_back({static_cast<double>(i % 6), static_cast<double>(i * 7 % 4)});
    values.push_back(std::sin(points.back()[0]));
  }
  const auto shape =
      GaussianProcess::fit({.ordered = {true, false}, .weights = {0.3, 0.3}}, points, values);
  EXPECT_GT(shape.weights[0], shape.weights[1]);
}

}  // namespace
}  // namespace redline::tuner
