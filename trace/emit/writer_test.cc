// Two independent readers accept what the writer writes: nlohmann/json, which is strict, and our
// own.
#include "trace/emit/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "tests/temporary_folder.h"
#include "trace/read/reader.h"

namespace redline::trace {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int64_t kNow = 1'795'239'608'123'456'789;

class WriterTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }
  [[nodiscard]] TraceWriter writer(std::vector<Entry> entries = {}) const {
    return {path("spool.partial"), {quarter_base_ns(kNow), 42, std::move(entries)}};
  }
  static void slice(TraceWriter& writer, std::string_view name, int64_t begin_ns = kNow,
                    int64_t end_ns = kNow + 1500) {
    const std::string quoted = json_string(name);
    writer.begin_slice({"cpu_op", quoted, 7, begin_ns, end_ns}).literal("\"Ev Idx\": 0");
    writer.end_args();
  }
  [[nodiscard]] json saved_plain(TraceWriter& writer) const {
    const auto saved = writer.save(path("plain.json"));
    EXPECT_TRUE(saved) << saved.error();
    std::ifstream file(path("plain.json"));
    return json::parse(file);
  }

  const testing::TemporaryFolder folder_;
};

TEST(TextBuffer, WritesMicrosecondsWithThreeDecimals) {
  const std::pair<int64_t, const char*> rows[] = {{0, "0.000"},
                                                  {7, "0.007"},
                                                  {1'500, "1.500"},
                                                  {-5, "0.000"},
                                                  {4'381'014'301'984'059, "4381014301984.059"}};
  for (const auto& [ns, text] : rows) {
    TextBuffer buffer;
    buffer.microseconds(ns);
    EXPECT_EQ(buffer.view(), text);
  }
}

TEST(TextBuffer, EscapesWhatJsonForbids) {
  const std::pair<std::string_view, const char*> rows[] = {
      {"aten::mm", "\"aten::mm\""},
      {"a\"b\\c", R"("a\"b\\c")"},
      {std::string_view("\0\n\x1f\x7f", 4), R"("\u0000\u000a\u001f\u007f")"},
      {"é漢😀", "\"é漢😀\""},
      {"a\xff"
       "b",
       "\"a\uFFFD"
       "b\""},
      {"\xe6\xbc", "\"\uFFFD\uFFFD\""},                      // cut in the middle
      {"\xc0\xaf", "\"\uFFFD\uFFFD\""},                      // overlong
      {"\xed\xa0\x80", "\"\uFFFD\uFFFD\uFFFD\""},            // a surrogate
      {"\xf5\x80\x80\x80", "\"\uFFFD\uFFFD\uFFFD\uFFFD\""},  // above U+10FFFF
  };
  for (const auto& [text, expected] : rows) EXPECT_EQ(json_string(text), expected);
}

TEST_F(WriterTest, KeepsKinetosOrderAndTheSpaceThatHtaNeeds) {
  auto writer = this->writer({{"deviceProperties", "[]"}, {"distributedInfo", "{\"rank\": 1}"}});
  slice(writer, "aten::mm");
  writer.complete(kNow + 2000, {{"redline", "{}"}});
  ASSERT_TRUE(writer.save(path("plain.json")));
  std::ifstream file(path("plain.json"));
  const auto trace = nlohmann::ordered_json::parse(file);
  std::vector<std::string> keys;
  for (const auto& [key, value] : trace.items()) keys.push_back(key);
  EXPECT_THAT(keys, ::testing::ElementsAre("schemaVersion", "deviceProperties", "distributedInfo",
                                           "displayTimeUnit", "baseTimeNanoseconds", "traceEvents",
                                           "redline", "traceName"));
  const auto& event = trace["traceEvents"][0];
  EXPECT_EQ(event.dump(), R"({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":42,"tid":7,"ts":)" +
                              event["ts"].dump() + R"(,"dur":1.5,"args":{"Ev Idx":0}})");
}

std::string metadata(const std::string& name, int tid, const std::string& ts,
                     const std::string& args) {
  return R"({"ph": "M", "cat": "__metadata", "name": ")" + name + R"(", "pid": 42, "tid": )" +
         std::to_string(tid) + R"(, "ts": )" + ts + R"(, "args": {)" + args + "}}";
}

TEST_F(WriterTest, WritesEachKindOfEventInKinetosForm) {
  TraceWriter writer(path("spool.partial"),
                     {.base_ns = 1'000, .pid = 42, .entries = {{"a", "1"}, {"b", "[]"}}});
  writer.begin_slice({"cpu_op", "\"op\"", 7, 2'001, 3'501}).literal("\"x\": 1");
  writer.end_args();
  (void)writer.begin_slice({"kernel", "\"gemm\"", 8, 2'500, 2'400, 0});
  writer.end_args();
  (void)writer.begin_event(R"("i", "s": "t", "cat": ")", "marks\"", {"\"here\"", 7, 4'000});
  writer.end_args();
  writer.flow_start("ac2g", 5, 7, 2'001);
  writer.flow_end("ac2g", 5, 8, 2'500, 0);
  writer.flow_start("fwdbwd", 6, 7, 2'001);
  writer.flow_end("fwdbwd", 6, 9, 2'600);
  writer.process("train", 1'000);
  writer.thread(7, "main", 1'001);
  writer.span("Redline (0)", 1'000, 9'000);
  writer.complete(9'000, {{"c", "{}"}});
  ASSERT_TRUE(writer.save(path("plain.json")));
  const std::vector<std::string> lines = {
      R"({"ph": "X", "cat": "cpu_op", "name": "op", "pid": 42, "tid": 7, "ts": 1.001, "dur": 1.500, "args": {"x": 1}})",
      R"({"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 8, "ts": 1.500, "dur": 0.000, "args": {}})",
      R"({"ph": "i", "s": "t", "cat": "marks", "name": "here", "pid": 42, "tid": 7, "ts": 3.000, "args": {}})",
      R"({"ph": "s", "id": 5, "pid": 42, "tid": 7, "ts": 1.001, "cat": "ac2g", "name": "ac2g"})",
      R"({"ph": "f", "id": 5, "pid": 0, "tid": 8, "ts": 1.500, "cat": "ac2g", "name": "ac2g", "bp": "e"})",
      R"({"ph": "s", "id": 6, "pid": 42, "tid": 7, "ts": 1.001, "cat": "fwdbwd", "name": "fwdbwd"})",
      R"({"ph": "f", "id": 6, "pid": 42, "tid": 9, "ts": 1.600, "cat": "fwdbwd", "name": "fwdbwd", "bp": "e"})",
      metadata("process_name", 0, "0.000", R"("name": "train")"),
      metadata("process_labels", 0, "0.000", R"("labels": "CPU")"),
      metadata("process_sort_index", 0, "0.000", R"("sort_index": 42)"),
      metadata("thread_name", 7, "0.001", R"x("name": "thread 7 (main)")x"),
      metadata("thread_sort_index", 7, "0.001", R"("sort_index": 7)"),
      R"x({"ph": "X", "cat": "Trace", "pid": "Spans", "tid": "Redline", "name": "Redline (0)", )x"
      R"("ts": 0.000, "dur": 8.000, "args": {}})",
      R"({"ph": "i", "cat": "Trace", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 8.000})"};
  std::string expected =
      "{\n\"schemaVersion\": 1,\n\"a\": 1,\n\"b\": [],\n\"displayTimeUnit\": \"ms\",\n"
      "\"baseTimeNanoseconds\": 1000,\n\"traceEvents\": [";
  for (const std::string& line : lines) expected += (&line == lines.data() ? "\n" : ",\n") + line;
  EXPECT_EQ(read_file(path("plain.json")), expected + "\n],\n\"c\": {},\n\"traceName\": " +
                                               json_string(path("plain.json")) + "\n}\n");
}

// Each event of a slice has the same length here, so the limit may be placed at its end exactly.
TEST_F(WriterTest, TheLimitCountsTheTextBeforeCompression) {
  const auto kept = [&](uint64_t max_bytes) {
    TraceWriter writer(path("spool.partial"),
                       {.base_ns = 0, .pid = 42, .entries = {}, .max_bytes = max_bytes});
    for (int i = 0; i < 4; ++i) slice(writer, "op", 0, 1);
    if (max_bytes % 2 == 0) writer.flush();
    for (int i = 0; i < 4; ++i) slice(writer, "op", 0, 1);
    writer.complete(1, {});
    const json trace = saved_plain(writer);
    EXPECT_EQ(trace.contains("redline_size_limit"),
              max_bytes > 0 && trace["traceEvents"].size() < 9);
    size_t slices = 0;
    for (const json& event : trace["traceEvents"]) slices += event["ph"] == "X" ? 1 : 0;
    EXPECT_EQ(writer.dropped_events(), 8 - slices);
    return slices;
  };
  constexpr std::string_view kHead =
      "{\n\"schemaVersion\": 1,\n\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": "
      "0,\n\"traceEvents\": [";
  constexpr std::string_view kEvent =
      R"(,{"ph": "X", "cat": "cpu_op", "name": "op", "pid": 42, "tid": 7, "ts": 0.000, "dur": 0.001, )"
      R"("args": {"Ev Idx": 0}})";
  for (const size_t events : {1UL, 2UL, 3UL, 4UL, 5UL, 6UL}) {
    const uint64_t whole = kHead.size() + events * (kEvent.size() + 1) - 1;
    EXPECT_EQ(kept(whole), events);
    EXPECT_EQ(kept(whole - 1), events - 1);
  }
  EXPECT_EQ(kept(1'000'000), 8U);
  EXPECT_EQ(kept(0), 8U);
  EXPECT_EQ(kept(1), 0U);
}

TEST(QuarterBase, IsRoundedDownToQuartersOfAYear) {
  constexpr int64_t kQuarter = 7'889'238'000'000'000;
  const std::pair<int64_t, int64_t> rows[] = {{0, 0},
                                              {kQuarter - 1, 0},
                                              {kQuarter, kQuarter},
                                              {5 * kQuarter + 7, 5 * kQuarter},
                                              {kNow, 227 * kQuarter}};
  for (const auto& [time, base] : rows) EXPECT_EQ(quarter_base_ns(time), base) << time;
}

TEST_F(WriterTest, GivesOurReaderTheSameNanoseconds) {
  auto writer =
      this->writer({{"distributedInfo", R"({"backend": "gloo", "rank": 1, "world_size": 2})"}});
  slice(writer, "outer", kNow, kNow + 9'999);
  slice(writer, "inner \"quoted\"", kNow + 1, kNow + 9'001);
  writer.flow_start("fwdbwd", 1, 7, kNow);
  writer.flow_end("fwdbwd", 1, 7, kNow + 1);
  writer.process("train", kNow);
  writer.thread(7, "main", kNow);
  writer.span("Redline (0)", kNow, kNow + 10'000);
  writer.complete(kNow + 10'000, {});
  ASSERT_TRUE(writer.save(path("trace.json.gz")));

  const auto trace = read_trace(path("trace.json.gz"));
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_TRUE((*trace)->issues().empty());
  EXPECT_EQ((*trace)->metadata().rank, 1);
  EXPECT_EQ((*trace)->flows().size(), 1u);
  const Slices& slices = (*trace)->slices();
  const StringId inner = (*trace)->find_string("inner \"quoted\"");
  ASSERT_TRUE(inner);
  for (size_t i = 0; i < (*trace)->slice_count(); ++i) {
    if (slices.name[i] != inner) continue;
    EXPECT_EQ(slices.begin_ns[i], kNow + 1);
    EXPECT_EQ(slices.end_ns[i], kNow + 9'001);
  }
}

TEST_F(WriterTest, StaysValidForHostileNames) {
  std::vector<std::string> names = {
      "", "\"", "\\", "\\\"", "\n", "</script>", std::string(65536, 'x')};
  for (int byte = 0; byte < 256; ++byte) {
    names.push_back(std::string("a") + static_cast<char>(byte) + "z");
    names.push_back(std::string("\xe2\x82") + static_cast<char>(byte));
  }
  auto writer = this->writer();
  for (const auto& name : names) slice(writer, name);
  writer.thread(7, "bad \xff \"name\"", kNow);
  writer.complete(kNow, {});
  const json trace = saved_plain(writer);
  ASSERT_EQ(trace["traceEvents"].size(), names.size() + 3);
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(trace["traceEvents"][i]["name"], json::parse(json_string(names[i])));
  }
}

TEST_F(WriterTest, TakesTimesThatMakeNoSense) {
  auto writer = this->writer();
  slice(writer, "ends before it begins", kNow, kNow - 5);
  slice(writer, "before the base", 0, INT64_MAX);
  slice(writer, "extreme", INT64_MAX, INT64_MAX);
  writer.complete(kNow, {});
  EXPECT_EQ(saved_plain(writer)["traceEvents"][0]["dur"], 0.0);
}

TEST_F(WriterTest, LeavesAFlushedFileReadableWithoutItsEnd) {
  auto writer = this->writer();
  for (int i = 0; i < 1000; ++i) slice(writer, "event");
  writer.flush();
  fs::copy(path("spool.partial"), path("killed.json.gz"));  // as after kill -9
  const auto trace = read_trace(path("killed.json.gz"));
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ((*trace)->slice_count(), 1000u);
  EXPECT_FALSE((*trace)->issues().empty());
}

TEST_F(WriterTest, SavesUnderManyNamesAndLeavesNoPartialFile) {
  {
    auto writer = this->writer();
    slice(writer, "event");
    writer.complete(kNow, {});
    for (const char* name : {"a.json.gz", "b.json.gz", "c.json", "a.json.gz"}) {
      ASSERT_TRUE(writer.save(path(name)));
    }
    EXPECT_FALSE(writer.save(path("no/folder.json")));
  }
  std::vector<std::string> names;
  for (const auto& file : fs::directory_iterator(folder_.path()))
    names.push_back(file.path().filename());
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("a.json.gz", "b.json.gz", "c.json"));
  for (const char* name : {"a.json.gz", "b.json.gz"}) {
    gzFile file = gzopen(path(name).c_str(), "rb");
    std::string text(4096, '\0');
    text.resize(static_cast<size_t>(gzread(file, text.data(), 4096)));
    EXPECT_EQ(gzclose(file), Z_OK);
    EXPECT_EQ(json::parse(text)["traceName"], path(name));
  }
}

// Root must not rename a file over /dev/null.
TEST_F(WriterTest, TakesThePlaceOfFilesOnly) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo(path("pipe.gz").c_str(), 0600), 0);
  for (const char* name : {"pipe", "pipe.gz"}) {
    auto file = writer();
    file.complete({});
    const auto saved = file.save(path(name));
    ASSERT_FALSE(saved);
    EXPECT_EQ(saved.error(), path(name) + ": is not a file");
    EXPECT_TRUE(fs::is_fifo(path(name)));
  }
}

TEST_F(WriterTest, RemovesWhatWasNeverSaved) {
  {
    auto writer = this->writer();
    slice(writer, "event");
    writer.flush();
    EXPECT_TRUE(fs::exists(path("spool.partial")));
  }
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(WriterTest, KeepsTheFirstErrorOfAFullDisk) {
  TraceWriter writer("/dev/full", {quarter_base_ns(kNow), 42, {}});
  EXPECT_THAT(writer.error(), ::testing::HasSubstr("/dev/full: No space left on device"));
  for (int i = 0; i < 10'000; ++i) slice(writer, "event");
  writer.complete(kNow, {});
  EXPECT_FALSE(writer.save(path("trace.json")));
  EXPECT_FALSE(fs::exists(path("trace.json")));
}

TEST_F(WriterTest, StopsAtTheSizeLimitAndSaysWhatItDropped) {
  TraceWriter writer(
      path("spool.partial"),
      {.base_ns = quarter_base_ns(kNow), .pid = 42, .entries = {}, .max_bytes = 20'000});
  constexpr int kEvents = 1'000;
  for (int i = 0; i < kEvents; ++i) slice(writer, "op" + std::to_string(i), kNow + i);
  writer.flow_start("fwdbwd", 1, 7, kNow);
  writer.flow_end("fwdbwd", 1, 7, kNow + 1);
  writer.thread(7, "main", kNow);
  writer.complete(kNow + kEvents, {{"mine", "1"}});
  const json trace = saved_plain(writer);
  EXPECT_LT(fs::file_size(path("plain.json")), 20'000 + 1'500);
  std::vector<std::string> slices, others;
  for (const json& event : trace["traceEvents"]) {
    (event["ph"] == "X" ? slices : others).push_back(event["name"]);
  }
  ASSERT_GT(slices.size(), 50U);
  // What is there is a prefix without gaps.
  EXPECT_EQ(slices.back(), "op" + std::to_string(slices.size() - 1));
  EXPECT_THAT(others, ::testing::ElementsAre("thread_name", "thread_sort_index",
                                             "Size limit reached", "Record Window End"));
  EXPECT_EQ(writer.dropped_events(), kEvents - slices.size() + 2);
  EXPECT_EQ(trace["redline_size_limit"]["dropped_events"], writer.dropped_events());
  EXPECT_EQ(trace["redline_size_limit"]["max_bytes"], 20'000);
  EXPECT_EQ(trace["mine"], 1);
}

TEST_F(WriterTest, ASpoolThatSomebodyCutGivesAnErrorAndNoFile) {
  TraceWriter writer(path("spool.partial"),
                     {.base_ns = quarter_base_ns(kNow), .pid = 42, .entries = {}});
  for (int i = 0; i < 50'000; ++i) slice(writer, "op " + std::to_string(i * 7919 % 10'007));
  writer.complete(kNow, {});
  fs::resize_file(path("spool.partial"), fs::file_size(path("spool.partial")) / 2);
  const auto saved = writer.save(path("plain.json"));
  ASSERT_FALSE(saved);
  EXPECT_THAT(saved.error(), ::testing::HasSubstr("spool.partial back: it was changed or damaged"));
  EXPECT_FALSE(fs::exists(path("plain.json")));
  EXPECT_FALSE(fs::exists(partial_path(path("plain.json"))));
}

// Wherever the limit falls, the file is valid and no arrow lacks its end.
TEST_F(WriterTest, TheLimitMayFallAnywhere) {
  int cut_between = 0;
  for (uint64_t limit = 1; limit < 3'000; limit += 37) {
    TraceWriter writer(
        path("spool.partial"),
        {.base_ns = quarter_base_ns(kNow), .pid = 42, .entries = {}, .max_bytes = limit});
    for (uint64_t i = 0; i < 5; ++i) {
      slice(writer, "op");
      writer.flow_start("fwdbwd", i, 7, kNow);
      writer.flow_end("fwdbwd", i, 7, kNow + 1);
    }
    writer.complete(kNow, {});
    int starts = 0, ends = 0;
    const json trace = saved_plain(writer);
    for (const json& event : trace["traceEvents"]) {
      starts += event["ph"] == "s" ? 1 : 0;
      ends += event["ph"] == "f" ? 1 : 0;
    }
    EXPECT_EQ(starts, ends) << limit;
    if (starts > 0 && starts < 5) ++cut_between;
  }
  EXPECT_GT(cut_between, 5);
}

// Tries every byte alone and inside a name. The result must be strict JSON, and an ASCII byte must
// stay, any other become U+FFFD.
TEST_F(WriterTest, AnyByteInAnyName) {
  TraceWriter writer = this->writer();
  std::vector<std::string> expected;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string raw(1, static_cast<char>(byte));
    const std::string meant = byte < 0x80 ? raw : "\xEF\xBF\xBD";
    slice(writer, raw);
    slice(writer, "a" + raw + "\"z\\");
    expected.push_back(meant);
    expected.push_back("a" + meant + "\"z\\");
  }
  for (const char* text : {"\xED\xA0\xBD", "\xED\xB8\x80"}) {  // halves of a surrogate pair
    slice(writer, text);
    expected.emplace_back("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  }
  slice(writer, "\xF0\x9F\x98\x80");  // the whole character
  expected.emplace_back("\xF0\x9F\x98\x80");
  writer.thread(7, std::string("\0\x01\xff", 3), kNow);
  writer.complete(kNow, {});
  std::vector<std::string> strict, ours;
  const json written = saved_plain(writer);
  for (const json& event : written["traceEvents"]) {
    if (event["ph"] == "X") strict.push_back(event["name"]);
  }
  EXPECT_EQ(strict, expected);
  const auto trace = read_trace(path("plain.json"));
  ASSERT_TRUE(trace);
  std::multiset<std::string> names;
  for (uint32_t i = 0; i < (*trace)->slice_count(); ++i) {
    names.emplace((*trace)->string((*trace)->slices().name[i]));
  }
  EXPECT_EQ(names, std::multiset<std::string>(expected.begin(), expected.end()));
  EXPECT_TRUE((*trace)->issues().empty());
}

}  // namespace
}  // namespace redline::trace
