#include "viewer/models/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QTemporaryDir>
#include <fstream>

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

TEST(LoadReport, CountsOneAsOne) {
  TestTrace one(0);
  one.slice("cpu_op", "aten::mm", 1, 1, 0, 50);
  EXPECT_THAT(load_report(Session({one.read()})),
              HasSubstr("1 event, 1 slice, 1 track, 0 counters"));
}

TEST(LoadReport, TheTimeLeftFollowsFromTheTimeSoFar) {
  EXPECT_EQ(time_left(500'000'000, 10, 100), std::nullopt) << "too early to tell";
  EXPECT_EQ(time_left(2'000'000'000, 10, 100), std::chrono::seconds(18));
  EXPECT_EQ(time_left(2'000'000'000, 100, 100), std::nullopt);
  EXPECT_EQ(time_left(2'000'000'000, 0, 0), std::nullopt);
}

TEST(LoadReport, OneBadFileDoesNotRefuseTheOthers) {
  const QTemporaryDir folder;
  const auto path = [&](const char* name) { return folder.filePath(name).toStdString(); };
  for (const int rank : {0, 2}) {
    std::ofstream(path(rank == 0 ? "rank0.pt.trace.json" : "rank2.pt.trace.json"))
        << training_trace(rank).json();
  }
  std::ofstream(path("rank1.pt.trace.json")) << "no trace";
  const auto loaded = load_session({folder.path().toStdString()});
  ASSERT_TRUE(loaded) << loaded.error();
  ASSERT_EQ(loaded->session->traces().size(), 2U);
  EXPECT_EQ(loaded->session->traces()[1].title, "rank 2");
  ASSERT_EQ(loaded->unreadable.size(), 1U);
  EXPECT_THAT(load_report(*loaded->session, loaded->unreadable),
              HasSubstr("left out: " + path("rank1.pt.trace.json") + ": "));
  EXPECT_FALSE(load_session({path("rank1.pt.trace.json")})) << "there is no other";
}

}  // namespace
}  // namespace redline::viewer
