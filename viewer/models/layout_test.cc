#include "viewer/models/layout.h"

#include <gtest/gtest.h>

#include "viewer/models/test_trace.h"

namespace redline::viewer {
namespace {

std::vector<std::string> titles(const Session& session) {
  std::vector<std::string> lines;
  for (const TrackGroup& group : track_groups(session)) {
    lines.push_back(group.title + " | " + group.note);
    for (const TrackItem& item : group.tracks)
      lines.push_back("  " + item.title + " | " + item.note);
  }
  return lines;
}

TEST(Tracks, RankThenProcessThenMainThreadFirst) {
  const std::vector<std::string> expected{
      "rank 0 · CPU | pid 100", "  thread 100 | main · python",
      "  thread 101 | ",        "rank 0 · GPU 0 · Tesla V100 | ",
      "  stream 7 | ",          "  stream 20 | ",
      "rank 1 · CPU | pid 100", "  thread 100 | main · python",
      "  thread 101 | ",        "rank 1 · GPU 0 · Tesla V100 | ",
      "  stream 7 | ",          "  stream 20 | "};
  EXPECT_EQ(titles(two_ranks()), expected);
}

TEST(Tracks, OnesWithoutSlicesAreHidden) {
  TestTrace trace = training_trace(0);
  trace.raw(R"({"ph":"M","name":"process_name","pid":5,"tid":5,"ts":1,"args":{"name":"x"}})");
  EXPECT_EQ(track_groups(Session({trace.read()})).size(), 2U);
}

TEST(Tracks, GpuNamesFromHostileText) {
  EXPECT_EQ(gpu_names(R"([{"id":1,"name":"B"},{"id":0,"name":"A"}])"),
            (std::vector<std::string>{"A", "B"}));
  EXPECT_TRUE(gpu_names("").empty());
  EXPECT_TRUE(gpu_names(R"({"id":1})").empty());
  EXPECT_TRUE(gpu_names(R"([{"id":999999999,"name":"B"},{"id":"x"},7])").empty());
}

TEST(Layout, RowsFollowOneAnotherWithoutGaps) {
  const Session session = two_ranks();
  const Layout layout(session, 100'000);
  int y = 0;
  for (const Row& row : layout.rows()) {
    EXPECT_EQ(row.top, y);
    y += row.height;
    EXPECT_EQ(layout.row_at(row.top), &row);
    EXPECT_EQ(layout.row_at(row.top + row.height - 1), &row);
  }
  EXPECT_EQ(layout.height(), y);
  EXPECT_EQ(layout.row_at(y), nullptr);
  EXPECT_EQ(layout.row_at(-1), nullptr);
}

TEST(Layout, EverySliceIsFoundWhereItStands) {
  const Session session = two_ranks();
  const Layout layout(session, 100'000);
  for (uint32_t t = 0; t < 2; ++t) {
    for (uint32_t i = 0; i < session.traces()[t].trace->slice_count(); ++i) {
      const SliceRef ref{t, {i}};
      const auto top = layout.top_of(session, ref);
      ASSERT_TRUE(top);
      for (const int y : {*top, *top + Layout::kLaneHeight - 1}) {
        const auto hit = layout.lane_at(session, y);
        ASSERT_TRUE(hit);
        EXPECT_EQ(hit->trace, t);
        EXPECT_EQ(hit->lane, session.traces()[t].trace->slices().lane[i]);
      }
    }
  }
  EXPECT_FALSE(layout.lane_at(session, 0)) << "a header has no lane";
}

TEST(Layout, FoldingHidesAndRevealBringsBack) {
  const Session session = two_ranks();
  Layout layout(session, 100'000);
  const int full = layout.height();
  const SliceRef deep = slice_named(session, 0, "aten::addmm");
  layout.toggle(session, {0, 0});
  EXPECT_FALSE(layout.top_of(session, deep));
  EXPECT_TRUE(layout.top_of(session, slice_named(session, 0, "ProfilerStep#5")));
  layout.toggle(session, {0, -1});
  EXPECT_FALSE(layout.top_of(session, slice_named(session, 0, "ProfilerStep#5")));
  EXPECT_EQ(layout.rows().front().height, Layout::kHeaderHeight);
  layout.reveal(session, deep);
  EXPECT_TRUE(layout.top_of(session, deep));
  EXPECT_EQ(layout.height(), full);
}

TEST(Layout, FoldsSideThreadsOfManyRanksWhereRoomIsShort) {
  const Session session = two_ranks();
  const Layout roomy(session, 100'000);
  const Layout tight(session, 100);
  EXPECT_LT(tight.height(), roomy.height());
  EXPECT_TRUE(tight.top_of(session, slice_named(session, 1, "aten::addmm")));
  EXPECT_FALSE(tight.top_of(session, slice_named(session, 1, "aten::sum")));
}

}  // namespace
}  // namespace redline::viewer
