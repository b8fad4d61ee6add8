#include "viewer/models/search.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "viewer/models/test_trace.h"

namespace redline::viewer {
namespace {

std::vector<std::pair<int64_t, SliceRef>> brute_force(const Session& session,
                                                      const std::string& word) {
  std::vector<std::pair<int64_t, SliceRef>> hits;
  for (uint32_t t = 0; t < session.traces().size(); ++t) {
    for (uint32_t i = 0; i < session.traces()[t].trace->slice_count(); ++i) {
      const SliceRef ref{t, {i}};
      if (session.name_of(ref).find(word) != std::string_view::npos) {
        hits.emplace_back(session.range_of(ref).begin_ns, ref);
      }
    }
  }
  std::sort(hits.begin(), hits.end());
  return hits;
}

TEST(Search, WalksAllHitsInOrderOfTimeAndAround) {
  const Session session = two_ranks();
  const Search search(session, "ATEN::");
  const auto hits = brute_force(session, "aten::");
  ASSERT_EQ(search.count(), hits.size());
  SliceRef ref;
  for (size_t i = 0; i < hits.size(); ++i) {
    ref = search.next(session, ref);
    EXPECT_EQ(ref, hits[i].second);
    EXPECT_EQ(search.place_of(session, ref), i + 1);
  }
  EXPECT_EQ(search.next(session, ref), hits.front().second);
  EXPECT_EQ(search.previous(session, hits.front().second), hits.back().second);
  for (size_t i = hits.size() - 1; i > 0; --i) {
    EXPECT_EQ(search.previous(session, hits[i].second), hits[i - 1].second);
  }
}

TEST(Search, StartsFromWhateverIsSelected) {
  const Session session = two_ranks();
  const Search search(session, "gemm");
  const SliceRef between = slice_named(session, 1, "cudaLaunchKernel");  // at 50 us
  EXPECT_EQ(session.range_of(search.next(session, between)).begin_ns, 60'000);
  EXPECT_EQ(session.range_of(search.previous(session, between)).begin_ns, 50'000);
  EXPECT_EQ(search.place_of(session, between), 0U);
}

TEST(Search, FindsCategoriesToo) {
  const Session session = two_ranks();
  EXPECT_EQ(Search(session, "kernel").count(), 12U);  // 8 kernels and 4 cudaLaunchKernel
  EXPECT_EQ(Search(session, "cuda_runtime").count(), 4U);
}

TEST(Search, NothingForNothing) {
  const Session session = two_ranks();
  for (const char* text : {"", "no such name"}) {
    const Search search(session, text);
    EXPECT_EQ(search.count(), 0U);
    EXPECT_FALSE(search.next(session, {}));
    EXPECT_FALSE(search.previous(session, {}));
  }
}

TEST(Search, LongestOfAName) {
  TestTrace trace(0);
  trace.kernel("gemm", 7, 0, 5).kernel("gemm", 7, 10, 8).kernel("gemm", 7, 20, 3);
  const Session session({trace.read()});
  EXPECT_EQ(session.range_of(longest_named(session, "gemm")).begin_ns, 10'000);
  EXPECT_FALSE(longest_named(session, "gem"));
}

}  // namespace
}  // namespace redline::viewer
