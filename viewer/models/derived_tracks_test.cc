#include "viewer/models/derived_tracks.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "trace/write/merge.h"
#include "viewer/models/analyse.h"
#include "viewer/models/format.h"
#include "viewer/models/slice_class.h"
#include "viewer/models/testing_trace.h"

namespace redline::viewer {
namespace {

std::string counter(int at_us, const std::string& name, const std::string& series, double value) {
  return fmt::format(R"({{"ph":"C","name":"{}","pid":100,"tid":0,"ts":{},"args":{{"{}":{}}}}})",
                     name, 1'000'000 + at_us, series, value);
}

std::string memory(int at_us, int64_t bytes, int64_t total) {
  return fmt::format(
      R"({{"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":100,"tid":100,"ts":{},)"
      R"("args":{{"Device Type":1,"Device Id":0,"Bytes":{},"Total Allocated":{},)"
      R"("Total Reserved":{}}}}})",
      1'000'000 + at_us, bytes, total, 2 * total);
}

class Derived : public ::testing::Test {
 protected:
  Derived()
      : session_({training_trace(0)
                      .kernel("ncclDevKernel_Broadcast", 21, 60, 20)
                      .raw(counter(10, "CPU", "busy %", 50))
                      .raw(counter(20, "CPU", "busy %", 75))
                      .raw(counter(10, "GPU 0 power", "W", 250))
                      .raw(memory(30, 1024, 1024))
                      .raw(memory(40, 1024, 2048))
                      .read()}),
        analysed_(analyse_session(session_)) {}

  const GraphTrack& graph(const std::string& title, const std::string& note_part = "") {
    for (const GraphTrack& track : analysed_.derived->graphs) {
      if (track.title == title && track.note.find(note_part) != std::string::npos) return track;
    }
    ADD_FAILURE() << "no graph " << title;
    return analysed_.derived->graphs.front();
  }

  Session session_;
  AnalysedSession analysed_;
};

TEST_F(Derived, OverlapLaneSaysWhatTheGpuDid) {
  ASSERT_EQ(analysed_.derived->devices.size(), 1U);
  const DeviceLane& lane = analysed_.derived->devices.front();
  const int64_t start = 1'000'000'000;
  EXPECT_EQ(lane.text_at(start + 49'999), "");
  EXPECT_EQ(lane.text_at(start + 50'000), "computation 10.0 µs") << "from its first moment";
  EXPECT_EQ(lane.text_at(start + 55'000), "computation 10.0 µs");
  EXPECT_EQ(lane.text_at(start + 65'000), "computation and communication 15.0 µs");
  EXPECT_EQ(lane.text_at(start + 78'000), "communication alone 20.0 µs");
  EXPECT_EQ(lane.text_at(start + 100'000), "idle 55.0 µs");
  EXPECT_EQ(lane.gap_at(start + 149'999), (Interval{start + 95'000, start + 150'000}));
  EXPECT_EQ(lane.gap_at(start + 150'000), std::nullopt) << "the next step has begun";
  EXPECT_EQ(lane.text_at(start), "");
  EXPECT_EQ(lane.text_at(start + 1'000'000), "");
  EXPECT_EQ(lane.columns().classes[1], static_cast<uint8_t>(SliceClass::kOverlapped));
}

TEST_F(Derived, CountersBecomeGraphsWithTheirUnits) {
  EXPECT_EQ(graph("CPU").graph.text(graph("CPU").graph.high()), "75 busy %");
  EXPECT_EQ(graph("CPU").device, -1);
  EXPECT_EQ(graph("GPU 0 power").device, 0);
  EXPECT_EQ(graph("GPU memory", "allocated").note, "allocated, peak 2.0 KiB");
  EXPECT_EQ(graph("GPU memory", "reserved").graph.at(1'000'035'000), 2048);
}

TEST_F(Derived, JoinTheGroupsTheyBelongTo) {
  std::vector<TrackGroup> groups = track_groups(session_);
  add_derived(groups, session_, *analysed_.derived);
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[1].tracks.back().title, "GPU 0 power");
  EXPECT_EQ(groups[2].title, "rank 0 · Counters");
  EXPECT_EQ(groups[2].tracks.size(), 1U);
}

TEST_F(Derived, AGpusHeaderSaysHowBusyItWasAsTheReportDoes) {
  std::vector<TrackGroup> groups = track_groups(session_);
  add_derived(groups, session_, *analysed_.derived);
  // 45 µs of the first step, where the broadcast bridges the gap, and 40 µs of the second, of 199.
  EXPECT_EQ(header_note(groups[1]), "busy 42.7 %");
  EXPECT_EQ(groups[1].busy,
            "busy " + format_percent(analysed_.report->analyses[0].gpus[0].utilization));
  EXPECT_EQ(header_note(groups[0]), "pid 100");
  EXPECT_EQ(contents_of(groups[0]), "3 tracks · 14 slices") << "seven a step, and the runtime";
  EXPECT_EQ(contents_of(groups[2]), "1 track");
}

TEST(RuntimeLane, HasTheCallsOfAllThreadsAboveTheGpu) {
  TestTrace trace(0);
  trace.slice("cpu_op", "aten::mm", 1, 1, 0, 50)
      .slice("cuda_runtime", "cudaLaunchKernel", 1, 1, 10, 10)
      .slice("cuda_runtime", "cudaMalloc", 1, 1, 12, 2)
      .slice("cuda_runtime", "cudaStreamSynchronize", 1, 2, 15, 20)
      .slice("cuda_runtime", "cudaGetLastError", 1, 2, 36, 0)
      .slice("cuda_driver", "cuLaunchKernel", 1, 2, 40, 5)
      .slice("cuda_runtime", "cudaLaunchKernel", 9, 9, 40, 5)
      .kernel("gemm", 7, 20, 20);
  const Session session({trace.read()});
  const std::vector<RuntimeLane> lanes = runtime_lanes(session, 0);
  ASSERT_EQ(lanes.size(), 2U) << "one a process";
  const int64_t origin = session.traces()[0].origin_ns;
  const auto call_at = [&](int64_t us) {
    const SliceRef call = lanes[0].call_at(origin + us * 1000, 0);
    return call ? std::string(session.name_of(call)) : std::string("none");
  };
  EXPECT_EQ(lanes[0].size(), 3U) << "not the call inside of another, nor that of no length";
  EXPECT_EQ(call_at(13), "cudaLaunchKernel");
  EXPECT_EQ(call_at(21), "cudaStreamSynchronize") << "where the call before has ended";
  EXPECT_EQ(call_at(37), "none");
  EXPECT_EQ(call_at(41), "cuLaunchKernel");
  std::vector<TrackGroup> groups = track_groups(session);
  add_derived(groups, session, *analyse_session(session).derived);
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0].tracks.back().title, "CUDA runtime");
  EXPECT_EQ(groups[0].tracks.back().note, "5 calls") << "also those that are not drawn";
  EXPECT_EQ(groups[1].tracks.back().note, "1 call");
}

TEST(RuntimeLane, OfAnotherMakerThanAmdAndNvidiaIsNotCalledCuda) {
  TestTrace trace(0, 0, R"({"id":0,"name":"Intel(R) Data Center GPU Max 1100"})");
  trace.slice("cpu_op", "aten::mm", 1, 1, 0, 50)
      .slice("xpu_runtime", "urEnqueueKernelLaunch", 1, 1, 10, 10);
  const Session session({trace.read()});
  std::vector<TrackGroup> groups = track_groups(session);
  add_derived(groups, session, *analyse_session(session).derived);
  EXPECT_EQ(groups.at(0).tracks.back().title, "runtime");
  EXPECT_EQ(groups.at(0).tracks.back().note, "1 call");
}

TEST(DerivedTracks, QueueGrowsWithLaunchesAndShrinksWithBegins) {
  TestTrace trace(0);
  trace.slice("cuda_runtime", "cudaLaunchKernel", 1, 1, 0, 2, R"({"correlation":7})")
      .kernel("k", 7, 10, 5);
  const Session session({trace.read()});
  const AnalysedSession analysed = analyse_session(session);
  ASSERT_EQ(analysed.derived->graphs.size(), 1U);
  const GraphTrack& queue = analysed.derived->graphs.front();
  EXPECT_EQ(queue.title, "Queue length");
  EXPECT_EQ(queue.graph.at(1'000'005'000), 1);
  EXPECT_EQ(queue.graph.at(1'000'012'000), 0);
}

TEST(DerivedTracks, OfAFileWithoutARankHaveNoRankInTheirTitles) {
  testing::TraceText text;
  text.kernel("gemm", 0, 5'000)
      .event(R"~({"ph":"C","name":"GPU 1: power W","pid":1,"tid":0,"ts":1,"args":{"value":3}})~")
      .event(R"~({"ph":"C","name":"load","pid":"GPU 2","tid":0,"ts":1,"args":{"value":3}})~")
      .event(R"~({"ph":"C","name":"load","pid":1,"tid":0,"ts":1,"args":{"value":3}})~");
  const auto trace = trace::parse_trace("/data/file.json", text.str());
  ASSERT_TRUE(trace);
  const Session session({*trace});
  const AnalysedSession analysed = analyse_session(session);
  std::vector<TrackGroup> groups = track_groups(session);
  add_derived(groups, session, *analysed.derived);
  std::string found;
  for (const TrackGroup& group : groups) {
    found += fmt::format("{} {} {}: ", group.title, group.device, group.only_graphs);
    for (const TrackItem& item : group.tracks) found += item.title + ", " + item.note + "; ";
  }
  EXPECT_EQ(found,
            "GPU 0 0 false: stream 7, ; busy / idle, ; GPU 1 1 true: GPU 1: power W, peak 3; "
            "GPU 2 2 true: load, peak 3; Counters -1 true: load, peak 3; ");
  EXPECT_EQ(gpu_title(session, 0, 3), "GPU 3");
  EXPECT_EQ(gpu_title(two_ranks(), 1, 3), "rank 1 · GPU 3");
}

TEST(DerivedTracks, InAMergedFileACounterStandsUnderTheGpuOfItsRank) {
  std::vector<std::shared_ptr<const trace::Trace>> ranks;
  for (const int rank : {0, 1}) {
    TestTrace trace = training_trace(rank);
    trace.raw(counter(10, "GPU 0 power", "W", 100 + 500 * rank))
        .raw(counter(10, "GPU 3 power", "W", 7 + rank))
        .raw(counter(10, "CPU", "busy %", 50 + rank));
    // Rank 1's lacks the name that Kineto gives to the process of a GPU.
    if (rank == 0) {
      trace.raw(R"({"ph":"M","name":"process_labels","pid":0,"args":{"labels":"GPU 0"}})");
    }
    ranks.push_back(trace.read());
  }
  const std::string path = ::testing::TempDir() + "counters-merged.json";
  ASSERT_TRUE(trace::merge_traces(ranks, path));
  const auto merged = trace::read_trace(path);
  ASSERT_TRUE(merged);
  const Session session({*merged});
  std::vector<TrackGroup> groups = track_groups(session);
  add_derived(groups, session, *analyse_session(session).derived);
  std::vector<std::string> found;
  for (const TrackGroup& group : groups) {
    for (const TrackItem& item : group.tracks) {
      if (!item.note.starts_with("peak ")) continue;
      found.push_back(group.title + " | " + item.title + ", " + item.note);
    }
  }
  std::ranges::sort(found);
  EXPECT_EQ(found, (std::vector<std::string>{"Counters | rank 0 · CPU, peak 50 busy %",
                                             "Counters | rank 0 · GPU 3 power, peak 7 W",
                                             "Counters | rank 1 · CPU, peak 51 busy %",
                                             "Counters | rank 1 · GPU 3 power, peak 8 W",
                                             "rank 0 · GPU 0 | GPU 0 power, peak 100 W",
                                             "rank 1 · GPU 10000000 | GPU 0 power, peak 600 W"}))
      << "which GPU 3 is, nobody knows";
}

TEST(DerivedTracks, MemoryOfTheHostIsAGraphToo) {
  std::string host = memory(30, 1024, 4096);
  host.replace(host.find(R"("Device Type":1)"), 15, R"("Device Type":0)");
  const Session session({training_trace(0).raw(host).read()});
  const AnalysedSession analysed = analyse_session(session);
  std::string found;
  for (const GraphTrack& track : analysed.derived->graphs) {
    found += fmt::format("{} {}: {}; ", track.device, track.title, track.note);
  }
  EXPECT_EQ(found,
            "-1 Host memory: allocated, peak 4.0 KiB; -1 Host memory: reserved, peak 8.0 KiB; ");
}

TEST(DerivedTracks, NothingComesOfNothing) {
  const Session session({TestTrace(0).read()});
  const AnalysedSession analysed = analyse_session(session);
  EXPECT_TRUE(analysed.derived->devices.empty());
  EXPECT_TRUE(analysed.derived->graphs.empty());
}

}  // namespace
}  // namespace redline::viewer
