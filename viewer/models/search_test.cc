#include "viewer/models/search.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "viewer/models/details.h"
#include "viewer/models/testing_trace.h"

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

// Each lane has several blocks of counts, with a few hits at the blocks' edges.
TEST(Search, SkipsWhatHasNoHits) {
  TestTrace first(0), second(1, 1'000'003);
  for (int i = 0; i < 5000; ++i) {
    const bool is_hit = i == 0 || i == 1023 || i == 1024 || i == 3500 || i == 4999;
    first.kernel(is_hit ? "needle" : "hay", 7 + i % 3, i * 10.0, 5);
    // One lane: the last of a block, then, behind an empty one, the first, and again the last.
    second.kernel(i == 1023 || i == 2048 || i == 4095 ? "needle" : "hay", 7, i * 10.0, 5);
  }
  const Session session({first.read(), second.read()});
  const Search search(session, "needle");
  const auto hits = brute_force(session, "needle");
  ASSERT_EQ(search.count(), hits.size());
  SliceRef forward, backward;
  for (size_t i = 0; i < hits.size(); ++i) {
    forward = search.next(session, forward);
    EXPECT_EQ(forward, hits[i].second) << i;
    EXPECT_EQ(search.place_of(session, forward), i + 1);
    backward = search.previous(session, backward);
    EXPECT_EQ(backward, hits[hits.size() - 1 - i].second) << i;
  }
  EXPECT_EQ(search.next(session, forward), hits.front().second);
  EXPECT_EQ(search.previous(session, backward), hits.back().second);
  const Search none(session, "no such");
  EXPECT_FALSE(none.next(session, forward));
  EXPECT_FALSE(none.previous(session, forward));
  // Where no other trace has hits between, all of the blocks between two are passed over.
  const Session alone({second.read()});
  const Search of_one(alone, "needle");
  EXPECT_EQ(of_one.previous(alone, {0, {2048}}), (SliceRef{0, {1023}}));
  EXPECT_EQ(of_one.next(alone, {0, {2048}}), (SliceRef{0, {4095}}));
}

TEST(Search, IsPendingUntilItIsDone) {
  const Session session = two_ranks();
  const std::atomic<bool> cancelled{true};
  for (const Search& search : {Search::pending("gemm"), Search(session, "gemm", &cancelled)}) {
    EXPECT_TRUE(search.is_pending());
    EXPECT_EQ(search.count(), 0U);
    EXPECT_FALSE(search.next(session, {}));
    EXPECT_FALSE(search.matches(session, slice_named(session, 0, "gemm")));
  }
  EXPECT_FALSE(Search(session, "").is_pending());
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

TEST(Search, OfAWholeNameStandsInQuotes) {
  TestTrace trace(0);
  for (const char* name : {"add", "add_", "Add", "addmm", "add"})
    trace.slice("cpu_op", name, 1, 1, 0, 5);
  const Session session({trace.read()});
  EXPECT_EQ(Search(session, "add").count(), 5U);
  EXPECT_EQ(Search(session, "\"add\"").count(), 2U);
  EXPECT_EQ(Search(session, "\"cpu_op\"").count(), 5U) << "a whole category";
  EXPECT_EQ(Search(session, "\"add").count(), 0U) << "not yet written to its end";
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

TEST(Search, TheLongestIsThePlaceOfANameAndOfTwoRunsTheLongestInTheAlignedSteps) {
  const auto run = [](int64_t start_us) {
    TestTrace trace(0, start_us);
    for (int step = 0; step < 3; ++step) {
      const double at = step * 100;
      trace.slice("user_annotation", fmt::format("ProfilerStep#{}", step), 1, 1, at, 99)
          .kernel("gemm", 7, at + 10, 5 + step)
          .kernel("gemm", 7, at + 30, 10 + step);
    }
    return trace.kernel("tail", 7, 250, 3).read();
  };
  const Session alone({run(0)});
  const auto one = places_of(alone, "gemm");
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(alone.range_of(one[0]).begin_ns, 230'000);
  EXPECT_TRUE(places_of(alone, "no such name").empty());

  const Session runs({run(0), run(77'000'000)}, 1);
  for (const auto& [name, begin_ns] : {std::pair("gemm", 30'000), std::pair("tail", 150'000)}) {
    const auto both = places_of(runs, name);
    ASSERT_EQ(both.size(), 2U) << name;
    for (uint32_t t = 0; t < 2; ++t) {
      EXPECT_EQ(both[t].trace, t);
      EXPECT_EQ(runs.range_of(both[t]).begin_ns, begin_ns) << name;
    }
  }
  const std::atomic<bool> cancelled{true};
  EXPECT_TRUE(places_of(runs, "gemm", &cancelled).empty());
  // What begins at either end of the aligned step is in it.
  const auto ends = [](double at, const char* name) {
    TestTrace trace(0);
    trace.slice("user_annotation", "ProfilerStep#0", 1, 1, 0, 99)
        .kernel(name, 7, 20, 4)
        .kernel(name, 7, at, 5)
        .kernel(name, 8, 300, 50);
    return trace.read();
  };
  const Session at_ends({ends(0, "k"), ends(99, "k")}, 1);
  const auto found = places_of(at_ends, "k");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(at_ends.range_of(found[0]).begin_ns, 0);
  EXPECT_EQ(at_ends.range_of(found[1]).begin_ns, 99'000);
  const Session beyond({ends(99.001, "k"), ends(99.001, "k")}, 1);
  EXPECT_EQ(beyond.range_of(places_of(beyond, "k")[1]).begin_ns, 20'000);
}

TEST(Search, OfArgumentsIsPendingUntilTheyAreRead) {
  const Session session = two_ranks();
  EXPECT_EQ(args_part("args:Dims"), "Dims");
  EXPECT_EQ(args_part("Dims"), std::nullopt);
  const Search asked(session, "args:input dims");
  EXPECT_TRUE(asked.is_pending());
  EXPECT_EQ(asked.count(), 0U);
  EXPECT_FALSE(asked.matches(session, slice_named(session, 0, "aten::linear")));
  EXPECT_FALSE(asked.next(session, {}));

  const Search found(session, "args:input dims", find_in_args(session, "input dims"));
  EXPECT_FALSE(found.is_pending());
  EXPECT_EQ(found.count(), 4U) << "two steps of two ranks, whatever the case";
  EXPECT_TRUE(found.matches(session, slice_named(session, 1, "aten::linear")));
  EXPECT_EQ(session.name_of(found.next(session, {})), "aten::linear");
  EXPECT_EQ(Search(session, "args:gemm", find_in_args(session, "gemm")).count(), 0U)
      << "a name is no argument";
  EXPECT_EQ(Search(session, "args:", find_in_args(session, "")).count(), 0U);
  TestTrace trace(0);
  trace.slice("cpu_op", "args", 1, 1, 0, 5, R"({"key":"args", "other":"needle"})");
  const Session odd({trace.read()});
  EXPECT_EQ(Search(odd, "args:k", find_in_args(odd, "needle")).count(), 1U)
      << "the name is not the key";
  EXPECT_EQ(Search(odd, "args:k", find_in_args(odd, "cpu_op")).count(), 0U);
  TestTrace sorted(0);  // keys by name, as Chrome writes them
  sorted.raw(
      R"({"args":{"x":"a }","y":1},"cat":"cpu_op","dur":5,"name":"foo","other":{"args":"z"},)"
      R"("ph":"X","pid":1,"tid":1,"ts":1000001})");
  const Session args_first({sorted.read()});
  for (const auto& [part, count] : {std::pair("cpu_op", 0), {"foo", 0}, {"z", 0}, {"y", 1}}) {
    EXPECT_EQ(Search(args_first, "args:k", find_in_args(args_first, part)).count(), count) << part;
  }
  const std::atomic<bool> cancelled{true};
  EXPECT_EQ(Search(session, "args:d", find_in_args(session, "d", &cancelled)).count(), 0U);
}

TEST(Search, OfArgumentsFindsWhatDetailsShowsHoweverTheFileWritesIt) {
  TestTrace trace(0);
  trace
      .slice("cpu_op", "kineto", 1, 1, 0, 5,
             R"({"Input Dims": [[32, 64], [64]], "Note":"Gr\u00f6\u00dfe"})")
      .slice("cpu_op", "indented", 1, 1, 10, 5, "{\"Input Dims\" :\n[[\n32,\n64\n],\t[64]\r]}")
      .slice("cpu_op", "compact", 1, 1, 20, 5, R"({"Input Dims":[[32,64],[64]],"at":"C:\\32 64"})");
  const Session session({trace.read()});
  const SliceDetails shown = slice_details(session, slice_named(session, 0, "indented"));
  EXPECT_EQ(shown.arguments.at(0).value, "[[32,64],[64]]");
  for (const auto& [part, count] : {std::pair("[[32,64],[64]]", 3),
                                    {"[[32, 64", 3},
                                    {"[ [32 , 64\n]", 3},
                                    {"dims\": [", 3},
                                    {"größe", 1},
                                    {"\"größe\"}", 1},
                                    {"gr\\u00f6", 1},
                                    {"c:\\32", 1},
                                    {"32 64", 1},
                                    {"3264", 0},
                                    {"32,6 4", 0},
                                    {"[32,64,", 0}}) {
    EXPECT_EQ(Search(session, "args:k", find_in_args(session, part)).count(), count) << part;
  }
}

}  // namespace
}  // namespace redline::viewer
