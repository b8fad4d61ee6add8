#include "trace/write/rewrite.h"
#include "tests/paths.h"
#include "trace/read/text_cursor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/parsed_trace.h"
#include "tests/trace_lines.h"
#include "trace/read/reader.h"

namespace redline::trace {
namespace {

namespace fs = std::filesystem;
using redline::testing::counters_of;
using redline::testing::expect_equal;
using redline::testing::first_difference;
using redline::testing::flows_of;
using redline::testing::instants_of;
using redline::testing::on_stream;
using redline::testing::parsed;
using redline::testing::slices_of;
using redline::testing::string_of;
using redline::testing::TraceText;
using redline::testing::tracks_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Rewrite : public ::testing::Test {
 protected:
  Rewrite() : folder_(fs::path(::testing::TempDir()) / ("rewrite_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~Rewrite() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& file) const { return folder_ / file; }

  [[nodiscard]] std::shared_ptr<const Trace> rewritten(const Trace& trace) const {
    const auto written = rewrite_trace(trace, path("out.json"));
    EXPECT_TRUE(written) << written.error();
    auto read = read_trace(path("out.json"));
    EXPECT_TRUE(read) << read.error().message;
    return read ? *read : nullptr;
  }

  [[nodiscard]] bool is_strict_json(const std::string& file) const {
    std::ifstream stream(path(file));
    return nlohmann::json::accept(stream);
  }

  fs::path folder_;
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

TEST_F(Rewrite, KeepsRanksApartInOneFile) {
  const auto one = parsed(TraceText()
                              .runtime("cudaLaunchKernel", 100, 200, 42)
                              .kernel("gemm", 5000, 6000, on_stream(7, 42))
                              .event(kRows)
                              .str());
  ASSERT_TRUE(one);
  {
    TraceWriter writer(path("merged.partial"), TraceHeader{});
    TraceRewriter rewriter(writer);
    rewriter.add(*one, {.process_prefix = "rank 0 "});
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
  EXPECT_EQ(string_of(trace, trace.tracks()[0].process_name), "rank 0 python");
  EXPECT_EQ(string_of(trace, trace.tracks()[3].pid), "rank 1: 1");
  EXPECT_EQ(trace.tracks()[2].device, 0);
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
