#include "trace/read/recordings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/intervals.h"
#include "tests/parsed_trace.h"
#include "tests/temporary_folder.h"

namespace redline::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Recorded {
  std::string name;  ///< of the recording; "": the trace says none
  int rank = -1;     ///< -1: the trace says none
  int world_size = 2;
};

std::vector<bool> superseded_of(const std::vector<std::shared_ptr<const Trace>>& traces) {
  std::vector<RecordedTrace> recorded;
  for (const auto& trace : traces) recorded.push_back(recorded_trace(*trace));
  return superseded(recorded);
}

// What is kept, as "name rank", in the order of the traces.
std::vector<std::string> kept(const std::vector<Recorded>& all) {
  std::vector<std::shared_ptr<const Trace>> traces;
  for (const Recorded& each : all) {
    redline::testing::TraceText text;
    text.cpu_op("aten::mm", 0, 100);
    if (!each.name.empty()) text.top(R"("run": {"recording": ")" + each.name + R"("})");
    if (each.rank >= 0) text.rank(each.rank, each.world_size);
    traces.push_back(redline::testing::parsed(text.str()));
  }
  const std::vector<bool> left_out = superseded_of(traces);
  std::vector<std::string> names;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!left_out[i]) names.push_back(all[i].name + " " + std::to_string(all[i].rank));
  }
  return names;
}

TEST(Recordings, ACommandThatWasRecordedTwiceCountsOnce) {
  EXPECT_THAT(kept({{"111.1"}, {"112.1"}}), ElementsAre("112.1 -1"));
  EXPECT_THAT(kept({{"12.1", 0}, {"11.1", 0}, {"11.1", 1}, {"12.1", 1}}),
              ElementsAre("12.1 0", "12.1 1"));
}

// Their windows end at 100 ns, when both processes had begun.
TEST(Recordings, ProcessesWithoutRanksThatRanBesideEachOtherStay) {
  EXPECT_THAT(kept({{"11.1"}, {"12.2"}}), ElementsAre("11.1 -1", "12.2 -1"));
}

TEST(Recordings, AllWindowsAndProcessesOfOneRecordingStay) {
  EXPECT_THAT(kept({{"11.1"}, {"11.1"}}), ElementsAre("11.1 -1", "11.1 -1"));
  EXPECT_THAT(kept({{"11.1", 0}, {"11.1", 1}, {"11.1", 0}}),
              ElementsAre("11.1 0", "11.1 1", "11.1 0"));
}

TEST(Recordings, OfAnEarlierJobWithOtherRanksNothingStays) {
  EXPECT_THAT(kept({{"11.1", 0}, {"11.1", 1}, {"12.1"}}), ElementsAre("12.1 -1"));
  EXPECT_THAT(kept({{"11.1", 3, 4}, {"12.1", 0, 2}}), ElementsAre("12.1 0"));
}

TEST(Recordings, CommandsOnTwoNodesRecordOneJob) {
  EXPECT_THAT(kept({{"11.1", 0}, {"12.1", 1}}), ElementsAre("11.1 0", "12.1 1"));
  // The job was recorded twice; the second time, the other node began first.
  EXPECT_THAT(kept({{"11.1", 0}, {"12.1", 1}, {"13.1", 1}, {"14.1", 0}}),
              ElementsAre("13.1 1", "14.1 0"));
}

TEST(Recordings, OfAnEarlierJobTheRankThatLacksNowIsNotTaken) {
  // The traces end long before the later command began.
  EXPECT_THAT(kept({{"11.1", 0}, {"12.1", 1}, {"1900000000000000000.1", 0}}),
              ElementsAre("1900000000000000000.1 0"));
}

TEST(Recordings, TracesThatNameNoneStay) {
  EXPECT_THAT(kept({{"", 0}, {"", 0}, {"12.1", 0}}), ElementsAre(" 0", " 0", "12.1 0"));
  EXPECT_THAT(kept({}), IsEmpty());
}

TEST(Recordings, OfAFolderTheLatestIsReadAndTheOthersAreMentioned) {
  const testing::TemporaryFolder place;
  const std::string folder = place.path();
  for (const std::string name : {"111.1", "112.1"}) {
    redline::testing::TraceText text;
    text.cpu_op("aten::mm", 0, 100).top(R"("run": {"recording": ")" + name + R"("})");
    std::ofstream(folder + "/" + name + ".pt.trace.json") << text.str();
  }
  const auto traces = read_traces({folder});
  const auto both = read_traces({folder + "/111.1.pt.trace.json", folder});
  std::vector<std::string> notes;
  if (traces) notes = notes_on_left_out({folder}, paths_of(*traces));
  const auto more_notes = both ? notes_on_left_out({folder}, paths_of(*both)) : notes;
  ASSERT_TRUE(traces);
  ASSERT_EQ(traces->size(), 1U);
  EXPECT_THAT(traces->front()->path(), ::testing::HasSubstr("112.1"));
  EXPECT_THAT(notes,
              ElementsAre(folder + ": the latest recording; 1 trace of earlier ones left out"));
  ASSERT_EQ(both->size(), 2U);  // somebody who names a file wants it
  EXPECT_THAT(more_notes, IsEmpty());
}

TEST(Recordings, TracesWithoutARankAreOrderedByTheNumbersInTheirNames) {
  const testing::TemporaryFolder place;
  const std::string folder = place.path();
  std::vector<std::string> ordered;
  for (const char* name : {"rank0", "rank1", "rank2", "rank10", "rank11", "ranks"}) {
    const std::string& path = ordered.emplace_back(folder + "/" + name + ".pt.trace.json");
    redline::testing::TraceText text;
    text.cpu_op("aten::mm", 0, 100);
    std::ofstream(path) << text.str();
  }
  const auto traces = read_traces({folder});
  ASSERT_TRUE(traces);
  EXPECT_EQ(paths_of(*traces), ordered);
  EXPECT_LT(place_of_trace({}, 0, "a01"), place_of_trace({}, 0, "a1")) << "no two are alike";
  EXPECT_LT(place_of_trace(10, 5, "b"), place_of_trace(10, 6, "a"));
  EXPECT_LT(place_of_trace(10, 5, "b"), place_of_trace({}, 0, "a"));
}

TEST(Recordings, AMergedFileBesideItsRanksIsLeftOutAndMentioned) {
  const testing::TemporaryFolder place;
  const std::string folder = place.path();
  const auto write = [&](const std::string& name, const std::string& top) {
    const std::string path = folder + "/" + name + ".pt.trace.json";
    redline::testing::TraceText text;
    text.cpu_op("aten::mm", 0, 100).rank(0, 2).top(top);
    std::ofstream(path) << text.str();
    return path;
  };
  constexpr const char* kMerge = R"("redline_merge": {"ranks": [{"rank": 0}, {"rank": 1}]})";
  const std::string merged = write("all", kMerge);
  const auto alone = read_traces({folder});
  const std::string rank = write("node_7.1", R"("run": {"recording": "11.1"})");
  const auto traces = read_traces({folder});
  const auto named = read_traces({folder, merged});
  std::vector<std::string> notes;
  if (traces) notes = notes_on_left_out({folder}, paths_of(*traces));
  ASSERT_TRUE(alone && traces && named);
  EXPECT_THAT(paths_of(*alone), ElementsAre(merged));
  EXPECT_THAT(paths_of(*traces), ElementsAre(rank));
  EXPECT_THAT(notes, ElementsAre(merged + ": left out, as redline merge made it of others; name "
                                          "it alone to read it"));
}

TEST(Recordings, WhatIsLeftOutIsOfTheSameProcessOrOfAnother) {
  const testing::TemporaryFolder place;
  const std::string folder = place.path();
  for (const char* name : {"node_7.100", "node_7.200", "mode_7.150", "latest"}) {
    std::ofstream(folder + "/" + name + ".pt.trace.json") << redline::testing::TraceText().str();
  }
  const auto notes = notes_on_left_out({folder}, {folder + "/node_7.200.pt.trace.json"});
  EXPECT_THAT(
      notes,
      ElementsAre(
          folder + ": of each process the last seconds at its end; 1 trace of before left out",
          folder + ": the latest recording; 2 traces of earlier ones left out"));
}

TEST(Recordings, AnUnfinishedTraceIsReadWhereThereIsNoOtherAndElseMentioned) {
  const testing::TemporaryFolder place;
  const std::string folder = place.path();
  redline::testing::TraceText text;
  text.cpu_op("aten::mm", 0, 100).cpu_op("aten::add", 200, 300);
  const std::string killed = folder + "/node_7.1.pt.trace.json.gz.partial";
  std::ofstream(killed) << text.str().substr(0, text.str().size() - 20);
  std::ofstream(folder + "/rank0.steps.redline.partial") << "another file";
  const auto alone = read_traces({folder});
  const auto whole = folder + "/node_8.1.pt.trace.json";
  std::ofstream(whole) << text.str();
  const auto files = find_traces(folder);
  const auto notes = notes_on_left_out({folder}, {whole});
  const auto none = notes_on_left_out({folder}, {whole, killed});
  ASSERT_TRUE(alone);
  ASSERT_EQ(alone->size(), 1U);
  EXPECT_EQ(alone->front()->path(), killed);
  EXPECT_EQ(files.value(), std::vector{whole});
  EXPECT_THAT(notes, ElementsAre(folder +
                                 ": 1 trace of a process that was killed, or still "
                                 "records, left out; name the file to read what it has: " +
                                 killed));
  EXPECT_THAT(none, IsEmpty());
}

// What is kept of flight recorders' traces of one rank, by the begin of each.
std::vector<int64_t> kept_rings(const std::vector<std::pair<Interval, int>>& spans_of_processes) {
  std::vector<std::shared_ptr<const Trace>> traces;
  for (const auto& [span, process] : spans_of_processes) {
    redline::testing::TraceText text;
    text.cpu_op("aten::mm", span.begin_ns, span.end_ns, {.pid = std::to_string(process)});
    text.rank(0, 2).top(R"("redline": {"reason": "SIGTERM", "ring": {"asked_ns": 5}})");
    traces.push_back(redline::testing::parsed(text.str()));
  }
  const std::vector<bool> left_out = superseded_of(traces);
  std::vector<int64_t> begins_ns;
  for (size_t i = 0; i < traces.size(); ++i) {
    if (!left_out[i]) begins_ns.push_back(traces[i]->begin_ns());
  }
  return begins_ns;
}

TEST(Recordings, OfTracesThatHoldTheSameTimeOfAProcessTheLaterCounts) {
  EXPECT_THAT(kept_rings({{{1000, 2000}, 7}, {{1500, 2500}, 7}}), ElementsAre(1500));
  EXPECT_THAT(kept_rings({{{1000, 3000}, 7}, {{1000, 2000}, 7}, {{1000, 1500}, 7}}),
              ElementsAre(1000));
  EXPECT_THAT(kept_rings({{{1000, 2000}, 7}, {{2000, 2500}, 7}}), ElementsAre(1000, 2000));
  EXPECT_THAT(kept_rings({{{1000, 2000}, 7}, {{1500, 2000}, 7}}), ElementsAre(1000));
  EXPECT_THAT(kept_rings({{{1000, 2000}, 7}, {{1500, 2500}, 8}}), ElementsAre(1000, 1500))
      << "another process, which may be the same rank started anew";
}

TEST(Recordings, WhatCannotBeReadIsLeftOutWhereTheCallerListens) {
  const testing::TemporaryFolder place;
  const std::string folder = place.path();
  redline::testing::TraceText text;
  text.cpu_op("aten::mm", 0, 100);
  std::ofstream(folder + "/good.json") << text.str();
  std::ofstream(folder + "/bad.json") << "no trace";
  const auto strict = read_traces({folder});
  std::vector<ReadError> unreadable;
  ReadOptions options;
  options.unreadable = &unreadable;
  const auto traces = read_traces({folder}, options);
  const auto none = read_traces({folder + "/bad.json"}, options);
  std::vector<std::string> notes{"?"};
  if (traces) notes = notes_on_left_out({folder}, paths_of(*traces), unreadable);
  EXPECT_FALSE(strict);
  ASSERT_TRUE(traces);
  EXPECT_EQ(traces->size(), 1U);
  ASSERT_EQ(unreadable.size(), 1U);
  EXPECT_EQ(unreadable[0].path, folder + "/bad.json");
  EXPECT_TRUE(unreadable[0].message.starts_with(unreadable[0].path + ": "));
  EXPECT_THAT(notes, IsEmpty()) << "it is of no earlier recording";
  EXPECT_FALSE(none);
}

}  // namespace
}  // namespace redline::trace
