#include "trace/write/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/temporary_folder.h"
#include "tests/trace_text.h"
#include "trace/analysis/analysis.h"
#include "trace/model/slice_view.h"
#include "trace/read/reader.h"

namespace redline::trace {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using namespace redline::testing;

using Traces = std::vector<std::shared_ptr<const Trace>>;

class Merge : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }

  static std::shared_ptr<const Trace> rank(int rank, int64_t ahead_ns) {
    TraceText text;
    text.rank(rank, 2).top(fmt::format("\"host_name\": \"node{}\"", rank));
    text.event(R"({"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}})");
    for (int64_t i = 0; i < 5; ++i) {
      const int64_t at = 1'000'000 * (i + 1) + ahead_ns;
      const auto correlation = static_cast<uint32_t>(i + 7);
      text.runtime("cudaLaunchKernel", at, at + 10, correlation);
      text.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", at + 50 + rank, at + 500,
                  on_stream(9, correlation));
    }
    text.event(
        fmt::format(R"({{"ph": "C", "name": "power", "pid": 0, "ts": {}, "args": {{"W": 5}}}})",
                    ahead_ns / 1000));
    return *parse_trace("rank" + std::to_string(rank), text.str());
  }

  [[nodiscard]] std::shared_ptr<const Trace> merged(const Traces& traces) const {
    const auto done = merge_traces(traces, path("all.json.gz"));
    EXPECT_TRUE(done) << done.error();
    return *read_trace(path("all.json.gz"));
  }

  const testing::TemporaryFolder folder_;
};

TEST_F(Merge, PutsRanksOnOneClockAndSaysEachOffset) {
  const Traces traces = {rank(0, 0), rank(1, 123'000)};
  const auto done = merge_traces(traces, path("all.json"));
  ASSERT_TRUE(done) << done.error();
  EXPECT_EQ((*done)[1].label, "rank 1");
  EXPECT_EQ((*done)[1].clock->offset_ns, -123'000);

  std::ifstream file(path("all.json"));
  const json text = json::parse(file);
  const json& ranks = text["redline_merge"]["ranks"];
  EXPECT_EQ(ranks[1]["clock"]["offset_ns"], -123'000);
  EXPECT_EQ(ranks[1]["metadata"]["host_name"], "node1");
  EXPECT_EQ(text["distributedInfo"]["rank"], 0);

  const auto trace = *read_trace(path("all.json"));
  EXPECT_TRUE(trace->issues().empty());
  std::map<int64_t, int> ends;
  for_each_slice(*trace, [&](SliceId slice, Category category) {
    if (category == Category::kKernel) ++ends[interval_of(*trace, slice).end_ns];
  });
  ASSERT_EQ(ends.size(), 5U);
  for (const auto& [end_ns, count] : ends) EXPECT_EQ(count, 2) << end_ns;
}

TEST_F(Merge, KeepsProcessesAndLaunchesOfRanksApart) {
  const auto trace = merged({rank(0, 0), rank(1, 0)});
  std::vector<std::string> rows;
  for (const Track& track : trace->tracks()) {
    rows.push_back(
        fmt::format("{} {}", trace->string(track.pid), trace->string(track.process_name)));
  }
  EXPECT_THAT(rows, ::testing::UnorderedElementsAre("0 rank 0", "1 rank 0 · python",
                                                    "10000000 rank 1", "10000001 rank 1 · python"));
  ASSERT_EQ(trace->flows().size(), 10U);
  std::set<uint32_t> correlations;
  for (const Flow& flow : trace->flows()) {
    const auto pid = [&](SliceId slice) { return trace->string(track_of(*trace, slice).pid); };
    EXPECT_EQ(pid(flow.from).size(), pid(flow.to).size());
    EXPECT_EQ(trace->slices().correlation[flow.from.value],
              trace->slices().correlation[flow.to.value]);
    correlations.insert(trace->slices().correlation[flow.to.value]);
  }
  EXPECT_EQ(correlations.size(), 10U);
  std::set<std::string_view> counters;
  for (const Counter& counter : trace->counters()) counters.insert(trace->string(counter.pid));
  EXPECT_EQ(counters.size(), 2U);
}

TEST_F(Merge, ALaterRecordingOfARankKeepsItsPlace) {
  constexpr int64_t kLater = 12'000'000'000;
  const auto done =
      merge_traces(Traces{rank(0, 0), rank(0, kLater), rank(1, 123'000), rank(1, kLater + 123'000)},
                   path("all.json"));
  ASSERT_TRUE(done) << done.error();
  EXPECT_EQ((*done)[1].clock->offset_ns, 0);
  EXPECT_EQ((*done)[2].clock->offset_ns, -123'000);
  EXPECT_EQ((*done)[3].clock->offset_ns, -123'000);
  const auto trace = *read_trace(path("all.json"));
  std::map<int64_t, int> ends;
  for_each_slice(*trace, [&](SliceId slice, Category category) {
    if (category == Category::kKernel) ++ends[interval_of(*trace, slice).end_ns];
  });
  ASSERT_EQ(ends.size(), 10U);
  EXPECT_EQ(ends.rbegin()->first - ends.begin()->first, kLater + 4'000'000);
  for (const auto& [end_ns, count] : ends) EXPECT_EQ(count, 2) << end_ns;
}

TEST_F(Merge, ARankThatLacksALaterRecordingIsNotMovedToIt) {
  constexpr int64_t kLater = 12'000'000'000;
  const auto done =
      merge_traces(Traces{rank(0, 0), rank(0, kLater), rank(1, 123'000)}, path("all.json"));
  ASSERT_TRUE(done) << done.error();
  EXPECT_EQ((*done)[2].clock->offset_ns, -123'000);
}

TEST_F(Merge, ARecordingWithoutCollectivesHasTheClockOfItsRank) {
  TraceText alone;
  alone.rank(1, 2).cpu_op("aten::mm", 5'000, 6'000);
  const auto done = merge_traces(
      Traces{rank(0, 0), *parse_trace("x", alone.str()), rank(1, 123'000)}, path("all.json"));
  ASSERT_TRUE(done) << done.error();
  EXPECT_EQ((*done)[1].clock->offset_ns, -123'000);
  EXPECT_EQ((*done)[2].clock->offset_ns, -123'000);
}

TEST_F(Merge, WhatCannotBeAlignedKeepsItsClock) {
  TraceText alone;
  alone.rank(1, 2).cpu_op("aten::mm", 5'000, 6'000);
  const auto done =
      merge_traces(Traces{rank(0, 0), *parse_trace("x", alone.str())}, path("all.json"));
  ASSERT_TRUE(done);
  EXPECT_FALSE((*done)[1].clock);
  const auto trace = *read_trace(path("all.json"));
  EXPECT_EQ(trace->begin_ns(), 5'000);
}

TEST_F(Merge, DriftGoesAway) {
  const auto drifting = [](int rank, double drift) {
    TraceText text;
    text.rank(rank, 2);
    for (int64_t i = 1; i <= 100; ++i) {
      const auto seen = [&](int64_t t) { return t + std::llround(drift * static_cast<double>(t)); };
      text.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", seen(i * 100'000'000),
                  seen(i * 100'000'000 + 9'000), on_stream(9));
    }
    return *parse_trace("rank", text.str());
  };
  const auto trace = merged({drifting(0, 0), drifting(1, 30e-6)});
  std::vector<int64_t> ends;
  for_each_slice(
      *trace, [&](SliceId slice, Category) { ends.push_back(interval_of(*trace, slice).end_ns); });
  std::sort(ends.begin(), ends.end());
  for (size_t i = 0; i < ends.size(); i += 2)
    EXPECT_NEAR(static_cast<double>(ends[i + 1] - ends[i]), 0, 20);
}

/// A trace of one operator and one kernel in the given processes.
std::shared_ptr<const Trace> small(const std::string& name, const std::vector<std::string>& pids,
                                   std::vector<uint32_t> correlations,
                                   const std::string& top = {}) {
  TraceText text;
  if (!top.empty()) text.top(top);
  int64_t at = 1'000;
  for (const std::string& pid : pids) {
    text.cpu_op("op", at, at + 100, {.pid = pid});
    at += 1'000;
  }
  for (const uint32_t correlation : correlations) {
    text.runtime("cudaLaunchKernel", at, at + 10, correlation);
    at += 1'000;
  }
  return *parse_trace(name, text.str());
}

TEST_F(Merge, APidThatIsTakenBecomesAFreeOne) {
  const Traces traces = {
      small("/x/a.json", {"1", "7", "\"t\"", "10000001"}, {}),
      small("/x/b.json", {"1", "8", "\"t\"", "-2"}, {}),
      small("/y/b.json", {"1", "7", "\"t\"", "10000007", "9223372036854775807", "-2"}, {}),
      small("/z/b.json", {"9223372036854775807", "9223372036844775806", "\"b.json t\""}, {}),
      small("/z/c.json", {"9223372036844775806"}, {})};
  const auto done = merge_traces(traces, path("all.json"));
  ASSERT_TRUE(done);
  EXPECT_EQ((*done)[2].label, "b.json");
  EXPECT_EQ((*done)[2].path, "/y/b.json");
  const auto trace = *read_trace(path("all.json"));
  std::vector<std::string> rows;
  for (const Track& track : trace->tracks()) {
    const std::string_view process = trace->string(track.process_name);
    rows.push_back(fmt::format("{}|{}", trace->string(track.pid), process));
  }
  EXPECT_THAT(rows, ::testing::ElementsAre(
                        "t|a.json", "1|a.json", "7|a.json", "10000001|a.json", "b.json t|b.json",
                        "20000001|b.json", "-2|b.json", "8|b.json", "b.json t (2)|b.json",
                        "30000001|b.json", "b.json -2|b.json", "20000007|b.json", "10000007|b.json",
                        "9223372036854775807|b.json", "b.json b.json t|b.json",
                        "9223372036844775806|b.json", "b.json 9223372036854775807|b.json",
                        "9223372036854775806|c.json"));
}

TEST_F(Merge, WindowsOfOneProcessKeepItsRows) {
  const auto window = [](int rank, int pid, int64_t begin_ns) {
    TraceText text;
    text.rank(rank, 2).cpu_op("op", begin_ns, begin_ns + 100, {.pid = std::to_string(pid)});
    text.kernel("gemm", begin_ns + 100, begin_ns + 900, on_stream(7));
    return *parse_trace("w", text.str());
  };
  const auto pids = [&](const Traces& traces) {
    std::set<std::string> found;
    const auto trace = merged(traces);
    for (const Track& track : trace->tracks()) found.emplace(trace->string(track.pid));
    EXPECT_EQ(trace->slice_count(), 2 * traces.size());
    return found;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(pids({window(0, 7, 1'000), window(0, 7, 2'000), window(1, 8, 1'000)}),
              ElementsAre("0", "10000000", "7", "8"));
  EXPECT_EQ(RecordedFacts(**read_trace(path("all.json.gz"))).merged_ranks(), 2);
  EXPECT_THAT(pids({window(1, 7, 1'000), window(0, 7, 1'000), window(0, 7, 2'000)}),
              ElementsAre("0", "10000000", "10000007", "7"));
  EXPECT_THAT(pids({window(0, 7, 1'000), window(0, 7, 1'500)}),
              ElementsAre("0", "10000000", "10000007", "7"))
      << "they overlap";
  EXPECT_THAT(pids({window(0, 7, 1'000), window(0, 8, 2'000)}),
              ElementsAre("0", "10000000", "7", "8"))
      << "the rank was started again";
  EXPECT_EQ(RecordedFacts(**read_trace(path("all.json.gz"))).merged_ranks(), 1);
}

// Processes without slices: each event has its own rank's pid, and the pid its rank.
TEST_F(Merge, CountersAndInstantsAloneKeepTheirRank) {
  const auto rank = [](int number) {
    TraceText text;
    text.rank(number, 2).cpu_op("op", 1'000, 1'100, {.pid = "500"});
    text.event(R"({"ph": "C", "name": "watts", "pid": 900, "ts": 1, "args": {"W": 5}})");
    text.event(R"({"ph": "i", "s": "p", "name": "mark", "pid": 501, "tid": 1, "ts": 1})");
    text.event(R"({"ph": "i", "s": "g", "name": "end", "pid": "", "tid": "", "ts": 1})");
    return *parse_trace("r" + std::to_string(number), text.str());
  };
  ASSERT_TRUE(merge_traces(Traces{rank(0), rank(1)}, path("all.json")));
  std::ifstream file(path("all.json"));
  std::map<std::string, std::string> names;
  std::set<std::string> events;
  const json text = json::parse(file);
  for (const json& event : text["traceEvents"]) {
    if (event["name"] == "process_name") names[event["pid"].dump()] = event["args"]["name"];
    if (event["ph"] == "C" || event["ph"] == "i") {
      events.insert(event["name"].get<std::string>() + " " + event["pid"].dump());
    }
  }
  EXPECT_THAT(events, ::testing::ElementsAre("end \"\"", "mark 10000501", "mark 501",
                                             "watts: W 10000900", "watts: W 900"));
  const std::map<std::string, std::string> expected = {
      {"500", "rank 0"},      {"501", "rank 0"},      {"900", "rank 0"},
      {"10000500", "rank 1"}, {"10000501", "rank 1"}, {"10000900", "rank 1"}};
  EXPECT_EQ(names, expected);
}

TEST_F(Merge, CorrelationsOfEachRankFollowThoseBefore) {
  const Traces traces = {small("a", {}, {}),
                         small("b", {"1"}, {}),
                         small("c", {"1"}, {5, 9, 7}),
                         small("d", {"1"}, {3, 0, 4}),
                         small("e", {"1"}, {4'000'000'000}),
                         small("f", {"1"}, {1})};
  ASSERT_TRUE(merge_traces(traces, path("all.json")));
  const auto trace = *read_trace(path("all.json"));
  std::multiset<uint32_t> correlations;
  for (const uint32_t number : trace->slices().correlation) correlations.insert(number);
  EXPECT_THAT(correlations, ::testing::ElementsAre(0, 0, 0, 0, 0, 0, 5, 7, 9, 10, 11, 12, 13));
}

TEST_F(Merge, SaysWhatEachFileSaidOfItself) {
  const Traces traces = {
      small(
          "/x/a.json", {"1"}, {},
          R"("deviceProperties": [{"id": 3}], "redline": {"v": 1}, "redline_merge": 5, "mine": 6)"),
      small("/x/b.json", {"1"}, {}, R"("mine": 7)"), rank(1, 0), rank(2, 5'000)};
  ASSERT_TRUE(merge_traces(traces, path("all.json")));
  std::ifstream file(path("all.json"));
  auto text = nlohmann::ordered_json::parse(file);
  text.erase("traceEvents");
  text.erase("traceName");
  EXPECT_EQ(text, nlohmann::ordered_json::parse(R"({
    "schemaVersion": 1, "deviceProperties": [{"id": 3}], "mine": 6,
    "redline_merge": {"clock_of": "rank 1", "ranks": [
      {"rank": null, "path": "/x/a.json", "clock": null,
       "metadata": {"mine": 6, "redline": {"v": 1}, "redline_merge": 5, "schemaVersion": 1,
                    "deviceProperties": [{"id": 3}]}},
      {"rank": null, "path": "/x/b.json", "clock": null,
       "metadata": {"mine": 7, "schemaVersion": 1}},
      {"rank": 1, "path": "rank1",
       "clock": {"offset_ns": 0, "uncertainty_ns": 0, "drift_ppm": 0.0, "at_ns": 0, "pairs": 0},
       "metadata": {"distributedInfo": {"backend": "gloo", "rank": 1, "world_size": 2},
                    "host_name": "node1", "schemaVersion": 1}},
      {"rank": 2, "path": "rank2",
       "clock": {"offset_ns": -5000, "uncertainty_ns": 448, "drift_ppm": 0.0, "at_ns": 3005500,
                 "pairs": 5},
       "metadata": {"distributedInfo": {"backend": "gloo", "rank": 2, "world_size": 2},
                    "host_name": "node2", "schemaVersion": 1}}]},
    "displayTimeUnit": "ms", "baseTimeNanoseconds": 0})"));
  std::ofstream(path("none.json.gz"));
  ASSERT_TRUE(merge_traces(Traces{rank(1, 0), rank(2, 5'000)}, path("all.json"), {.align = false}));
  std::ifstream again(path("all.json"));
  const json unmoved = json::parse(again);
  for (const json& each : unmoved["redline_merge"]["ranks"]) EXPECT_EQ(each["clock"], nullptr);
}

TEST_F(Merge, TellsItsProgressAndStopsWhenItIsCancelled) {
  TraceText text;
  for (int i = 0; i < 20'000; ++i) text.cpu_op("aten::mm", i * 10, i * 10 + 5);
  const Traces traces = {*parse_trace("x", text.str()), *parse_trace("y", text.str())};
  std::vector<std::pair<uint64_t, uint64_t>> seen;
  std::atomic<bool> cancel = false;
  size_t most = 9;
  const auto progress = [&](uint64_t done, uint64_t total) {
    seen.emplace_back(done, total);
    cancel = seen.size() == most;
  };
  EXPECT_TRUE(merge_traces(traces, path("all.json.gz"), {.progress = progress, .cancel = &cancel}));
  const std::vector<std::pair<uint64_t, uint64_t>> all = {
      {8192, 40'000}, {16'384, 40'000}, {24'576, 40'000}, {32'768, 40'000}};
  EXPECT_EQ(seen, all);
  seen.clear();
  most = 3;
  const auto stopped =
      merge_traces(traces, path("b.json.gz"), {.progress = progress, .cancel = &cancel});
  EXPECT_EQ(stopped.error(), "cancelled");
  EXPECT_EQ(seen.size(), 3U);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1) << "all.json.gz alone";
  EXPECT_EQ(merge_traces({}, path("c.json")).error(), "no traces to merge");
  fs::create_directory(path("folder.json"));
  EXPECT_EQ(merge_traces(traces, path("folder.json")).error(),
            path("folder.json") + ": is not a file");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 2);
}

TEST_F(Merge, CancelledOrRefusedLeavesNothing) {
  TraceText text;
  for (int i = 0; i < 20'000; ++i) text.cpu_op("aten::mm", i * 10, i * 10 + 5);
  const Traces traces = {*parse_trace("x", text.str())};
  const std::atomic<bool> cancel = true;
  const auto done = merge_traces(traces, path("all.json.gz"), {.cancel = &cancel});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error(), "cancelled");
  EXPECT_TRUE(fs::is_empty(folder_.path()));
  for (const std::string& name : {path("none/all.json"), path("none/all.json.gz")}) {
    EXPECT_EQ(merge_traces(traces, name).error(),
              "cannot create " + name + ": No such file or directory");
  }
}

}  // namespace
}  // namespace redline::trace
