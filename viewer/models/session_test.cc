#include "viewer/models/session.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "viewer/models/analyse.h"
#include "viewer/models/session_report.h"
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
  EXPECT_EQ(Session({here("/data/a.pt.trace.json.gz")}).name(), "a");
  EXPECT_EQ(Session({here("/data/a.pt.trace.json.zst")}).name(), "a");
  EXPECT_EQ(Session({here("/data/.json")}).name(), ".json") << "no ending, but all that it has";
}

TEST(Session, RecordingsOfDifferentHoursStartTogether) {
  const Session session({training_trace(0).read(), training_trace(1, 3'600'000'000).read()});
  EXPECT_TRUE(session.aligned_at_start());
  EXPECT_EQ(session.range(), (TimeRange{0, 199'000}));
  EXPECT_EQ(session.range_of(slice_named(session, 1, "aten::linear")), (TimeRange{30'000, 60'000}));
}

TEST(Session, TracesThatNearlyOverlapShareOneClock) {
  const auto at = [](int64_t begin_us, double length_us) {
    return TestTrace(0, begin_us).slice("cpu_op", "aten::mm", 1, 1, 0, length_us).read();
  };
  // A pause of as long as the longest trace is allowed.
  EXPECT_FALSE(Session({at(1'000, 100), at(1'200, 50)}).aligned_at_start());
  EXPECT_TRUE(Session({at(1'000, 100), at(1'201, 50)}).aligned_at_start());
  EXPECT_FALSE(Session({at(1'151, 100), at(1'001, 50)}).aligned_at_start()) << "in any order";
  EXPECT_TRUE(Session({at(1'152, 100), at(1'001, 50)}).aligned_at_start());
  // The long one ends last, though another begins after it.
  EXPECT_FALSE(Session({at(1'190, 10), at(1'010, 10), at(1'000, 100)}).aligned_at_start());
  EXPECT_EQ(Session({TestTrace(0).read(), at(1'000, 100)}).range(), (TimeRange{0, 100'000}))
      << "an empty trace takes no time";
}

TEST(Session, FindsTheSteps) {
  const Session session = two_ranks();
  ASSERT_EQ(session.steps().size(), 2U);
  EXPECT_EQ(session.steps()[1].name, "ProfilerStep#6");
  EXPECT_EQ(session.steps()[1].range, (TimeRange{100'000, 199'000}));
}

TEST(Session, HasTheStepsOfTheReportAndNotThoseWithinThemOrOfOtherThreads) {
  TestTrace trace(0);
  for (int step = 0; step < 3; ++step) {
    const auto mark = [&](int number, int thread, double at_us, double length_us) {
      trace.slice("user_annotation", fmt::format("ProfilerStep#{}", number), 1, thread,
                  step * 100 + at_us, length_us);
    };
    mark(step, 1, 0, 99);
    mark(step + 50, 1, 10, 30);
    mark(step + 900, 2, 5, 60);
  }
  const Session session({trace.read()});
  std::string found;
  for (const Step& step : session.steps()) {
    EXPECT_EQ(session.name_of({0, step.slice}), step.name);
    found += fmt::format("{} {}; ", step.name, step.range.begin_ns);
  }
  EXPECT_EQ(found, "ProfilerStep#0 0; ProfilerStep#1 100000; ProfilerStep#2 200000; ");
  EXPECT_EQ(analyse_session(session).report->analyses.at(0).steps.size(), 3U);
  const Session runs({trace.read(), trace.read()}, 1);
  EXPECT_EQ(runs.steps().at(1).range, (TimeRange{0, 99'000})) << "the second is at 0";
}

TEST(Session, FindsTheStepsOfAllWindowsOfTheFirstRank) {
  const auto begins = [](const std::vector<std::shared_ptr<const trace::Trace>>& traces,
                         size_t before = 0) {
    std::vector<int64_t> found;
    const Session session(traces, before);
    for (const Step& step : session.steps()) found.push_back(step.range.begin_ns);
    return found;
  };
  const auto window = [](int rank, int64_t start_us) {
    return training_trace(rank, start_us).read();
  };
  using Begins = std::vector<int64_t>;
  EXPECT_EQ(begins({window(0, 1'000'000), window(0, 1'000'250), window(1, 1'000'000)}),
            (Begins{0, 100'000, 250'000, 350'000}));
  EXPECT_EQ(begins({window(0, 1'000'000), window(0, 1'000'100)}), (Begins{0, 100'000, 200'000}))
      << "a flight recorder's windows hold the same steps";
  EXPECT_EQ(begins({window(0, 1'000'000), window(0, 3'600'000'000)}), Begins())
      << "a place stands for a step of each";
  EXPECT_EQ(begins({window(0, 1'000'000), window(1, 3'600'000'000)}), (Begins{0, 100'000}));
  EXPECT_EQ(begins({window(0, 1'000'000), window(0, 1'000'250)}, 1), (Begins{-100'000, 0}));
  const auto without_rank = [](int64_t start_us) {
    std::string json = training_trace(0, start_us).json();
    json.replace(json.find("\"distributedInfo\""), 17, "\"elsewhere\"");
    return *trace::parse_trace("/data/a.json", json);
  };
  EXPECT_EQ(begins({without_rank(1'000'000), without_rank(1'000'250)}).size(), 4U) << "one PID";
  EXPECT_EQ(begins({window(0, 1'000'000), without_rank(1'000'250)}).size(), 2U) << "any rank's";
}

TEST(Session, ARecordingIsTheSameIfItsFileHoldsTimesThatItHeld) {
  const Session first({training_trace(0).read()});
  EXPECT_TRUE(shares_recordings(first, Session({training_trace(0, 1'000'100).read()})));
  EXPECT_TRUE(shares_recordings(first, two_ranks())) << "a rank more";
  EXPECT_FALSE(shares_recordings(first, Session({training_trace(0, 2'000'000).read()})));
  EXPECT_FALSE(shares_recordings(first, Session({training_trace(1).read()}))) << "another file";
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

TEST(FirstView, OfAFewSlicesShowsAll) {
  TestTrace one(0);
  EXPECT_EQ(first_view(Session({one.slice("cpu_op", "aten::mm", 1, 1, 0, 7).read()}), 1000),
            (TimeRange{0, 7'000}));
  TestTrace three(0);
  for (const double at : {0, 250, 500}) three.slice("cpu_op", "aten::mm", 1, 1, at, 240);
  EXPECT_EQ(first_view(Session({three.kernel("gemm", 7, 900, 20).read()}), 1000),
            (TimeRange{0, 920'000}))
      << "with the only kernel";
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

/// A slice at each of these times, each `wide_us` wide, in a trace of 1000 us.
Session with_slices(const std::vector<double>& begins_us, double wide_us, int steps) {
  TestTrace trace(0);
  trace.slice("cpu_op", "begin", 1, 1, 0, 0.001).slice("cpu_op", "end", 1, 1, 999.999, 0.001);
  for (const double at : begins_us) trace.slice("cpu_op", "aten::mm", 1, 1, at, wide_us);
  for (int step = 0; step < steps; ++step) {
    trace.slice("user_annotation", fmt::format("ProfilerStep#{}", step), 2, 2, 200 * step, 0.001);
  }
  return Session({trace.read()});
}

TEST(FirstView, IsThatHalfInWhichMoreNamesCanBeRead) {
  const std::vector<double> left{10, 80, 150, 220}, right{510, 580, 650, 720};
  const TimeRange all{0, 1'000'000};
  // Of 1000 pixels a name takes 50, here 50 us of all, 25 us of a half and 12.5 us of a quarter.
  EXPECT_EQ(first_view(with_slices(right, 50, 0), 1000), all);
  EXPECT_EQ(first_view(with_slices(right, 49.999, 0), 1000), (TimeRange{500'000, 1'000'000}));
  EXPECT_EQ(first_view(with_slices(left, 49.999, 0), 1000), (TimeRange{0, 500'000}));
  EXPECT_EQ(first_view(with_slices(right, 24, 0), 1000), (TimeRange{500'000, 750'000}))
      << "no half has a name, and a quarter has four";
  EXPECT_EQ(first_view(with_slices({10, 80, 150}, 50, 0), 1000), all)
      << "three names are few, but no part has more";
  EXPECT_EQ(first_view(with_slices(right, 12, 0), 1000), all) << "no part has any";
  EXPECT_EQ(first_view(with_slices(right, 50, 2), 1000), all) << "two steps are shown whole";
  EXPECT_EQ(first_view(with_slices(right, 50, 3), 1000).begin_ns, 200'000) << "of three the second";
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
  const std::vector two{rank_of(0, 0).read(), rank_of(1, 40).read()};
  const auto report = analyse_session(Session(two)).report;
  EXPECT_TRUE(clock_shifts(Session(two), *report));
  trace::Report known = *report;
  for (const auto& [offset_ns, words] :
       {std::pair(1, "rank 1 by +1 ns ±"), std::pair(-1, "rank 1 by -1 ns ±")}) {
    known.comparison->clocks.at(1)->offset_ns = offset_ns;
    EXPECT_EQ(clock_shifts(Session(two), known)->text.find(words), 0U) << offset_ns;
  }
  known.comparison->clocks.at(1)->offset_ns = 0;
  EXPECT_FALSE(clock_shifts(Session(two), known)) << "it is right";
  EXPECT_FALSE(clock_shifts(Session(two, 1), *report)) << "two runs have no clock in common";
}

TEST(Clocks, OfManyRanksThreeAreNamed) {
  std::vector<std::shared_ptr<const trace::Trace>> traces;
  const auto words = [&traces] {
    const Session session(traces);
    const std::string text = clock_shifts(session, *analyse_session(session).report)->text;
    return std::regex_replace(text, std::regex(" ± [0-9.]+ [^ ,]+"), "");
  };
  for (int rank = 0; rank < 4; ++rank) traces.push_back(rank_of(rank, -10 * rank).read());
  EXPECT_EQ(words(), "rank 1 by +10.0 µs, rank 2 by +20.0 µs, rank 3 by +30.0 µs");
  traces.push_back(rank_of(4, -40).read());
  EXPECT_EQ(words(), "rank 1 by +10.0 µs, rank 2 by +20.0 µs, rank 3 by +30.0 µs and 1 more");
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
