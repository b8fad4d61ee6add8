#include "viewer/models/marks_lane.h"

#include <gmock/gmock.h>

#include "viewer/models/analyse.h"
#include "viewer/models/testing_trace.h"

namespace redline::viewer {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kStart = 1'000'000'000;  // ns, where TestTrace begins

std::string mark(double at_us, const std::string& name, const std::string& args = "",
                 const std::string& pid = "1", int tid = 1) {
  return fmt::format(
      R"({{"ph":"i","s":"t","cat":"user_annotation","name":"{}","pid":{},"tid":{},"ts":{},)"
      R"("args":{{{}}}}})",
      name, pid, tid, 1'000'000 + at_us, args);
}

Session session_of(std::initializer_list<std::string> marks) {
  TestTrace trace(0);
  trace.slice("cpu_op", "aten::mm", 1, 1, 0, 100);
  for (const std::string& each : marks) trace.raw(each);
  return Session({trace.read()});
}

TEST(MarksLane, LeavesOutSamplesOfMemoryAndTheProfilersOwnMarks) {
  const Session session =
      session_of({mark(30, "loss is NaN"), mark(10, "epoch 1"), mark(20, "[memory]"),
                  mark(0, "Iteration Start: PyTorch Profiler", "", "\"Traces\""),
                  mark(99, "Record Window End", "", "\"\"")});
  const std::vector<MarksLane> lanes = marks_lanes(session, 0);
  ASSERT_EQ(lanes.size(), 1U);
  const trace::Trace& trace = *session.traces()[0].trace;
  ASSERT_EQ(lanes[0].size(), 2U);
  EXPECT_EQ(trace.string(lanes[0].name(0)), "epoch 1") << "by time";
  EXPECT_EQ(trace.string(lanes[0].name(1)), "loss is NaN");
}

TEST(MarksLane, DrawsTheFirstMarkOfEachColumn) {
  const Session session = session_of({mark(5, "before"), mark(10, "a"), mark(10.4, "hidden"),
                                      mark(12, "b"), mark(109, "c"), mark(110, "after")});
  const std::vector<MarksLane> lanes = marks_lanes(session, 0);
  const TimeAxis axis{.begin_ns = kStart + 10'000, .span_ns = 100'000, .width = 100};
  EXPECT_THAT(lanes.at(0).draw(axis),
              ElementsAre(DrawnMark{0, 1}, DrawnMark{2, 3}, DrawnMark{99, 4}));
}

TEST(MarksLane, FindsTheNearestMarkWithinTheTolerance) {
  const Session session = session_of({mark(10, "a"), mark(20, "b")});
  const MarksLane lane = marks_lanes(session, 0).at(0);
  const auto at = [&](int64_t us, int64_t tolerance_us) {
    return lane.mark_at(kStart + us * 1000, tolerance_us * 1000);
  };
  EXPECT_EQ(at(10, 0), 0U);
  EXPECT_EQ(at(14, 5), 0U);
  EXPECT_EQ(at(16, 5), 1U);
  EXPECT_EQ(at(5, 5), 0U);
  EXPECT_EQ(at(4, 5), std::nullopt);
  EXPECT_EQ(at(25, 5), 1U);
  EXPECT_EQ(at(26, 5), std::nullopt);
}

TEST(MarksLane, SaysNameTimeAndArguments) {
  const Session session = session_of({mark(30, "GPU 1: Xid 79", R"("device": 1, "Xid": 79)")});
  EXPECT_EQ(marks_lanes(session, 0).at(0).text_of(session, 0),
            "GPU 1: Xid 79\nat +30.0 µs\ndevice: 1\nXid: 79");
}

/// Of each row of marks: its group, and how many marks it has.
std::vector<std::string> rows_of_marks(const Session& session) {
  std::vector<TrackGroup> groups = track_groups(session);
  add_derived(groups, session, *analyse_session(session).derived);
  std::vector<std::string> rows;
  for (const TrackGroup& group : groups) {
    const TrackItem& first = group.tracks.front();  // above the threads
    if (first.kind == TrackItem::Kind::kMarks) rows.push_back(group.title + ": " + first.note);
  }
  return rows;
}

TEST(MarksLane, IsARowOfItsProcess) {
  EXPECT_THAT(rows_of_marks(session_of({mark(30, "mine"), mark(40, "too")})),
              ElementsAre("rank 0 · CPU: 2"));
  EXPECT_THAT(rows_of_marks(session_of({mark(30, "GPU 0: Xid 79", "", "1", 99)})),
              ElementsAre("rank 0 · CPU: 1"))
      << "of a thread without slices";
}

TEST(MarksLane, WithoutAProcessThatIsShownItIsARowOfTheFirst) {
  EXPECT_THAT(rows_of_marks(session_of({mark(30, "mine"), mark(40, "nobody's", "", "7"),
                                        mark(50, "of all", "", R"("")")})),
              ElementsAre("rank 0 · CPU: 3"));
}

TEST(MarksLane, OfAGpuItIsARowOfTheGpu) {
  TestTrace trace(0);
  trace.slice("cpu_op", "aten::mm", 1, 1, 0, 100).kernel("gemm", 7, 10, 20);
  trace.raw(mark(30, "of the GPU", "", "0", 7)).raw(mark(40, "of another stream", "", "0", 8));
  EXPECT_THAT(rows_of_marks(Session({trace.read()})), ElementsAre("rank 0 · GPU 0: 2"));
}

}  // namespace
}  // namespace redline::viewer
