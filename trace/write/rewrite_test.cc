#include "trace/write/rewrite.h"
#include "tests/paths.h"
#include "trace/read/text_cursor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "tests/fuzz/check_trace.h"
#include "tests/parsed_trace.h"
#include "tests/temporary_folder.h"
#include "tests/trace_lines.h"
#include "trace/read/reader.h"

namespace redline::trace {
namespace {

namespace fs = std::filesystem;
using namespace redline::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Rewrite : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& file) const { return folder_ / file; }

  [[nodiscard]] std::shared_ptr<const Trace> rewritten(const Trace& trace) const {
    const auto written = fuzz::rewrite_trace(trace, path("out.json"));
    EXPECT_TRUE(written) << written.error();
    auto read = read_trace(path("out.json"));
    EXPECT_TRUE(read) << read.error().message;
    return read ? *read : nullptr;
  }

  [[nodiscard]] bool is_strict_json(const std::string& file) const {
    std::ifstream stream(path(file));
    return nlohmann::json::accept(stream);
  }

  /// The text up to the file's own name, with shorter lines.
  [[nodiscard]] std::string lines_of(const std::string& file) const {
    std::string text = read_file(path(file));
    text.resize(text.find("\"traceName\""));
    for (const auto& [begin, shorter] :
         {std::pair(R"({"ph": "M", "cat": "__metadata", "name": )", "M "),
          std::pair(R"({"ph": "X", "cat": )", "X "), std::pair(R"({"sort_index": )", "{")}) {
      for (size_t at = 0; (at = text.find(begin)) != std::string::npos;) {
        text.replace(at, std::string_view(begin).size(), shorter);
      }
    }
    return text;
  }

  const testing::TemporaryFolder folder_;
};

constexpr const char* kRows =
    R"({"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "python"}})";

TEST_F(Rewrite, ReadsEqualForWhatTheModelHolds) {
  const std::string arrow = R"("cat": "fwdbwd", "name": "fwdbwd", "pid": 1, "tid": 1, "id": 1)";
  const auto before = parsed(
      TraceText()
          .rank(1, 2)
          .top(R"("baseTimeNanoseconds": 1790857026000000000)")
          .top(R"("deviceProperties": [{"id": 0, "name": "A100"}])")
          .cpu_op(R"(outer \"q\")", 0, 9000)
          .cpu_op("overlaps", 8000, 9500, {.args = R"("Input Dims": [[1, 2], []])"})
          .runtime("cudaLaunchKernel", 100, 200, 42)
          .kernel("gemm", 5000, 6000, on_stream(7, 42))
          .event(R"({"ph": "s", "ts": 0.000, )" + arrow + "}")
          .event(R"({"ph": "f", "ts": 8.000, "bp": "e", )" + arrow + "}")
          .event(R"({"ph": "i", "s": "t", "name": "[memory]", "cat": "cpu_instant_event",
                    "pid": 1, "tid": 1, "ts": 3.001, "args": {"Bytes": -512}})")
          .event(R"({"ph": "C", "name": "power", "pid": "GPU 0", "ts": 1, "args": {"watt": 1.5}})")
          .event(R"({"ph": "B", "name": "pair", "pid": "a", "tid": "stream 9", "ts": 1})")
          .event(R"({"ph": "E", "name": "pair", "pid": "a", "tid": "stream 9", "ts": 2})")
          .event(kRows)
          .str());
  ASSERT_TRUE(before);
  const auto after = rewritten(*before);
  ASSERT_TRUE(after);
  expect_equal(*before, *after);
  EXPECT_THAT(after->issues(), IsEmpty());
  EXPECT_EQ(after->metadata().rank, 1);
  EXPECT_EQ(after->flows().size(), 2U);
  EXPECT_TRUE(is_strict_json("out.json"));
}

TEST_F(Rewrite, WritesValidJsonForATraceThatIsNot) {
  const auto before = parsed(
      "[{\"ph\": \"X\", \"name\": \"a\"b\", \"cat\": \"k\x01\xff\", \"pid\": NaN, \"tid\": 1, "
      "\"ts\": \"7\", \"dur\": -1, \"args\": {\"x\": NaN, \"y\": \"\xff\", \"z\": 01, \"ok\": "
      "[1]}},"
      "{\"ph\": \"i\", \"name\": \"tab\there\", \"ts\": 1e0, \"s\": 5},"
      "{\"ph\": \"C\", \"name\": \"c\", \"ts\": -3, \"args\": {\"v\": \"inf\"}},");
  ASSERT_TRUE(before);
  const auto after = rewritten(*before);
  ASSERT_TRUE(after);
  EXPECT_TRUE(is_strict_json("out.json"));
  EXPECT_EQ(first_difference(slices_of(*before), slices_of(*after)), "");
  EXPECT_EQ(first_difference(tracks_of(*before), tracks_of(*after)), "");
  EXPECT_EQ(first_difference(instants_of(*before), instants_of(*after)), "");
  EXPECT_EQ(first_difference(counters_of(*before), counters_of(*after)), "");
  EXPECT_THAT(after->issues(), IsEmpty());
  EXPECT_THAT(std::string(event_text(*after, SliceId{0})),
              HasSubstr(R"("args": {"x": "NaN", "y": "�", "z": "01", "ok": [1]})"));
}

// Each line is one event, in the order: rows, slices, arrows, instants, counters.
TEST_F(Rewrite, WritesEachEventInThisForm) {
  const std::string pair = R"("pid": "a", "tid": "stream 9", "name": "pair", "ts": )";
  const auto trace = parsed(
      TraceText()
          .rank(1, 2)
          .top(R"("displayTimeUnit": "ns", "traceName": "old.json", "mine": {"x": [1]})")
          .top(R"("deviceProperties": [{"id": 0}])")
          .event(kRows)
          .event(R"({"ph": "M", "name": "process_labels", "pid": 1, "args": {"labels": "CPU"}})")
          .event(
              R"({"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "main"}})")
          .event(
              R"({"ph": "M", "name": "thread_sort_index", "pid": 1, "tid": 1, "args": {"sort_index": 5}})")
          .cpu_op("zero", 2'000, 2'000, {.tid = "007", .args = R"("correlation" :\t9)"})
          .cpu_op("minus", 2'000, 2'500, {.pid = "-5", .tid = "-0"})
          .cpu_op("odd", 2'000, 2'500, {.pid = "1", .tid = "-234567890123456789"})
          .cpu_op("big", 2'000, 2'500, {.pid = "1", .tid = "123456789012345678"})
          .runtime("launch", 2'100, 2'200, 9)
          .kernel("gemm", 5'000, 6'000, on_stream(7, 9, R"("x": 1)"))
          .event(
              R"({"ph": "s", "id": 3, "pid": 1, "tid": 1, "ts": 2.1, "cat": "fwdbwd", "name": "fwdbwd"})")
          .event(
              R"({"ph": "f", "id": 3, "pid": 0, "tid": 7, "ts": 5, "bp": "e", "cat": "fwdbwd", "name": "fwdbwd"})")
          .event(
              R"({"ph": "i", "s": "p", "name": "mark", "cat": "m", "pid": 1, "tid": 1, "ts": 3.001})")
          .event(R"({"ph": "i", "name": "other", "pid": 4, "tid": 4, "ts": 1, "args": {"a": 1}})")
          .event(
              R"({"ph": "n", "name": "async", "cat": "c", "id": 1, "pid": 1, "tid": 1, "ts": 4})")
          .event(R"({"ph": "C", "name": "power", "pid": "GPU 0", "ts": 1, "args": {"watt": 1.5}})")
          .event("{\"ph\": \"B\", " + pair + "1}")
          .event("{\"ph\": \"E\", " + pair + "2}")
          .str());
  ASSERT_TRUE(trace);
  {
    TraceWriter writer(path("out.partial"), header_of(*trace));
    TraceRewriter rewriter(writer);
    EXPECT_TRUE(rewriter.add(*trace, {.shift_ns = 1'000,
                                      .drift = 0.001,
                                      .drift_at_ns = 1'000,
                                      .correlation_shift = 100,
                                      .pids = {{"1", "11"}},
                                      .process_prefix = "p"}));
    EXPECT_TRUE(rewriter.add(*parsed(TraceText()
                                         .runtime("launch", 100, 200, 42)
                                         .kernel("gemm", 5'000, 6'000, on_stream(7, 42))
                                         .str())));
    writer.complete({});
    ASSERT_TRUE(writer.save(path("out.json")));
  }
  EXPECT_EQ(lines_of("out.json"), R"json({
"schemaVersion": 1,
"deviceProperties": [{"id": 0}],
"distributedInfo": {
"backend": "gloo",
"rank": 1,
"world_size": 2
},
"mine": {
"x": [
1
]
},
"displayTimeUnit": "ms",
"baseTimeNanoseconds": 0,
"traceEvents": [
M "process_name", "pid": "a", "tid": "stream 9", "ts": 2.000, "args": {"name": "p"}},
M "process_sort_index", "pid": "a", "tid": "stream 9", "ts": 2.000, "args": {0}},
M "thread_sort_index", "pid": "a", "tid": "stream 9", "ts": 2.000, "args": {9}},
M "process_name", "pid": 0, "tid": 7, "ts": 2.000, "args": {"name": "p · python"}},
M "process_sort_index", "pid": 0, "tid": 7, "ts": 2.000, "args": {1}},
M "thread_sort_index", "pid": 0, "tid": 7, "ts": 2.000, "args": {7}},
M "process_name", "pid": 11, "tid": 1, "ts": 2.000, "args": {"name": "p"}},
M "process_labels", "pid": 11, "tid": 1, "ts": 2.000, "args": {"labels": "CPU"}},
M "process_sort_index", "pid": 11, "tid": 1, "ts": 2.000, "args": {2}},
M "thread_name", "pid": 11, "tid": 1, "ts": 2.000, "args": {"name": "main"}},
M "thread_sort_index", "pid": 11, "tid": 1, "ts": 2.000, "args": {5}},
M "thread_sort_index", "pid": 11, "tid": "007", "ts": 2.000, "args": {7}},
M "thread_sort_index", "pid": 11, "tid": 123456789012345678, "ts": 2.000, "args": {123456789012345678}},
M "thread_sort_index", "pid": 11, "tid": "-234567890123456789", "ts": 2.000, "args": {234567890123456789}},
M "process_name", "pid": -5, "tid": "-0", "ts": 2.000, "args": {"name": "p"}},
M "process_sort_index", "pid": -5, "tid": "-0", "ts": 2.000, "args": {3}},
M "thread_sort_index", "pid": -5, "tid": "-0", "ts": 2.000, "args": {0}},
M "process_name", "pid": 4, "tid": 0, "ts": 2.000, "args": {"name": "p"}},
M "process_name", "pid": "GPU 0", "tid": 0, "ts": 2.000, "args": {"name": "p"}},
X "", "name": "pair", "pid": "a", "tid": "stream 9", "ts": 2.000, "dur": 1.001, "args": {}},
X "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 6.004, "dur": 1.001, "args": {"x": 1, "correlation": 109}},
X "cuda_runtime", "name": "launch", "pid": 11, "tid": 1, "ts": 3.101, "dur": 0.100, "args": {"correlation": 109}},
X "cpu_op", "name": "zero", "pid": 11, "tid": "007", "ts": 3.001, "dur": 0.000, "args": {"correlation": "\u00099"}},
X "cpu_op", "name": "big", "pid": 11, "tid": 123456789012345678, "ts": 3.001, "dur": 0.501, "args": {}},
X "cpu_op", "name": "odd", "pid": 11, "tid": "-234567890123456789", "ts": 3.001, "dur": 0.501, "args": {}},
X "cpu_op", "name": "minus", "pid": -5, "tid": "-0", "ts": 3.001, "dur": 0.501, "args": {}},
{"ph": "s", "id": 1, "pid": 11, "tid": 1, "ts": 3.101, "cat": "ac2g", "name": "ac2g"},
{"ph": "f", "id": 1, "pid": 0, "tid": 7, "ts": 6.004, "cat": "ac2g", "name": "ac2g", "bp": "e"},
{"ph": "i", "cat": "", "name": "other", "s": "t", "pid": 4, "tid": 4, "ts": 2.000, "args": {"a": 1}},
{"ph": "i", "cat": "m", "name": "mark", "s": "p", "pid": 11, "tid": 1, "ts": 4.003},
{"ph": "i", "cat": "c", "name": "async", "s": "t", "pid": 11, "tid": "async c", "ts": 5.003},
{"ph": "C", "cat": "", "name": "power: watt", "pid": "GPU 0", "tid": 0, "ts": 2.000, "args": {"": 1.5}},
M "process_sort_index", "pid": 0, "tid": 7, "ts": 0.100, "args": {4}},
M "thread_sort_index", "pid": 0, "tid": 7, "ts": 0.100, "args": {7}},
M "process_sort_index", "pid": 1, "tid": 1, "ts": 0.100, "args": {5}},
M "thread_sort_index", "pid": 1, "tid": 1, "ts": 0.100, "args": {1}},
X "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 5.000, "dur": 1.000, "args": {"correlation": 42}},
X "cuda_runtime", "name": "launch", "pid": 1, "tid": 1, "ts": 0.100, "dur": 0.100, "args": {"correlation": 42}},
{"ph": "s", "id": 2, "pid": 1, "tid": 1, "ts": 0.100, "cat": "ac2g", "name": "ac2g"},
{"ph": "f", "id": 2, "pid": 0, "tid": 7, "ts": 5.000, "cat": "ac2g", "name": "ac2g", "bp": "e"}
],
)json");
}

TEST_F(Rewrite, TheBaseIsBelowEveryTime) {
  constexpr int64_t kBase = 7'889'238'000'000'000;  // a quarter of a year
  const auto base = [](const std::string& events, int64_t shift_ns = 0) {
    return base_of(*parsed("[" + std::string(kRows) + "," + events + "]"), shift_ns);
  };
  const std::string slice =
      R"({"ph": "X", "name": "s", "pid": 1, "tid": 1, "ts": 7889238000005, "dur": 1})";
  const std::string instant =
      R"({"ph": "i", "name": "i", "pid": 1, "tid": 1, "ts": 7889238000003})";
  const std::string early = R"({"ph": "i", "name": "i", "pid": 1, "tid": 1, "ts": 7889237999999})";
  const std::string counter =
      R"({"ph": "C", "name": "c", "pid": 1, "ts": 15778476000000, "args": {"": 1}})";
  const std::string negative = R"({"ph": "C", "name": "c", "pid": 1, "ts": -2, "args": {"": 1}})";
  EXPECT_EQ(base(""), 0);
  EXPECT_EQ(base("", 5), 0);
  EXPECT_EQ(base(slice), kBase);
  EXPECT_EQ(base(slice, -5'000), kBase);
  EXPECT_EQ(base(slice, -5'001), 0);
  EXPECT_EQ(base(slice + "," + instant, -4'000), 0);
  EXPECT_EQ(base(early + "," + slice + "," + instant), 0);
  EXPECT_EQ(base(counter), 2 * kBase);
  EXPECT_EQ(base(counter + "," + slice), kBase);
  EXPECT_EQ(base(negative + "," + slice), -2'000);
}

TEST_F(Rewrite, GoesOnAsLongAsItMay) {
  TraceText text;
  for (int i = 0; i < 20'000; ++i) text.cpu_op("aten::mm", i * 10, i * 10 + 5);
  const auto trace = parsed(text.str());
  const auto added = [&](size_t most) {
    std::vector<uint64_t> steps;
    TraceWriter writer(path("out.partial"), {});
    const auto go_on = [&](uint64_t rows) {
      steps.push_back(rows);
      return steps.size() < most;
    };
    const bool whole = TraceRewriter(writer).add(*trace, {.go_on = go_on});
    return std::pair(whole, steps);
  };
  EXPECT_EQ(added(9), std::pair(true, std::vector<uint64_t>(2, 8192)));
  EXPECT_EQ(added(1), std::pair(false, std::vector<uint64_t>(1, 8192)));
  EXPECT_EQ(spool_path("a.json"), partial_path("a.json.gz"));
  EXPECT_EQ(spool_path("a.json.gz"), partial_path("a.json.gz"));
}

TEST_F(Rewrite, KeepsRanksApartInOneFile) {
  // With args that are JSON and that are not.
  for (const std::string args : {"", R"("x": 1)", R"("x": NaN)", "\"x\": \"a\tb\""}) {
    SCOPED_TRACE(args);
    const auto one = parsed(
        TraceText()
            .slice("cuda_runtime", "cudaLaunchKernel", 100, 200, {.correlation = 42, .args = args})
            .kernel("gemm", 5000, 6000, on_stream(7, 42, args))
            .event(kRows)
            .str());
    ASSERT_TRUE(one);
    {
      TraceWriter writer(path("merged.partial"), TraceHeader{});
      TraceRewriter rewriter(writer);
      rewriter.add(*one, {.process_prefix = "rank 0"});
      rewriter.add(*one, {.shift_ns = 7,
                          .correlation_shift = 100,
                          .pids = {{"0", "rank 1: 0"}, {"1", "rank 1: 1"}}});
      writer.complete({});
      ASSERT_TRUE(writer.save(path("merged.json")));
    }
    const auto merged = read_trace(path("merged.json"));
    ASSERT_TRUE(merged);
    const Trace& trace = **merged;
    EXPECT_THAT(slices_of(trace),
                ElementsAre("gemm|5000|6000|6|0|42", "cudaLaunchKernel|100|200|4|1|42",
                            "gemm|5007|6007|6|2|142", "cudaLaunchKernel|107|207|4|3|142"));
    EXPECT_THAT(flows_of(trace), ElementsAre("1>0 0", "3>2 0"));
    EXPECT_EQ(string_of(trace, trace.tracks()[0].process_name), "rank 0 · python");
    EXPECT_EQ(string_of(trace, trace.tracks()[3].pid), "rank 1: 1");
    EXPECT_EQ(trace.tracks()[2].device, 0);
  }
}

TEST_F(Rewrite, ReadsEqualForEveryRealTrace) {
  const fs::path shared = redline::testing::shared_dir();
  if (!fs::exists(shared / "traces")) GTEST_SKIP() << shared << " is absent";
  size_t files = 0;
  for (const char* folder : {"traces", "data/trace_event_edge_cases"}) {
    for (const auto& entry : fs::directory_iterator(shared / folder)) {
      if (entry.path().filename().string().find(".json") == std::string::npos) continue;
      SCOPED_TRACE(entry.path().filename());
      const auto before = read_trace(entry.path().string());
      ASSERT_TRUE(before) << before.error().message;
      const auto after = rewritten(**before);
      ASSERT_TRUE(after);
      expect_equal(**before, *after);
      ++files;
    }
  }
  EXPECT_GE(files, 40U);  // there may be more, because the folders grow
}

}  // namespace
}  // namespace redline::trace
