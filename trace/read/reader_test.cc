#include "trace/read/reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <tuple>

#include "tests/parsed_trace.h"
#include "tests/paths.h"
#include "tests/temporary_folder.h"
#include "trace/read/text_cursor.h"

namespace redline::trace {
namespace {

using namespace redline::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

// Each slice as "name begin end depth", in the order of the columns.
std::vector<std::string> describe(const Trace& trace) {
  std::vector<std::string> lines;
  const Slices& slices = trace.slices();
  for (size_t i = 0; i < trace.slice_count(); ++i) {
    lines.push_back(std::string(trace.string(slices.name[i])) + " " +
                    std::to_string(slices.begin_ns[i]) + " " + std::to_string(slices.end_ns[i]) +
                    " " + std::to_string(trace.lanes()[slices.lane[i].value].depth));
  }
  return lines;
}

std::string x(const std::string& name, const std::string& more) {
  return R"({"ph": "X", "cat": "cpu_op", "name": ")" + name + R"(", "pid": 1, "tid": 1, )" + more +
         "}";
}

TEST(Reader, NestsSlicesOfAThreadByDepth) {
  const auto trace = parsed(TraceText()
                                .cpu_op("inner", 200, 300)
                                .cpu_op("outer", 100, 500)
                                .cpu_op("next", 500, 600)
                                .str());
  ASSERT_TRUE(trace);
  EXPECT_THAT(describe(*trace),
              ElementsAre("outer 100 500 0", "next 500 600 0", "inner 200 300 1"));
}

TEST(Reader, GivesPartlyOverlappingSlicesALaneOfTheirOwn) {
  const auto trace =
      parsed(TraceText().cpu_op("a", 0, 100).cpu_op("b", 50, 150).cpu_op("c", 120, 130).str());
  ASSERT_TRUE(trace);
  EXPECT_THAT(describe(*trace), ElementsAre("a 0 100 0", "b 50 150 1", "c 120 130 2"));
}

// The functions that mark a step end before it does.
TEST(Reader, GivesEachStepTheSameLaneHoweverDeepItIsMarked) {
  const auto trace = parsed(TraceText()
                                .cpu_op("main", 0, 1000)
                                .step(1, 100, 400)
                                .cpu_op("mark", 380, 420)
                                .cpu_op("deeper", 390, 410)
                                .step(2, 400, 700)
                                .cpu_op("work", 500, 600)
                                .cpu_op("mark", 680, 720)
                                .step(3, 700, 900)
                                .str());
  ASSERT_TRUE(trace);
  EXPECT_THAT(describe(*trace),
              ElementsAre("main 0 1000 0", "ProfilerStep#1 100 400 1", "ProfilerStep#2 400 700 1",
                          "ProfilerStep#3 700 900 1", "mark 380 420 2", "work 500 600 2",
                          "mark 680 720 2", "deeper 390 410 3"));
}

TEST(Reader, ReadsTimesAsDigitsAndAddsTheBase) {
  struct {
    const char* ts;
    int64_t begin_ns;
  } const cases[] = {
      {"1", 1000 + 5},
      {"1.5", 1500 + 5},
      {"0.0014", 1 + 5},
      {"0.0015", 2 + 5},
      {"1e3", 1000000 + 5},
      {"-1.001", -1001 + 5},
      {"4458676522690.655", 4458676522690655 + 5},
      {"1695835542481129", 1695835542481129000 + 5},
      {"\"12\"", 12000 + 5},
  };
  for (const auto& [ts, begin_ns] : cases) {
    const auto trace = parsed(TraceText()
                                  .top("\"baseTimeNanoseconds\": 5")
                                  .event(x("a", std::string(R"("dur": 1, "ts": )") + ts))
                                  .str());
    ASSERT_TRUE(trace);
    ASSERT_EQ(trace->slice_count(), 1U) << ts;
    EXPECT_EQ(trace->slices().begin_ns[0], begin_ns) << ts;
  }
}

TEST(Reader, ReadsTopLevelKeysBeforeAndBehindTheEvents) {
  const auto trace =
      parsed(R"({"distributedInfo": {"rank": 3, "world_size": 8, "backend": "nccl"},
    "deviceProperties": [{"id": 0}], "traceEvents": [)" +
             x("a", R"("ts": 1, "dur": 1)") + R"(], "baseTimeNanoseconds": 7, "traceName": "x"})");
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->metadata().rank, 3);
  EXPECT_EQ(trace->metadata().world_size, 8);
  EXPECT_EQ(trace->metadata().backend, "nccl");
  EXPECT_EQ(trace->metadata().device_properties_json, R"([{"id": 0}])");
  EXPECT_THAT(trace->metadata().top_level_json, HasSubstr(R"("traceName":"x")"));
  EXPECT_EQ(trace->begin_ns(), 1007);
  EXPECT_THAT(trace->issues(), IsEmpty());
}

// The reader expects the name that followed last time, and compares it with the text as it stands.
TEST(Reader, ANameThatReadsLikeTheTextOfAnotherIsNotThatOne) {
  const auto at = [](int ts) { return "\"ts\": " + std::to_string(ts) + ", \"dur\": 1"; };
  const auto trace = parsed("[" + x("k", at(1)) + "," + x(R"(a\\n)", at(2)) + "," + x("k", at(3)) +
                            "," + x(R"(a\n)", at(4)) + "]");
  ASSERT_TRUE(trace);
  EXPECT_THAT(describe(*trace),
              ElementsAre("k 1000 2000 0", "a\\n 2000 3000 0", "k 3000 4000 0", "a\n 4000 5000 0"));
}

TEST(Reader, PairsBeginsWithEnds) {
  const std::string row = R"("pid": 0, "tid": 0)";
  const auto trace = parsed("[{" + row + R"(, "ph": "B", "ts": 1, "name": "B"}, {)" + row +
                            R"(, "ph": "E", "ts": 9, "name": "B"}, {)" + row +
                            R"(, "ph": "B", "ts": 0, "name": "A"}, {)" + row +
                            R"(, "ph": "E", "ts": 10}, {)" + row + R"(, "ph": "E", "ts": 11}, {)" +
                            row + R"(, "ph": "B", "ts": 12, "name": "open"}])");
  ASSERT_TRUE(trace);
  EXPECT_THAT(describe(*trace), ElementsAre("A 0 10000 0", "open 12000 12000 0", "B 1000 9000 1"));
  EXPECT_THAT(issues_of(*trace),
              ElementsAre(Pair("begin_without_end", 1), Pair("end_without_begin", 1)));
}

TEST(Reader, PairsAsyncEventsByCategoryAndId) {
  const auto trace = parsed(
      R"([{"ph": "b", "cat": "net", "id": "0x1", "name": "get", "pid": 1, "tid": 1, "ts": 1},
          {"ph": "b", "cat": "net", "id": "0x2", "name": "get", "pid": 1, "tid": 1, "ts": 2},
          {"ph": "n", "cat": "net", "id": "0x1", "name": "byte", "pid": 1, "tid": 9, "ts": 3},
          {"ph": "e", "cat": "net", "id": "0x1", "name": "get", "pid": 1, "tid": 2, "ts": 4},
          {"ph": "e", "cat": "disk", "id": "0x2", "name": "get", "pid": 1, "tid": 1, "ts": 5},
          {"ph": "b", "cat": "net", "id2": {"local": 1}, "name": "p1", "pid": 1, "ts": 6},
          {"ph": "b", "cat": "net", "id2": {"local": 1}, "name": "p2", "pid": 2, "ts": 6},
          {"ph": "e", "cat": "net", "id2": {"local": 1}, "pid": 1, "ts": 7},
          {"ph": "S", "cat": "old", "id": 3, "name": "step", "pid": 1, "tid": 1, "ts": 6},
          {"ph": "F", "cat": "old", "id": 3, "name": "step", "pid": 1, "tid": 1, "ts": 9}])");
  ASSERT_TRUE(trace);
  EXPECT_THAT(describe(*trace), ElementsAre("get 1000 4000 0", "get 2000 7000 1", "p1 6000 7000 2",
                                            "step 6000 9000 0", "p2 6000 6000 0"));
  EXPECT_THAT(issues_of(*trace),
              ElementsAre(Pair("async_begin_without_end", 2), Pair("async_end_without_begin", 1)));
  ASSERT_EQ(trace->tracks().size(), 3U);
  EXPECT_EQ(trace->string(trace->tracks()[0].tid), "async net");
  EXPECT_EQ(trace->instants()[0].track, TrackId{0});
}

TEST(Reader, AnInstantHasItsThreadAlsoIfThatHasNoSlices) {
  const auto trace = parsed(
      R"([{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 5},
          {"ph": "i", "name": "beside it", "pid": 1, "tid": 1, "ts": 2},
          {"ph": "i", "name": "Xid", "pid": 1, "tid": "sampler", "ts": 3},
          {"ph": "n", "cat": "net", "id": 1, "name": "byte", "pid": 8, "tid": 1, "ts": 4},
          {"ph": "i", "s": "g", "name": "end", "pid": "", "ts": 5}])");
  ASSERT_TRUE(trace);
  ASSERT_EQ(trace->tracks().size(), 1U);
  std::vector<std::string> found;
  for (const Instant& instant : trace->instants()) {
    found.push_back(fmt::format("{} {}|{}|{}", trace->string(instant.name),
                                static_cast<bool>(instant.track), trace->string(instant.pid),
                                trace->string(instant.tid)));
  }
  EXPECT_THAT(found, ElementsAre("beside it true|1|1", "Xid false|1|sampler",
                                 "byte false|8|async net", "end false||"));
}

TEST(Reader, CountsEventsByPhaseAndNamesThoseThatItDoesNotShow) {
  const auto trace = parsed(
      R"([{"ph": "X", "ts": 1, "dur": 1, "name": "a"}, {"ph": "X", "ts": 1, "dur": 1, "name": "a"},
          {"ph": "N", "ts": 1}, {"ph": "D", "ts": 1}, {"ph": "P", "ts": 1}, {"ph": "v", "ts": 1},
          {"ph": "c", "ts": 1}, {"ph": "Q", "ts": 1}, {"ts": 1}])");
  ASSERT_TRUE(trace);
  std::string phases;
  for (const PhaseCount& phase : trace->phase_counts()) {
    phases += phase.phase + std::to_string(phase.count) + " ";
  }
  EXPECT_EQ(phases, "1 D1 N1 P1 Q1 X2 c1 v1 ");
  EXPECT_THAT(issues_of(*trace),
              ElementsAre(Pair("clock_sync_not_shown", 1), Pair("event_without_phase", 1),
                          Pair("memory_dump_not_shown", 1), Pair("object_not_shown", 2),
                          Pair("phase_unknown", 1), Pair("sample_not_shown", 1)));
}

TEST(Reader, LinksLaunchesByCorrelationAndBackwardByFlow) {
  const std::string flow = R"("cat": "fwdbwd", "name": "fwdbwd", "pid": 1, "tid": 1, "id": 1)";
  const auto trace = parsed(TraceText()
                                .cpu_op("forward", 0, 1000)
                                .runtime("cudaLaunchKernel", 100, 200, 42)
                                .kernel("gemm", 5000, 6000, on_stream(7, 42))
                                .cpu_op("backward", 2000, 3000)
                                .event(R"({"ph": "s", "ts": 0.000, )" + flow + "}")
                                .event(R"({"ph": "f", "ts": 2.000, "bp": "e", )" + flow + "}")
                                .str());
  ASSERT_TRUE(trace);
  std::vector<std::string> links;
  for (const Flow& link : trace->flows()) {
    links.push_back(std::string(trace->string(trace->slices().name[link.from.value])) + ">" +
                    std::string(trace->string(trace->slices().name[link.to.value])));
  }
  EXPECT_THAT(links, ::testing::UnorderedElementsAre("forward>backward", "cudaLaunchKernel>gemm"));
  EXPECT_EQ(trace->flows().size(), 2U);
}

TEST(Reader, KnowsGpuStreamsAndTheirNames) {
  const auto trace = parsed(
      TraceText()
          .kernel("gemm", 0, 10, Row{.pid = "2", .tid = "\"stream 7\""})
          .event(
              R"({"ph": "M", "name": "process_name", "pid": 2, "tid": 0, "args": {"name": "python"}})")
          .event(
              R"({"ph": "M", "name": "process_labels", "pid": 2, "tid": 0, "args": {"labels": "GPU 2"}})")
          .event(
              R"({"ph": "M", "name": "thread_name", "pid": 2, "tid": "stream 7", "args": {"name": "stream 7 "}})")
          .str());
  ASSERT_TRUE(trace);
  ASSERT_EQ(trace->tracks().size(), 1U);
  const Track& track = trace->tracks()[0];
  EXPECT_EQ(track.kind, TrackKind::kGpuStream);
  EXPECT_EQ(track.device, 2);
  EXPECT_EQ(track.stream, 7);
  EXPECT_EQ(trace->string(track.process_name), "python");
  EXPECT_EQ(trace->string(track.process_label), "GPU 2");
  EXPECT_EQ(trace->string(track.thread_name), "stream 7 ");
}

TEST(Reader, RepairsAndNamesWhatIsWrong) {
  const std::string good = x("good", R"("ts": 1, "dur": 1)");
  struct {
    std::string json;
    size_t slices;
    std::string issue;
  } const cases[] = {
      {"[" + good + "," + good, 2, "array_without_end"},
      {"[" + good + ",]", 1, "trailing_comma"},
      {"[" + good + R"(,{"ph": "X", "ts": 2, "na)", 1, "event_cut"},
      {R"({"traceEvents": [)" + good, 1, "object_without_end"},
      {"[" + x("a\tb", R"("ts": 1, "dur": 1)") + "]", 1, "control_character"},
      {"[" + x("a\xff", R"("ts": 1, "dur": 1)") + "]", 1, "invalid_utf8"},
      {"[" + x("a\"b\"c", R"("ts": 1, "dur": 1)") + "," + good + "]", 2, "unescaped_quote"},
      {"[" + x("a\"b", R"("ts": 1, "dur": 1)") + "," + good + "]", 2, "unescaped_quote"},
      {"[" + x("a", R"("ts": NaN, "dur": 1)") + "," + good + "]", 1, "time_not_a_number"},
      {"[" + x("a", R"("ts": 1e400, "dur": 1)") + "," + good + "]", 1, "time_not_a_number"},
      {"[" + x("a", R"("ts": 1, "dur": -1)") + "]", 1, "negative_dur"},
      {"[" + x("a", R"("ts": 1)") + "]", 1, "slice_without_dur"},
      {"[" + x("a", R"("dur": 1)") + "," + good + "]", 1, "event_without_ts"},
      {"[" + x("a", R"("ts": "1", "dur": 1)") + "]", 1, "time_as_string"},
      {R"([{"ph": "X", "ts": 1, "dur": 1, )" + good + "]", 2, "event_without_closing_brace"},
      {R"([{"ph": "X" "ts": 1}, )" + good + "]", 2, "missing_comma"},
      {R"([{"ph": "X","dur":1"ts":1,"name":"a"},)" + good + "]", 2, "missing_comma"},
      {R"([{"ph": "X", 5: 1}, )" + good + "]", 1, "event_malformed"},
      {"[17, null, [1], " + good + "]", 1, "not_an_event"},
      {R"([{"ph": "Z", "ts": 1}, )" + good + "]", 1, "phase_unknown"},
  };
  for (const auto& [json, slices, issue] : cases) {
    const auto trace = parsed(json);
    ASSERT_TRUE(trace) << json;
    EXPECT_EQ(trace->slice_count(), slices) << json;
    EXPECT_EQ(issues_of(*trace).count(issue), 1U) << json << "\nhas not: " << issue;
  }
}

TEST(Reader, KeepsEveryWholeEventOfATraceCutAnywhere) {
  TraceText text;
  text.rank(1, 2);
  for (int i = 0; i < 40; ++i) text.cpu_op("op},{\\\"" + std::to_string(i), i * 10, i * 10 + 5);
  const std::string whole = text.str();
  const size_t first_event = whole.find("{\"ph\"");
  for (size_t cut = 0; cut <= whole.size(); ++cut) {
    const auto trace = parsed(whole.substr(0, cut));
    if (cut < first_event) continue;
    ASSERT_TRUE(trace) << cut;
    size_t whole_events = 0;
    for (size_t at = whole.find("}}"); at != std::string::npos && at + 2 <= cut;
         at = whole.find("}}", at + 2)) {
      ++whole_events;
    }
    EXPECT_EQ(trace->slice_count(), whole_events) << cut;
  }
}

TEST(Reader, ReadsTracesLargerThanAChunk) {
  TraceText text;
  const int count = 20000;
  for (int i = 0; i < count; ++i) {
    text.cpu_op("a name with }, { in it " + std::to_string(i % 7), i * 10, i * 10 + 5,
                {.args = R"("nested": [{"a": "}"}, {"b": "{"}])"});
  }
  const auto trace = parsed(text.str());
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->slice_count(), static_cast<size_t>(count));
  EXPECT_THAT(trace->issues(), IsEmpty());
  EXPECT_EQ(event_text(*trace, SliceId{count - 1}).back(), '}');
  EXPECT_THAT(std::string(event_text(*trace, SliceId{count - 1})), HasSubstr("in it 0"));
}

TEST(Reader, RefusesWhatIsNoTrace) {
  for (const char* json :
       {"", " ", "17", "hello", R"({"a": 1, "b": 2})", R"({"traceEvents": 3})", "[]", "[1, [2]]",
        R"([{"a": 1}])", R"({"traceEvents": [1]})", R"({"traceEvents": [{}]})"}) {
    EXPECT_FALSE(parse_trace("test", json)) << json;
  }
  const auto trace = parse_trace("x.json", R"({"a": 1, "b": 2})");
  ASSERT_FALSE(trace);
  EXPECT_THAT(trace.error().message,
              HasSubstr("x.json: no trace events in this JSON object (keys: a, b)"));
}

TEST(Reader, SaysWhichLinksAndPipesOfAFolderItCannotRead) {
  namespace fs = std::filesystem;
  const testing::TemporaryFolder folder;
  fs::create_directory(folder / "folder.pt.trace.json");
  std::ofstream(folder / "rank0.pt.trace.json") << R"({"traceEvents": []})";
  fs::create_symlink("nothing", folder / "rank1.pt.trace.json");
  fs::create_symlink("/dev/zero", folder / "rank2.pt.trace.json");
  ASSERT_EQ(mkfifo((folder / "rank3.pt.trace.json").c_str(), 0600), 0);
  std::vector<ReadError> unreadable;
  ReadOptions options;
  options.unreadable = &unreadable;
  EXPECT_EQ(read_traces({folder.path()}, options)->size(), 1U);
  ASSERT_EQ(unreadable.size(), 3U);
  EXPECT_THAT(unreadable[0].message, HasSubstr("No such file"));
  EXPECT_THAT(unreadable[1].message, HasSubstr("rank2.pt.trace.json: is no regular file"));
  EXPECT_THAT(unreadable[2].message, HasSubstr("rank3.pt.trace.json: is no regular file"));
}

// No input may crash the reader; the sanitizer presets make this test see more.
TEST(Reader, SurvivesHostileFiles) {
  namespace fs = std::filesystem;
  const fs::path data = fs::path(redline::testing::shared_dir()) / "data";
  if (!fs::exists(data)) GTEST_SKIP() << data << " is absent";
  size_t files = 0;
  for (const char* folder : {"json_suite", "trace_event_edge_cases"}) {
    for (const auto& entry : fs::directory_iterator(data / folder)) {
      const auto trace = read_trace(entry.path().string());
      if (trace) {
        EXPECT_EQ((*trace)->slices().lane.size(), (*trace)->slice_count());
      }
      ++files;
    }
  }
  EXPECT_GT(files, 300U);
}

TEST(Reader, SaysWhatIsNoTraceOfOursAndNamesEightKeys) {
  const auto refusal = [](const std::string& text) {
    const auto trace = parse_trace("x", text);
    return trace ? "" : trace.error().message;
  };
  std::string keys = "{\"k1\": 1";
  for (int i = 2; i <= 8; ++i) keys += fmt::format(", \"k{}\": 1", i);
  EXPECT_THAT(refusal(keys + "}"), HasSubstr("(keys: k1, k2, k3, k4, k5, k6, k7, k8)"));
  EXPECT_THAT(refusal(keys + ", \"k9\": 1}"),
              HasSubstr("(keys: k1, k2, k3, k4, k5, k6, k7, k8, …)"));
  // A packet of Perfetto's is a newline, its length and its bytes.
  const auto packet = [](size_t length) {
    std::string bytes = "\n";
    size_t left = length;
    for (; left > 127; left /= 128) bytes += static_cast<char>(left % 128 + 128);
    return bytes + static_cast<char>(left) + std::string(length, 'x');
  };
  const std::pair<std::string, bool> rows[] = {
      {packet(3) + packet(5), true},
      {packet(3) + packet(5) + "zz", true},
      {packet(3) + packet(5).substr(0, 4), true},  // the second may be cut
      {packet(3), true},
      {packet(3).substr(0, 4), false},
      {packet(300) + packet(2), true},
      {packet(300), true},
      {packet(3) + "\n", false},
      {packet(3) + "\n" + std::string(1, '\0'), false},
      {packet(3) + "z" + packet(5), false},
      {std::string("\n\0xx", 4), false},
      {"\n", false},
      {"x", false},
      {std::string("\n") + std::string(6, '\xff') + "\1xxxx", false}};
  for (const auto& [text, is_perfetto] : rows) {
    EXPECT_EQ(refusal(text).find("Perfetto trace") != std::string::npos, is_perfetto)
        << text.size();
  }
}

// Launches whose start events stand far from their slices, or that have no number in their work.
TEST(Reader, LinksWorkWithoutANumberByItsFlow) {
  const auto links = [](const std::string& events) {
    const auto trace = parsed("[" + events + "]");
    std::string text;
    for (const Flow& flow : trace->flows()) {
      text += fmt::format("{}>{} ", trace->string(trace->slices().name[flow.from.value]),
                          trace->string(trace->slices().name[flow.to.value]));
    }
    return text;
  };
  const std::string other =
      R"({"ph": "X", "cat": "cuda_runtime", "name": "other", "pid": 1, "tid": 1, "ts": 0, "dur": 1,)"
      R"("args": {"correlation": 6}},)";
  const std::string call =
      R"({"ph": "X", "cat": "cuda_runtime", "name": "call", "pid": 1, "tid": 1, "ts": 1, "dur": 1,)"
      R"("args": {"correlation": 7}},)";
  const std::string work =
      R"({"ph": "X", "cat": "kernel", "name": "work", "pid": 0, "tid": 7, "ts": 5, "dur": 1},)";
  const std::string start =
      R"({"ph": "s", "id": 7, "pid": 1, "tid": 1, "ts": 1, "cat": "ac2g", "name": "ac2g"},)";
  const std::string end =
      R"({"ph": "f", "id": 7, "pid": 0, "tid": 7, "ts": 5, "cat": "ac2g", "name": "ac2g"})";
  EXPECT_EQ(links(other + call + start + work + end), "call>work ");
  EXPECT_EQ(links(other + call + work + end), "call>work ");
  EXPECT_EQ(links(other + call + work + start + end), "call>work ");
  EXPECT_EQ(links(other + work + end), "");
  std::string wrong = end;
  EXPECT_EQ(links(other + call + work + wrong.replace(wrong.find("\"id\": 7"), 7, "\"id\": 8")),
            "");
  wrong = end;
  EXPECT_EQ(links(other + call + work + wrong.replace(wrong.find("\"tid\": 7"), 8, "\"tid\": 9")),
            "");
  // A flow of another kind may have the number of a launch by chance.
  const auto of_another_kind = [](std::string flow) {
    return flow.replace(flow.find("ac2g"), 4, "mine");
  };
  EXPECT_EQ(links(other + call + of_another_kind(start) + work + of_another_kind(end)),
            "call>work ");
}

// As SGLang merges the files of its ranks: only the pids differ.
TEST(Reader, LinksNoWorkOfANumberThatLaunchesOfTwoProcessesHave) {
  const auto links = [](const std::string& second_pid) {
    TraceText text;
    const auto add = [&](const std::string& pid, uint32_t number, int64_t at_ns) {
      const Row work = {.pid = R"("[TP00] 0")", .tid = "7", .correlation = number};
      text.slice("cuda_runtime", fmt::format("call{}", number), at_ns, at_ns + 10,
                 {.pid = pid, .correlation = number});
      text.slice("kernel", fmt::format("work{}", number), at_ns + 50, at_ns + 60, work);
      for (const auto& [phase, row, flow_ns] :
           {std::tuple("s", Row{.pid = pid}, at_ns), std::tuple("f", work, at_ns + 50)}) {
        text.event(fmt::format(R"({{"ph": "{}", "id": {}, "pid": {}, "tid": {}, "ts": 0.{:03}, )"
                               R"("cat": "ac2g", "name": "ac2g"}})",
                               phase, number, row.pid, row.tid, flow_ns));
      }
    };
    add(R"("[TP00] 9")", 7, 0);
    add(R"("[TP00] 9")", 8, 100);
    add(second_pid, 7, 200);
    add(second_pid, 9, 300);
    const auto trace = parsed(text.str());
    std::string found;
    for (const Flow& flow : trace->flows()) {
      found += fmt::format("{}>{} ", trace->string(trace->slices().name[flow.from.value]),
                           trace->string(trace->slices().name[flow.to.value]));
    }
    return found;
  };
  EXPECT_EQ(links(R"("[TP01] 9")"), "call8>work8 call9>work9 ");
  EXPECT_EQ(links(R"("[TP00] 9")"), "call7>work7 call7>work7 call8>work8 call9>work9 ");
}

// In such a file each process counts its forward operators from 1.
TEST(Reader, NoForwardOfOneProcessLeadsToTheBackwardOfAnother) {
  const auto links = [](const std::string& category) {
    TraceText text;
    const auto add = [&](const std::string& name, const char* phase, const char* pid, int at_us) {
      text.cpu_op(name, at_us * 1'000, at_us * 1'000 + 500, {.pid = pid});
      text.event(fmt::format(R"({{"ph": "{0}", "id": 1, "pid": {1}, "tid": 1, "ts": {2}, )"
                             R"("cat": "{3}", "name": "{3}"}})",
                             phase, pid, at_us, category));
    };
    add("forward1", "s", "1", 1);
    add("forward2", "s", "2", 3);
    add("backward1", "f", "1", 5);
    add("backward2", "f", "2", 7);
    const auto trace = parsed(text.str());
    std::set<std::string> found;
    for (const Flow& flow : trace->flows()) {
      found.insert(fmt::format("{}>{}", trace->string(trace->slices().name[flow.from.value]),
                               trace->string(trace->slices().name[flow.to.value])));
    }
    return found;
  };
  EXPECT_THAT(links("fwdbwd"), ElementsAre("forward1>backward1", "forward2>backward2"));
  EXPECT_THAT(links("request"), ElementsAre("forward2>backward1", "forward2>backward2"))
      << "other arrows may lead to another process";
}

TEST(Reader, PairsEndsOfManyFlowsOfFewNumbers) {
  TraceText text;
  for (int i = 0; i < 6'000; ++i) {
    text.slice("x", "s", i * 100, i * 100 + 50);
    text.event(fmt::format(
        R"({{"ph": "{}", "id": {}, "pid": 1, "tid": 1, "ts": {}.{}, "cat": "x", "name": "x"}})",
        i % 2 == 0 ? "s" : "f", i % 4 / 2, i / 10, i % 10));
  }
  const auto trace = parsed(text.str());
  ASSERT_EQ(trace->flows().size(), 3'000U);
  for (uint32_t i = 0; i < 3'000; ++i) {
    EXPECT_EQ(trace->flows()[i].from.value, 2 * i);
    EXPECT_EQ(trace->flows()[i].to.value, 2 * i + 1);
  }
}

}  // namespace
}  // namespace redline::trace
