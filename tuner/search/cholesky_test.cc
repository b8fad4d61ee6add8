#include "tuner/search/cholesky.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace redline::tuner {
namespace {

using ::testing::ElementsAre;

TEST(Cholesky, SolvesASystem) {
  Triangle matrix = {{4}, {2, 5}, {2, 3, 6}};
  factorize(matrix, 1e-9);
  EXPECT_THAT(matrix, ElementsAre(ElementsAre(2), ElementsAre(1, 2), ElementsAre(1, 1, 2)));
  const auto half = solve_lower(matrix, {8, 10, 14});
  EXPECT_THAT(half, ElementsAre(4, 3, 3.5));
  EXPECT_THAT(solve_upper(matrix, half), ElementsAre(0.8125, 0.625, 1.75));
}

TEST(Cholesky, NoPivotIsBelowTheLeastOne) {
  Triangle matrix = {{1}, {1, 1}};
  factorize(matrix, 0.25);
  EXPECT_THAT(matrix, ElementsAre(ElementsAre(1), ElementsAre(1, 0.5)));
}

}  // namespace
}  // namespace redline::tuner
