#include "viewer/models/find_results.h"

#include <gtest/gtest.h>

#include "viewer/models/testing_trace.h"

namespace redline::viewer {
namespace {

TEST(FindResults, HaveTheLongestFirstAndEachInABin) {
  TestTrace trace(0);
  for (int i = 1; i <= 100; ++i) trace.kernel("k", 7, i * 2000, i * i);
  const Session session({trace.read()});
  const FindResults results = find_results(session, Search(session, "K"));
  ASSERT_EQ(results.hits->size(), 100U);
  EXPECT_EQ(session.range_of(results.hits->front()).span_ns(), 10'000'000);
  EXPECT_EQ(session.range_of(results.hits->back()).span_ns(), 1'000);
  EXPECT_EQ(hit_value(session, results.hits->front(), 1).whole(), 10'000'000);
  EXPECT_EQ(hit_value(session, results.hits->front(), 3).text(), "rank 0 · GPU 0 stream 7");
  EXPECT_EQ(results.spread.count, 100);
  EXPECT_EQ(results.spread.min, 1000);
  uint64_t sum = 0;
  for (const HistogramBin& bin : results.histogram) sum += bin.count;
  EXPECT_EQ(sum, 100U);
  EXPECT_GT(results.histogram.front().count, 0U);
  EXPECT_GT(results.histogram.back().count, 0U);
  const HistogramBin& bin = results.histogram[bin_of(results.histogram, 2'500'000)];
  const int64_t longest = session.range_of(longest_of(session, *results.hits, bin)).span_ns();
  EXPECT_EQ(longest, 2'601'000) << "of 51 us squared, the longest below " << bin.to_ns;
  EXPECT_FALSE(longest_of(session, *results.hits, {1, 2, 0, 0})) << "it counts none";
}

TEST(FindResults, EqualDurationsAndNoHits) {
  const Session session = two_ranks();
  const FindResults same = find_results(session, Search(session, "gemm"));
  EXPECT_EQ(same.spread.count, 4);
  EXPECT_EQ(same.histogram[bin_of(same.histogram, 25'000)].count, 4U);
  const FindResults none = find_results(session, Search(session, "no such"));
  EXPECT_TRUE(none.hits->empty());
  EXPECT_TRUE(none.histogram.empty());
  EXPECT_EQ(bin_of(none.histogram, 5), 0U);
}

TEST(FindResults, StopWhenCancelled) {
  const Session session = two_ranks();
  const std::atomic<bool> cancelled{true};
  EXPECT_EQ(find_results(session, Search(session, "a"), &cancelled).spread.count, 0);
}

}  // namespace
}  // namespace redline::viewer
