#include "viewer/models/flame.h"

#include <gtest/gtest.h>

#include "viewer/models/testing_trace.h"

namespace redline::viewer {
namespace {

Area all_of(const Session& session) {
  const Layout layout(session, 1000);
  return {session.range(), lanes_between(session, layout, 0, layout.height())};
}

/// "name calls total/self" of a box and of all below it, in µs, with brackets around what is below.
std::string text_of(const Flame& flame, uint32_t index) {
  const FlameNode& node = flame.node(index);
  std::string text =
      fmt::format("{} {} {}/{}", node.name, node.count, node.total_ns / 1000, node.self_ns / 1000);
  if (node.children.empty()) return text;
  std::string inside;
  for (const uint32_t child : node.children) {
    inside += (inside.empty() ? "" : ", ") + text_of(flame, child);
  }
  return text + " [" + inside + "]";
}

/// Two calls of `outer` that hold `inner` once and twice, and one `inner` outside.
Session nested() {
  TestTrace trace(0);
  trace.slice("user_annotation", "ProfilerStep#1", 1, 1, 0, 50)
      .slice("cpu_op", "outer", 1, 1, 0, 40)
      .slice("python_function", "inner", 1, 1, 10, 20)
      .slice("user_annotation", "ProfilerStep#2", 1, 1, 50, 50)
      .slice("cpu_op", "outer", 1, 1, 50, 40)
      .slice("python_function", "inner", 1, 1, 50, 10)
      .slice("python_function", "inner", 1, 1, 60, 5)
      .slice("python_function", "inner", 1, 1, 95, 5)
      .kernel("gemm", 7, 0, 100);
  return Session({trace.read()});
}

TEST(Flame, EqualStacksAreOneBoxWhicheverStepTheyRanIn) {
  const Session session = nested();
  const Flame flame = flame_of(session, all_of(session));
  ASSERT_FALSE(flame.nodes.empty());
  ASSERT_EQ(flame.node(0).children.size(), 1U) << "no stream of a GPU";
  const uint32_t thread = flame.node(0).children.front();
  EXPECT_EQ(flame.node(thread).name, "rank 0 · CPU · thread 1 · main");
  ASSERT_EQ(flame.node(thread).children.size(), 1U);
  EXPECT_EQ(text_of(flame, flame.node(thread).children.front()),
            "ProfilerStep 2 100/15 [outer 2 80/45 [inner 3 35/35], inner 1 5/5]");
  EXPECT_EQ(flame.node(0).total_ns, 100'000);
}

TEST(Flame, OnlyWhatLiesInTheAreaCounts) {
  const Session session = nested();
  Area area = all_of(session);
  area.range = {20'000, 55'000};
  const Flame flame = flame_of(session, area);
  const uint32_t thread = flame.node(0).children.front();
  EXPECT_EQ(text_of(flame, flame.node(thread).children.front()),
            "ProfilerStep 2 35/10 [outer 2 25/10 [inner 2 15/15]]");
  area.range = {200'000, 300'000};
  EXPECT_TRUE(flame_of(session, area).nodes.empty());
}

TEST(Flame, ThreadsStandSideBySideAndTheAreaSaysWhich) {
  const Session session = two_ranks();
  Area area = all_of(session);
  const Flame flame = flame_of(session, area);
  ASSERT_EQ(flame.node(0).children.size(), 4U) << "main and autograd of each rank";
  EXPECT_EQ(flame.node(0).total_ns, 2 * (198'000 + 20'000));
  const SliceRef backward = slice_named(session, 1, "aten::mul");
  area.lanes = {{1, session.traces()[1].trace->slices().lane[backward.slice.value]}};
  const Flame one = flame_of(session, area);
  ASSERT_EQ(one.node(0).children.size(), 1U);
  EXPECT_EQ(text_of(one, one.node(one.node(0).children.front()).children.front()),
            "aten::mul 2 20/10 [aten::sum 2 10/10]");
}

TEST(Flame, AShortThreadHidesNoLongerOneBehindIt) {
  TestTrace first(0);
  first.slice("cpu_op", "short", 1, 1, 0, 2).slice("cpu_op", "long", 1, 2, 0, 100'000);
  const Session session({first.read(), two_ranks().traces()[1].trace});
  const Flame flame = flame_of(session, all_of(session));
  ASSERT_EQ(flame.node(0).children.size(), 4U);
  EXPECT_EQ(text_of(flame, flame.node(0).children.front()),
            "rank 0 · CPU · thread 2 0 100000/0 [long 1 100000/100000]");
  EXPECT_EQ(flame.node(0).total_ns, (100'000 + 198 + 20 + 2) * 1000);
  EXPECT_EQ(flame_boxes(flame, 0, 1000).size(), 5U) << "two of the long one, and of rank 1";
}

TEST(Flame, BoxesAreAsWideAsTheirShareOfWhatIsZoomed) {
  const Session session = nested();
  const Flame flame = flame_of(session, all_of(session));
  const auto box_of = [&](const std::vector<FlameBox>& boxes, const std::string& name) {
    for (const FlameBox& box : boxes) {
      if (flame.node(box.node).name == name) return box;
    }
    ADD_FAILURE() << "no " << name;
    return FlameBox{};
  };
  const auto whole = flame_boxes(flame, 0, 1000);
  EXPECT_EQ(whole.size(), flame.nodes.size());
  EXPECT_DOUBLE_EQ(box_of(whole, "outer").width, 800);
  EXPECT_DOUBLE_EQ(box_of(whole, "inner").width, 350) << "the one in outer comes first";
  EXPECT_DOUBLE_EQ(whole.back().left, 800) << "the other stands behind outer";
  const auto zoomed = flame_boxes(flame, box_of(whole, "outer").node, 1000);
  EXPECT_DOUBLE_EQ(box_of(zoomed, "ProfilerStep").width, 1000) << "what is around fills the width";
  EXPECT_DOUBLE_EQ(box_of(zoomed, "inner").width, 437.5);
  EXPECT_EQ(flame_boxes(flame, 0, 10).size(), flame.nodes.size() - 1) << "half a pixel is no box";
  EXPECT_EQ(flame_boxes(flame, 0, 20).size(), flame.nodes.size()) << "a whole one is";
}

TEST(Flame, OfEqualTimesTheAlphabetDecidesAndNoTimeIsNoBox) {
  TestTrace trace(0);
  trace.slice("cpu_op", "b", 1, 1, 0, 10)
      .slice("cpu_op", "a", 1, 1, 20, 10)
      .slice("cpu_op", "", 1, 1, 40, 5)
      .slice("cpu_op", "instant", 1, 1, 15, 0);
  const Session session({trace.read()});
  const Flame flame = flame_of(session, all_of(session));
  const uint32_t thread = flame.node(0).children.front();
  EXPECT_EQ(text_of(flame, thread),
            "rank 0 · CPU · thread 1 · main 0 25/0 [a 1 10/10, b 1 10/10, (no name) 1 5/5, "
            "instant 1 0/0]");
  EXPECT_EQ(flame_boxes(flame, 0, 1000).size(), 5U) << "all, the thread and three";
  const auto zoomed = flame_boxes(flame, flame.node(thread).children.back(), 1000);
  ASSERT_EQ(zoomed.size(), 3U);
  EXPECT_EQ(zoomed.front().node, 0U);
  EXPECT_EQ(zoomed.back().left, 0);
  EXPECT_EQ(zoomed.back().width, 1000);
  const std::atomic<bool> cancelled{true};
  EXPECT_TRUE(flame_of(session, all_of(session), &cancelled).nodes.empty());
}

TEST(Flame, ATableHasEachStack) {
  const Session session = nested();
  const Table table = flame_table(flame_of(session, all_of(session)));
  ASSERT_EQ(table.rows.size(), 4U);
  EXPECT_EQ(cell_text(table, 3, "Stack"),
            "rank 0 · CPU · thread 1 · main; ProfilerStep; outer; inner");
  EXPECT_EQ(cell_text(table, 3, "Self"), "35.0 µs");
}

TEST(Flame, NothingComesOfNothing) {
  const Session session({TestTrace(0).read()});
  EXPECT_TRUE(flame_of(session, all_of(session)).nodes.empty());
  EXPECT_TRUE(flame_boxes({}, 0, 100).empty());
}

}  // namespace
}  // namespace redline::viewer
