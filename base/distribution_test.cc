#include "base/distribution.h"

#include <gtest/gtest.h>

namespace redline {
namespace {

// The figures are those of pandas.Series(…).describe().
TEST(Distribution, AsPandasDescribes) {
  const Distribution all = distribution_of(std::vector<int64_t>{9, 1, 4, 2, 4, 30});
  EXPECT_EQ(all.count, 6);
  EXPECT_DOUBLE_EQ(all.mean, 50.0 / 6);
  EXPECT_NEAR(all.deviation, 10.966616, 1e-6);
  EXPECT_EQ(all.min, 1);
  EXPECT_EQ(all.p25, 2.5);
  EXPECT_EQ(all.p50, 4);
  EXPECT_EQ(all.p75, 7.75);
  EXPECT_EQ(all.max, 30);
}

TEST(Distribution, OfOneValueHasNoDeviation) {
  const Distribution one = distribution_of(std::vector<double>{2.5});
  EXPECT_EQ(one.deviation, 0);
  EXPECT_EQ(one.p25, 2.5);
  EXPECT_EQ(one.max, 2.5);
}

TEST(Distribution, OfNothingIsZero) { EXPECT_EQ(distribution_of(std::vector<double>{}).count, 0); }

TEST(Distribution, OfCountsIsThatOfTheValues) {
  const Distribution values = distribution_of(std::vector<int64_t>{1, 1, 1, 3, 4, 4, 9});
  const Distribution counts = distribution_of_counts({0, 3, 0, 1, 2, 0, 0, 0, 0, 1});
  EXPECT_EQ(counts.count, values.count);
  EXPECT_DOUBLE_EQ(counts.mean, values.mean);
  EXPECT_DOUBLE_EQ(counts.deviation, values.deviation);
  EXPECT_EQ(counts.min, values.min);
  EXPECT_EQ(counts.p25, values.p25);
  EXPECT_EQ(counts.p50, values.p50);
  EXPECT_EQ(counts.p75, values.p75);
  EXPECT_EQ(counts.max, values.max);
}

}  // namespace
}  // namespace redline
