#include "base/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace redline {
namespace {

TEST(Median, IsTheLowerOrTheUpperOfTwoInTheMiddle) {
  const std::vector<int64_t> even = {9, 1, 4, 2}, odd = {9, 1, 4};
  EXPECT_EQ(lower_median(even), 2);
  EXPECT_EQ(upper_median(even), 4);
  EXPECT_EQ(lower_median(odd), 4);
  EXPECT_EQ(upper_median(odd), 4);
}

// pandas.Series(…).describe() gave these figures.
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

TEST(Latency, HasThePercentilesThatItsValuesCanTell) {
  EXPECT_FALSE(latency_of({}));
  const auto few = latency_of({30, 10, 20});
  EXPECT_EQ(few->p50_ns, 20);
  EXPECT_FALSE(few->p90_ns);
  std::vector<int64_t> values;
  for (int64_t i = 100; i >= 0; --i) values.push_back(10 * i);
  const auto many = latency_of(values);
  EXPECT_EQ(many->count, 101);
  EXPECT_EQ(many->p50_ns, 500);
  EXPECT_EQ(many->p90_ns, 900);
  EXPECT_EQ(many->p99_ns, 990);
}

TEST(Latency, IsToldAsFarAsItIsKnown) {
  EXPECT_EQ(latency_text({.count = 3, .p50_ns = 2'000'000}), "p50 2.0 ms");
  EXPECT_EQ(latency_text(
                {.count = 100, .p50_ns = 11'800'000, .p90_ns = 13'000'000, .p99_ns = 20'100'000}),
            "p50 11.8 ms · p90 13.0 ms · p99 20.1 ms");
}

// Tables give 13 as the largest sum of ranks that is beyond 5 % with 12 values, and 21 with 14. So
// 14 and 22 means of two lie outside at each end.
TEST(SignedRank, IntervalsAreThoseOfTheTables) {
  for (const auto& [count, outside] : {std::pair<size_t, size_t>{12, 14}, {14, 22}}) {
    std::vector<double> values, means;
    for (size_t i = 0; i < count; ++i) values.push_back(static_cast<double>(i * i));
    for (size_t i = 0; i < count; ++i) {
      for (size_t j = i; j < count; ++j) means.push_back((values[i] + values[j]) / 2);
    }
    std::ranges::sort(means);
    const auto interval = signed_rank_interval(values);
    ASSERT_TRUE(interval);
    EXPECT_EQ(interval->low, means[outside - 1]);
    EXPECT_EQ(interval->high, means[means.size() - outside]);
  }
}

TEST(SignedRank, OneFarValueMovesTheMiddleLittle) {
  std::vector<double> values = {4.8, 4.9, 4.95, 5, 5, 5.05, 5.1, 5.1, 5.2, 5.2, 5.3, 5.3};
  const auto before = signed_rank_interval(values);
  values.back() = 1000;
  const auto after = signed_rank_interval(values);
  EXPECT_NEAR(before->value, 5.08, 0.02);
  EXPECT_NEAR(after->value, before->value, 0.03);
  EXPECT_LT(after->high, 5.3);
}

TEST(SignedRank, TooFewValuesHaveNoInterval) {
  std::vector<double> values = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  EXPECT_FALSE(signed_rank_interval(values));
  values.push_back(12);
  EXPECT_TRUE(signed_rank_interval(values));
  EXPECT_FALSE(signed_rank_interval(values, 0.01));
  EXPECT_FALSE(signed_rank_interval({}));
}

// From 61 values on the sums of ranks are taken to be normally distributed.
TEST(SignedRank, ManyValuesAreCountedAlmostAsFew) {
  const auto width = [](int count) {
    std::vector<double> values;
    for (int i = 0; i < count; ++i) values.push_back(i);
    const auto interval = signed_rank_interval(values);
    return (interval->high - interval->low) / count * std::sqrt(count);
  };
  EXPECT_NEAR(width(61) / width(60), 1, 0.02);
}

TEST(Welch, StudentsTailsAreThoseOfTheTables) {
  EXPECT_NEAR(student_p(0.5, 4), 0.64333, 1e-5);  // near the middle
  EXPECT_NEAR(student_p(12.706, 1), 0.05, 1e-4);
  EXPECT_NEAR(student_p(2.228, 10), 0.05, 1e-4);
  EXPECT_NEAR(student_p(3.169, 10), 0.01, 1e-4);
  EXPECT_NEAR(student_p(1.960, 1e6), 0.05, 1e-4);
  EXPECT_NEAR(student_p(-2.228, 10), 0.05, 1e-4);
  EXPECT_DOUBLE_EQ(student_p(0, 5), 1);
}

TEST(Welch, StudentsFactorsAreThoseOfTheTables) {
  EXPECT_NEAR(student_t(1), 12.706, 1e-3);
  EXPECT_NEAR(student_t(8), 2.306, 1e-3);
  EXPECT_NEAR(student_t(1000), 1.962, 1e-3);
  EXPECT_NEAR(student_t(4, 0.01), 4.604, 1e-3);
  EXPECT_EQ(student_t(0), std::numeric_limits<double>::infinity());
}

// Numerical integration of the density gave p = 0.021378 for t = 2.4554 and 24.9885 degrees of
// freedom; 5 % lie beyond t = 2.0596.
TEST(Welch, EqualsWhatOthersCompute) {
  const std::vector<double> earlier = {27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1,
                                       21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4};
  const std::vector<double> later = {27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0,
                                     24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4};
  const auto result = welch_test(earlier, later);
  ASSERT_TRUE(result);
  EXPECT_NEAR(result->p, 0.021378, 1e-5);
  EXPECT_NEAR(result->low, 2.16667 - 2.0596 * 0.882425, 1e-3);
  EXPECT_NEAR(result->high, 2.16667 + 2.0596 * 0.882425, 1e-3);
  EXPECT_TRUE(result->is_clear());
}

TEST(Welch, NoNoiseMakesAnyDifferenceClear) {
  const std::vector<double> same = {5, 5, 5}, other = {6, 6, 6};
  EXPECT_TRUE(welch_test(same, other)->is_clear());
  EXPECT_FALSE(welch_test(same, same)->is_clear());
}

TEST(Welch, OneValueHasNoKnownNoise) {
  const std::vector<double> one = {5}, two = {5, 6};
  EXPECT_FALSE(welch_test(one, two));
  EXPECT_FALSE(welch_test(two, {}));
}

TEST(Total, IsTheLimitWhereTheSumWouldOverflow) {
  using Row = std::pair<int64_t, int64_t>;
  const std::vector<Row> rows = {{3, INT64_MAX}, {4, 1}, {5, 2}};
  EXPECT_EQ(total_of(rows, &Row::first), 12);
  EXPECT_EQ(total_of(rows, &Row::second), INT64_MAX);
  EXPECT_EQ(total_of(rows, [](const Row& row) { return -row.second; }), INT64_MIN);
  EXPECT_EQ(total_of(std::vector<Row>(), &Row::first), 0);
}

}  // namespace
}  // namespace redline
