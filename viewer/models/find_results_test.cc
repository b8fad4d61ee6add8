#include "viewer/models/find_results.h"

#include <gtest/gtest.h>

#include <cmath>

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
  EXPECT_FALSE(longest_of(session, *results.hits, {1'005, 2'000, 0, 0})) << "it counts none";
  EXPECT_FALSE(longest_of(session, *results.hits, {1, 2, 1, 1})) << "none is so short";
}

TEST(FindResults, OnlyKernelsHaveShortNames) {
  TestTrace trace(0);
  trace.slice("user_annotation", "validation::load (eval)", 1, 1, 0, 10)
      .kernel("void at::native::load_kernel<float, 4>(float*, int)", 7, 20, 5);
  const Session session({trace.read()});
  const FindResults found = find_results(session, Search(session, "load"));
  std::vector<std::string> names;
  for (const SliceRef hit : *found.hits) {
    names.push_back(value_text(hit_value(session, hit, 0), hit_columns()[0].unit));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"validation::load (eval)", "load_kernel<float,4>"}));
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

TEST(FindResults, AreSortedByEachColumn) {
  TestTrace first(0), second(1, 1'000'010);
  first.slice("cpu_op", "b", 1, 1, 0, 30).slice("cpu_op", "a", 1, 2, 40, 10).kernel("c", 7, 5, 20);
  second.slice("cpu_op", "c", 1, 1, 1, 40).kernel("a", 7, 3, 50);
  const Session session({first.read(), second.read()});
  std::vector<SliceRef> all;
  for (uint32_t t = 0; t < 2; ++t) {
    for (uint32_t i = 0; i < session.traces()[t].trace->slice_count(); ++i) all.push_back({t, {i}});
  }
  const auto sorted = [&](size_t column, bool ascending) {
    std::string text;
    const Hits hits = sort_hits(session, all, column, ascending);
    for (const SliceRef ref : *hits) {
      text += fmt::format("{}{} ", session.name_of(ref), ref.trace);
    }
    return text;
  };
  EXPECT_EQ(sorted(0, true), "a0 a1 b0 c0 c1 ");
  EXPECT_EQ(sorted(0, false), "c0 c1 b0 a0 a1 ");
  EXPECT_EQ(sorted(1, true), "a0 c0 b0 c1 a1 ");
  EXPECT_EQ(sorted(1, false), "a1 c1 b0 c0 a0 ");
  EXPECT_EQ(sorted(2, true), "b0 c0 c1 a1 a0 ");
  EXPECT_EQ(sorted(3, true), "c0 b0 a0 a1 c1 ");
  EXPECT_EQ(sorted(3, false), "c1 a1 a0 b0 c0 ");
}

TEST(FindResults, TracksAreSortedByTheirNumbers) {
  TestTrace second(2), tenth(10);
  second.kernel("k", 7, 0, 5);
  tenth.kernel("k", 7, 0, 5);
  const Session session({tenth.read(), second.read()});
  const Hits sorted = sort_hits(session, {{0, {0}}, {1, {0}}}, 3, true);
  EXPECT_EQ(hit_value(session, sorted->front(), 3).text(), "rank 2 · GPU 0 stream 7");
  EXPECT_EQ(hit_value(session, sorted->back(), 3).text(), "rank 10 · GPU 0 stream 7");
}

TEST(FindResults, BinsAreOfOneRatioAndHoldTheirEnds) {
  const std::vector<HistogramBin> bins = {{1, 2, 0, 0}, {2, 4, 0, 0}, {4, 8, 0, 0}};
  const std::pair<int64_t, size_t> rows[] = {{0, 0}, {1, 0}, {2, 1}, {3, 1},
                                             {4, 2}, {7, 2}, {8, 2}, {99, 2}};
  for (const auto& [duration, bin] : rows) EXPECT_EQ(bin_of(bins, duration), bin) << duration;
  TestTrace trace(0);
  trace.kernel("k", 7, 0, 0).kernel("k", 7, 10, 0.001).kernel("k", 7, 20, 1);
  const Session session({trace.read()});
  const FindResults found = find_results(session, Search(session, "k"));
  ASSERT_EQ(found.histogram.size(), kHistogramBins);
  EXPECT_DOUBLE_EQ(found.histogram.front().from_ns, 1);
  EXPECT_NEAR(found.histogram.back().to_ns, 1001, 1e-6);
  EXPECT_NEAR(found.histogram[1].to_ns / found.histogram[1].from_ns, std::pow(1001, 1.0 / 48),
              1e-9);
  EXPECT_EQ(found.histogram.front().count, 2U);
  EXPECT_EQ(found.histogram.front().total_ns, 1);
  EXPECT_EQ(found.histogram.back().total_ns, 1000);
}

}  // namespace
}  // namespace redline::viewer
