// Reads traces that are torn, mutated or of another kind. All whole events must load, each repair
// or skip must have a name and a place, and nothing may take long.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "tests/parsed_trace.h"
#include "tests/temporary_folder.h"
#include "trace/read/reader.h"
#include "trace/read/text_cursor.h"

namespace redline::trace {
namespace {

using namespace redline::testing;

using ::testing::ElementsAre;
using ::testing::Pair;

size_t count_of(std::string_view text, std::string_view piece) {
  size_t count = 0;
  for (size_t at = text.find(piece); at != std::string_view::npos; at = text.find(piece, at + 1)) {
    ++count;
  }
  return count;
}

// About 20 kB with every kind of event. The text "}}" ends each event and occurs nowhere else.
std::string twenty_kilobytes() {
  TraceText text;
  text.rank(1, 2).top(R"("baseTimeNanoseconds": 1790857026000000000)");
  for (int i = 0; text.str().size() < 20'000; ++i) {
    const int64_t at = i * 1000;
    text.cpu_op("a },{ \\\"quoted\\\" name " + std::to_string(i), at, at + 900,
                {.args = R"("Input Dims": [[1, 2], []], "Call stack": "f(\"x\"); ]g")"})
        .runtime("cudaLaunchKernel", at + 100, at + 200, static_cast<uint32_t>(i + 1))
        .kernel("void f<{lambda}>(é)", at + 300, at + 800,
                on_stream(7, static_cast<uint32_t>(i + 1)));
  }
  return text.str();
}

TEST(Hostile, ATraceCutAtAnyByteGivesAllWholeEventsBeforeTheCut) {
  const std::string whole = twenty_kilobytes();
  const size_t events_begin = whole.find('[', whole.find("traceEvents")) + 1;
  for (size_t cut = events_begin; cut < whole.size(); ++cut) {
    const std::string_view torn = std::string_view(whole).substr(0, cut);
    const auto trace = parse_trace("torn", torn);
    ASSERT_TRUE(trace) << cut;
    ASSERT_EQ((*trace)->slice_count(), count_of(torn, "}}")) << "cut at byte " << cut;
    ASSERT_FALSE(whole.size() - cut > 2 && (*trace)->issues().empty()) << "silent at " << cut;
    for (const LoadIssue& issue : (*trace)->issues()) ASSERT_LE(issue.first_offset, cut);
  }
}

TEST(Hostile, AGzFileCutAtAnyByteGivesWhatCanBeInflated) {
  const std::string whole = gzip(twenty_kilobytes());
  const testing::TemporaryFolder folder;
  const std::string path = folder / "torn";
  for (size_t cut = 1; cut < whole.size(); ++cut) {
    const std::string_view torn = std::string_view(whole).substr(0, cut);
    std::ofstream(path, std::ios::binary) << torn;
    const auto trace = read_trace(path);
    const size_t events = count_of(inflated(torn, MAX_WBITS + 16, 64 << 10), "}}");
    ASSERT_GE(trace ? (*trace)->slice_count() : 0, events) << "cut at byte " << cut;
    if (trace) {
      ASSERT_EQ(issues_of(**trace).count("gzip_cut"), 1U) << cut;
    }
  }
}

std::string cpu_op(const std::string& more, const std::string& name = "\"a\"") {
  return R"({"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1, "name": )" + name + ", " + more + "}";
}

TEST(Hostile, ACompressedTextThatFillsMemoryIsReadUpToThere) {
  const std::string begin = "[" + cpu_op(R"("ts": 1, "dur": 1)") + ",";
  const std::string late = R"(", "traceEvents": )" + begin + "]}";
  const testing::TemporaryFolder folder;
  const std::string path = folder / "bomb";
  struct {
    std::string before;
    char filler;
    size_t slices;
  } const cases[] = {{begin, ' ', 1},
                     {begin + R"({"ph": "X", "name": ")", 'a', 1},
                     {R"({"traceEvents": )" + begin + R"(], "x": ")", 'a', 1}};
  const std::string head = R"({"x": ")" + std::string(100 << 20, 'a');
  std::ofstream(path, std::ios::binary) << gzip(head + late);
  EXPECT_EQ((*read_trace(path))->slice_count(), 1U) << "only the long value is left out";
  for (const auto& [before, filler, slices] : cases) {
    std::ofstream(path, std::ios::binary) << gzip(before + std::string(200 << 20, filler) + late);
    const auto trace = read_trace(path);
    ASSERT_TRUE(trace) << before;
    EXPECT_EQ((*trace)->slice_count(), slices) << before;
    EXPECT_EQ(issues_of(**trace).count("value_too_long"), 1U);
    EXPECT_LT((*trace)->text().size(), 150U << 20);
  }
  for (const std::string& before : {std::string(R"({"x": ")"), std::string()}) {
    const std::string filler(200 << 20, before.empty() ? ' ' : 'a');
    std::ofstream(path, std::ios::binary) << gzip(before + filler + late);
    EXPECT_FALSE(read_trace(path).has_value()) << "nothing of it is a trace";
  }
}

TEST(Hostile, ValuesBesideTheEventsMayBeNestedDeep) {
  constexpr size_t kDeep = 200'000;
  std::string arrays = std::string(kDeep, '[') + std::string(kDeep, ']'), objects;
  for (size_t i = 0; i < kDeep; ++i) objects += R"({"[\"":)";
  objects += "1" + std::string(kDeep, '}');
  for (const std::string& deep : {arrays, objects}) {
    for (const std::string key : {"x", "distributedInfo"}) {
      const auto trace =
          parse_trace("deep.json", R"({"traceEvents": [)" + cpu_op(R"("ts": 1, "dur": 1)") +
                                       R"(], ")" + key + "\": " + deep + "}");
      ASSERT_TRUE(trace);
      EXPECT_EQ((*trace)->slice_count(), 1U);
      EXPECT_EQ(issues_of(**trace).count("top_level_value_malformed"), 1U);
    }
  }
}

TEST(Hostile, EachMutationHasAName) {
  const std::string times = R"("ts": 1, "dur": 1)", good = cpu_op(times, "\"good\"");
  const std::string deep = std::string(100'000, '['), shut = std::string(100'000, ']');
  struct {
    std::string what;
    std::string json;
    size_t slices;
    std::vector<std::string> issues;
  } const cases[] = {
      {"trailing comma", "[" + good + ",]", 1, {"trailing_comma"}},
      {"two commas", "[" + good + ",," + good + "]", 2, {"extra_comma"}},
      {"no end", "[" + good, 1, {"array_without_end"}},
      {"a raw newline", "[" + cpu_op(times, "\"a\nb\"") + "]", 1, {"control_character"}},
      {"broken UTF-8", "[" + cpu_op(times, "\"\xc3\x28\"") + "]", 1, {"invalid_utf8"}},
      {"broken UTF-8 in args",
       "[" + cpu_op(times + R"(, "args": {"x": ")" + "\xff" + "\"}") + "]",
       1,
       {"invalid_utf8"}},
      {"a lone surrogate", "[" + cpu_op(times, R"("\ud800")") + "]", 1, {"invalid_utf8"}},
      {"a pair of surrogates", "[" + cpu_op(times, R"("\ud83d\ude00")") + "]", 1, {}},
      {"ts inf",
       "[" + cpu_op(R"("ts": inf, "dur": 1)") + "," + good + "]",
       1,
       {"time_not_a_number"}},
      {"dur NaN",
       "[" + cpu_op(R"("ts": 1, "dur": NaN)") + "," + good + "]",
       1,
       {"time_not_a_number"}},
      {"ts beyond int64",
       "[" + cpu_op(R"("ts": 92233720368547758080, "dur": 1)") + "," + good + "]",
       1,
       {"time_not_a_number"}},
      {"ts as a string", "[" + cpu_op(R"("ts": "1.5", "dur": "2")") + "]", 1, {"time_as_string"}},
      {"pid beyond int64",
       R"([{"ph": "X", "name": "a", "pid": 18446744073709551616, )" + times + "}]",
       1,
       {}},
      {"deep args", "[" + cpu_op(times + R"(, "args": {"x": )" + deep + shut + "}") + "]", 1, {}},
      {"deep open args",
       "[" + cpu_op(times + R"(, "args": {"x": )" + deep + "}") + "," + good + "]",
       2,
       {}},
      {"deep nothing", "[" + deep + shut + "," + good + "]", 1, {"not_an_event"}},
      {"keys twice", "[" + cpu_op(times + R"(, "name": "b", "ts": 7)") + "]", 1, {}},
      {"other order",
       R"([{"dur": 1, "args": {}, "tid": 1, "ts": 1, "name": "a", "ph": "X"}])",
       1,
       {}},
      {"a long string", "[" + cpu_op(times, "\"" + std::string(10 << 20, 'n') + "\"") + "]", 1, {}},
      {"a NUL in a name",
       "[" + cpu_op(times, std::string("\"a\0b\"", 5)) + "]",
       1,
       {"control_character"}},
      {"NULs between",
       "[" + good + ", " + std::string(4, '\0') + "," + good + "]",
       2,
       {"not_an_event"}},
      {"a byte order mark", "\xEF\xBB\xBF[" + good + "]", 1, {}},
      {"CR LF", "[\r\n" + good + ",\r\n" + good + "\r\n]\r\n", 2, {}},
      {"a comment", "[" + good + ", // more\n" + good + "]", 2, {"not_an_event"}},
      {"single quotes", "[{'ph': 'X'}, " + good + "]", 1, {"event_malformed"}},
      {"literals", "[null, true, 1e5, " + good + "]", 1, {"not_an_event"}},
  };
  for (const auto& [what, json, slices, issues] : cases) {
    const auto trace = parse_trace("mutated", json);
    ASSERT_TRUE(trace) << what;
    EXPECT_EQ((*trace)->slice_count(), slices) << what;
    std::vector<std::string> names;
    for (const auto& [name, count] : issues_of(**trace)) names.push_back(name);
    EXPECT_EQ(names, issues) << what;
    for (const LoadIssue& issue : (*trace)->issues()) {
      EXPECT_GT(issue.first_offset, 0U) << what;
      EXPECT_LE(issue.first_offset, json.size()) << what;
    }
  }
}

TEST(Hostile, ABadChunkLeavesTheOthersAlone) {
  TraceText text;
  for (int i = 0; i < 30'000; ++i) text.cpu_op("op" + std::to_string(i % 9), i * 10, i * 10 + 5);
  std::string json = text.str();
  json[json.find(':', json.size() / 2)] = ';';
  json[json.find('{', json.size() / 4)] = '[';
  const auto trace = parse_trace("mutated", json);
  ASSERT_TRUE(trace);
  EXPECT_EQ((*trace)->slice_count(), 29'998U);
  uint64_t lost = 0;
  for (const LoadIssue& issue : (*trace)->issues())
    lost += issue.info().lost_data ? issue.count : 0;
  EXPECT_GE(lost, 2U);
}

TEST(Hostile, TheTextOfAnEventEndsWithIt) {
  for (const std::string& broken :
       {cpu_op(R"("ts": 1, "dur": 1)", "\"a\"b\""), cpu_op(R"("ts": 1, "dur": 1)", "\"{\""),
        cpu_op(R"("ts": 1, "dur": 1, "args": {"x": [1, 2})"),
        cpu_op(R"("ts": 1, "dur": 1, "args": {"x": "a"b", "y": 1})")}) {
    const auto trace =
        parse_trace("mutated", "[" + broken + ", " + cpu_op(R"("ts": 5, "dur": 1)") + "]");
    ASSERT_TRUE(trace);
    ASSERT_EQ((*trace)->slice_count(), 2U) << broken;
    EXPECT_EQ(event_text(**trace, SliceId{0}), broken);
  }
}

TEST(Hostile, ReadsTheDialectsOfOtherYearsAndMakers) {
  const auto trace = parse_trace("dialects", R"({"schemaVersion": 1, "traceEvents": [
    {"ph": "X", "cat": "Operator", "name": "aten::mm", "pid": 7, "tid": "7", "ts": 1695835542481129,
     "dur": 50, "args": {"Device": 7, "External id": 2}},
    {"ph": "X", "cat": "Operator", "name": "ProfilerStep#3", "pid": 7, "tid": "7",
     "ts": 1695835542481100, "dur": 500, "args": {}},
    {"ph": "X", "cat": "Runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": "7",
     "ts": 1695835542481130, "dur": 5, "args": {"cbid": 211, "correlation": 9}},
    {"ph": "X", "cat": "Kernel", "name": "gemm", "pid": 0, "tid": "stream 7", "ts": 1695835542481140,
     "dur": 20, "args": {"stream": 7, "correlation": 9}},
    {"ph": "s", "cat": "async", "name": "launch", "id": 9, "pid": 7, "tid": "7", "ts": 1695835542481130},
    {"ph": "f", "cat": "async", "name": "launch", "id": 9, "pid": 0, "tid": "stream 7",
     "ts": 1695835542481140, "bp": "e"},
    {"ph": "X", "cat": "hip_runtime", "name": "hipLaunchKernel", "pid": 7, "tid": 8, "ts": 1, "dur": 1,
     "args": {"correlation": 4}},
    {"ph": "X", "cat": "kernel", "name": "Cijk_Ailk", "pid": 2, "tid": 0, "ts": 2, "dur": 1,
     "args": {"device": 2, "stream": 0, "correlation": 4}},
    {"ph": "X", "cat": "privateuse1_runtime", "name": "launch", "pid": 7, "tid": 8, "ts": 10, "dur": 1,
     "args": {"correlation": 5}},
    {"ph": "X", "cat": "privateuse1_driver", "name": "submit", "pid": 7, "tid": 8, "ts": 12, "dur": 1,
     "args": {"correlation": 6}},
    {"ph": "X", "cat": "kernel", "name": "of_npu", "pid": 2, "tid": 0, "ts": 20, "dur": 1,
     "args": {"device": 2, "stream": 0, "correlation": 5}},
    {"ph": "X", "cat": "mtia_runtime", "name": "runFunction", "pid": 7, "tid": 9, "ts": 1, "dur": 1}
  ]})");
  ASSERT_TRUE(trace);
  std::map<std::string, Category> categories;
  const auto& slices = (*trace)->slices();
  for (uint32_t i = 0; i < (*trace)->slice_count(); ++i) {
    categories[std::string((*trace)->string(slices.name[i]))] = slices.category[i];
  }
  EXPECT_THAT(
      categories,
      ElementsAre(Pair("Cijk_Ailk", Category::kKernel),
                  Pair("ProfilerStep#3", Category::kUserAnnotation),
                  Pair("aten::mm", Category::kCpuOp), Pair("cudaLaunchKernel", Category::kRuntime),
                  Pair("gemm", Category::kKernel), Pair("hipLaunchKernel", Category::kRuntime),
                  Pair("launch", Category::kRuntime), Pair("of_npu", Category::kKernel),
                  Pair("runFunction", Category::kOther), Pair("submit", Category::kDriver)));
  EXPECT_EQ((*trace)->flows().size(), 3U);
  EXPECT_TRUE((*trace)->issues().empty());
}

}  // namespace
}  // namespace redline::trace
