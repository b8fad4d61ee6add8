#include "viewer/models/session.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "viewer/models/analyse.h"
#include "viewer/models/testing_trace.h"

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
  const auto here = [](const char* path) {
    return *trace::parse_trace(path, training_trace(0).json());
  };
  const std::string folder = std::filesystem::current_path().filename();
  EXPECT_EQ(Session({here("./a.json"), here("b.json")}).name(), folder + " · 2 traces");
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

// A rank with ten collectives that end on all ranks together; its clock is ahead by `ahead_us`.
TestTrace rank_of(int rank, double ahead_us) {
  TestTrace trace(rank);
  for (int i = 0; i < 10; ++i) {
    const double end = 100.0 * (i + 1) + ahead_us;
    const double begin = end - 20 - 3 * ((i + rank) % 4);
    trace.slice("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0, 20, begin, end - begin,
                fmt::format(R"({{"device":0,"stream":20,"Collective name":"allreduce",)"
                            R"("Process Group Name":"0","Seq":{}}})",
                            i));
  }
  return trace;
}

TEST(Clocks, AreSetRightByCollectives) {
  const Session session({rank_of(0, 0).read(), rank_of(1, 40).read()});
  const AnalysedSession analysed = analyse_session(session);
  const auto shifts = clock_shifts(session, *analysed.report);
  ASSERT_TRUE(shifts);
  ASSERT_EQ(shifts->shift_ns.size(), 2U);
  EXPECT_EQ(shifts->shift_ns[0], 0);
  EXPECT_NEAR(static_cast<double>(shifts->shift_ns[1]), -40'000, 100);
  EXPECT_NE(shifts->text.find("rank 1 by -40.0 µs ±"), std::string::npos) << shifts->text;

  const Session aligned = session.shifted(shifts->shift_ns);
  const SliceRef last{1, {9}};
  EXPECT_NEAR(static_cast<double>(aligned.range_of(last).end_ns),
              static_cast<double>(aligned.range_of(SliceRef{0, {9}}).end_ns), 100);
  EXPECT_EQ(aligned.range_of(SliceRef{0, {9}}), session.range_of(SliceRef{0, {9}}));
  EXPECT_LT(aligned.range().end_ns, session.range().end_ns);
}

TEST(Clocks, OfOneRankOrWithoutCollectivesAreLeftAlone) {
  const Session alone({rank_of(0, 0).read()});
  EXPECT_FALSE(clock_shifts(alone, *analyse_session(alone).report));
}

TEST(Clocks, OfARankAreSetRightInAllItsRecordings) {
  const Session session(
      {rank_of(0, 0).read(), rank_of(0, 0).read(), rank_of(1, 40).read(), rank_of(1, 40).read()});
  const auto shifts = clock_shifts(session, *analyse_session(session).report);
  ASSERT_TRUE(shifts);
  ASSERT_EQ(shifts->shift_ns.size(), 4U);
  const std::vector<double> expected{0, 0, -40'000, -40'000};
  for (size_t t = 0; t < expected.size(); ++t) {
    EXPECT_NEAR(static_cast<double>(shifts->shift_ns[t]), expected[t], 100) << t;
  }
  EXPECT_EQ(shifts->text.find("rank 1 by -40.0 µs ±"), 0U) << shifts->text;
  EXPECT_EQ(shifts->text.find(','), std::string::npos) << "a rank is named once: " << shifts->text;
}

}  // namespace

}  // namespace redline::viewer
