#include "viewer/models/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/temporary_folder.h"
#include "viewer/models/overview.h"
#include "viewer/models/testing_trace.h"

namespace redline::viewer {
namespace {

using ::testing::HasSubstr;

TEST(LoadReport, NamesEachKindOfTroubleWithItsPlace) {
  const std::string good = training_trace(0).json();
  EXPECT_THAT(load_report(Session({training_trace(0).read()})), HasSubstr("nothing skipped"));
  const auto torn = trace::parse_trace("/data/torn.json", good.substr(0, good.size() - 30));
  ASSERT_TRUE(torn);
  const std::string report = load_report(Session({*torn}));
  EXPECT_THAT(report, HasSubstr("/data/torn.json\n"));
  EXPECT_THAT(report, HasSubstr("skipped: The text ends within an event.\n"));
  EXPECT_THAT(report, HasSubstr("1 time, the first at byte "));
  EXPECT_THAT(report, ::testing::Not(HasSubstr("event_cut"))) << "a name for programs";
  EXPECT_THAT(report, HasSubstr("Copy the file again"));
  EXPECT_THAT(report, ::testing::Not(HasSubstr("nothing skipped")));
}

TEST(LoadReport, HasAPartForEachFileAndALineForEachThatIsLeftOut) {
  TestTrace small(1);
  small.slice("cpu_op", "aten::mm", 1, 1, 0, 50);
  const Session session = Session::of_ranks({{training_trace(0).read()},
                                             {small.read()},
                                             {trace::without_events(*small.read()), false},
                                             {trace::without_events(*small.read()), false}});
  const auto outline = outline_of(small.read());
  EXPECT_EQ(load_report(session.outlined({outline, outline, outline, nullptr}),
                        {{"/data/a: no such file"}, {"/data/b: empty"}}),
            "/data/run/rank0.pt.trace.json\n"
            "  19 events, 18 slices, 4 tracks, 0 counters\n"
            "  nothing skipped, nothing repaired\n"
            "\n/data/run/rank1.pt.trace.json\n"
            "  1 event, 1 slice, 1 track, 0 counters\n"
            "  nothing skipped, nothing repaired\n"
            "\n/data/run/rank1.pt.trace.json\n"
            "  1 event, 1 slice, not in memory\n"
            "  nothing skipped, nothing repaired\n"
            "\n/data/run/rank1.pt.trace.json\n"
            "  not read yet\n"
            "\nleft out: /data/a: no such file\n"
            "\nleft out: /data/b: empty\n");
  EXPECT_EQ(load_report(Session({}), {{"/data/a: no such file"}}),
            "left out: /data/a: no such file\n");
}

TEST(LoadReport, CountsOneAsOne) {
  TestTrace one(0);
  one.slice("cpu_op", "aten::mm", 1, 1, 0, 50);
  EXPECT_THAT(load_report(Session({one.read()})),
              HasSubstr("1 event, 1 slice, 1 track, 0 counters"));
}

TEST(LoadReport, TheTimeLeftFollowsFromTheTimeSoFar) {
  EXPECT_EQ(time_left(999'999'999, 10, 100), std::nullopt) << "too early to tell";
  EXPECT_EQ(time_left(1'000'000'000, 10, 100), std::chrono::seconds(9));
  EXPECT_EQ(time_left(1'000'000'000, 7, 24), std::chrono::seconds(3)) << "2.4, rounded up";
  EXPECT_EQ(time_left(1'000'000'000, 0, 100), std::nullopt) << "nothing tells how fast it goes";
  EXPECT_EQ(time_left(1'000'000'000, 1, 900'001), std::chrono::seconds(900'000));
  EXPECT_EQ(time_left(1'000'000'000, 1, 1'100'001), std::nullopt) << "nobody waits for that";
  EXPECT_EQ(time_left(2'000'000'000, 10, 100), std::chrono::seconds(18));
  EXPECT_EQ(time_left(2'000'000'000, 100, 100), std::nullopt);
  EXPECT_EQ(time_left(2'000'000'000, 0, 0), std::nullopt);
}

TEST(LoadReport, OneBadFileDoesNotRefuseTheOthers) {
  const testing::TemporaryFolder folder;
  const auto path = [&](int rank) { return folder / fmt::format("rank{}.pt.trace.json", rank); };
  for (const int rank : {0, 2}) training_trace(rank).write(path(rank));
  std::ofstream(path(1)) << "no trace";
  const auto loaded = load_session({folder.path()});
  ASSERT_TRUE(loaded) << loaded.error();
  ASSERT_EQ(loaded->session->traces().size(), 2U);
  EXPECT_EQ(loaded->session->traces()[1].title, "rank 2");
  ASSERT_EQ(loaded->unreadable.size(), 1U);
  EXPECT_THAT(load_report(*loaded->session, loaded->unreadable),
              HasSubstr("left out: " + path(1) + ": "));
  EXPECT_FALSE(load_session({path(1)})) << "there is no other";
}

}  // namespace
}  // namespace redline::viewer
