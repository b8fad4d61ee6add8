#include "viewer/models/session.h"

#include <gtest/gtest.h>

#include "viewer/models/test_trace.h"

namespace redline::viewer {
namespace {

TEST(Session, RanksShareOneUnixClock) {
  const Session session = two_ranks();
  EXPECT_FALSE(session.aligned_at_start());
  EXPECT_EQ(session.range(), (TimeRange{0, 209'000}));
  EXPECT_EQ(session.range_of(slice_named(session, 0, "aten::linear")), (TimeRange{30'000, 60'000}));
  EXPECT_EQ(session.range_of(slice_named(session, 1, "aten::linear")), (TimeRange{40'000, 70'000}));
  EXPECT_EQ(session.event_count(), 2U * 19);
  EXPECT_EQ(session.lost_count(), 0U);
  EXPECT_EQ(session.name(), "run · 2 traces");
  const Session runs({training_trace(0).read(), training_trace(1).read()}, 1);
  EXPECT_EQ(runs.name(), "rank0 → rank1");
}

TEST(Session, RecordingsOfDifferentHoursStartTogether) {
  const Session session({training_trace(0).read(), training_trace(1, 3'600'000'000).read()});
  EXPECT_TRUE(session.aligned_at_start());
  EXPECT_EQ(session.range(), (TimeRange{0, 199'000}));
  EXPECT_EQ(session.range_of(slice_named(session, 1, "aten::linear")), (TimeRange{30'000, 60'000}));
}

TEST(Session, FindsTheSteps) {
  const Session session = two_ranks();
  ASSERT_EQ(session.steps().size(), 2U);
  EXPECT_EQ(session.steps()[1].name, "ProfilerStep#6");
  EXPECT_EQ(session.steps()[1].range, (TimeRange{100'000, 199'000}));
}

TEST(Session, TheProfilersOwnSpanDoesNotStretchTheTrace) {
  TestTrace trace = training_trace(0);
  trace.raw(R"~({"ph":"X","cat":"Trace","name":"PyTorch Profiler (0)","pid":"Spans",)~"
            R"("tid":"PyTorch Profiler","ts":500000,"dur":9000000,"args":{"Op count":3}})");
  EXPECT_EQ(Session({trace.read()}).range(), (TimeRange{0, 199'000}));
}

TEST(Session, EmptyIsHarmless) {
  const Session none({});
  EXPECT_EQ(none.range(), (TimeRange{0, 0}));
  EXPECT_TRUE(none.steps().empty());
  EXPECT_GT(first_view(none, 800).span_ns(), 0);
}

TEST(FirstView, ShowsEverythingWhereNamesCanBeRead) {
  const Session session = two_ranks();
  EXPECT_EQ(first_view(session, 1000), session.range());
}

TEST(FirstView, ElseTheFirstCompleteStep) {
  TestTrace trace(0);
  for (int step = 0; step < 200; ++step) {
    trace.slice("user_annotation", fmt::format("ProfilerStep#{}", step), 1, 1, step * 100, 99);
    for (int op = 0; op < 15; ++op) {
      trace.slice("cpu_op", "aten::add", 1, 1, step * 100 + op * 6, 5.5);
    }
  }
  const Session session({trace.read()});
  EXPECT_EQ(first_view(session, 1000), (TimeRange{100'000, 199'000}));
}

}  // namespace
}  // namespace redline::viewer
