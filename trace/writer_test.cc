// What the writer writes, two independent readers accept: nlohmann/json strictly, and our own.
#include "trace/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "trace/reader.h"

namespace redline::trace {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int64_t kNow = 1'795'239'608'123'456'789;

class WriterTest : public testing::Test {
 protected:
  WriterTest() : folder_(fs::path(testing::TempDir()) / ("writer_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~WriterTest() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }
  [[nodiscard]] TraceWriter writer(std::vector<Entry> entries = {}) const {
    return {path("spool.partial"), {quarter_base_ns(kNow), 42, std::move(entries)}};
  }
  static void slice(TraceWriter& writer, std::string_view name, int64_t begin_ns = kNow,
                    int64_t end_ns = kNow + 1500) {
    const std::string quoted = json_string(name);
    writer.begin_slice({"cpu_op", quoted, 7, begin_ns, end_ns}).literal("\"Ev Idx\": 0");
    writer.end_slice();
  }
  [[nodiscard]] json saved_plain(TraceWriter& writer) const {
    const auto saved = writer.save(path("plain.json"));
    EXPECT_TRUE(saved) << saved.error();
    std::ifstream file(path("plain.json"));
    return json::parse(file);
  }

  fs::path folder_;
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
  EXPECT_THAT(keys, testing::ElementsAre("schemaVersion", "deviceProperties", "distributedInfo",
                                         "displayTimeUnit", "baseTimeNanoseconds", "traceEvents",
                                         "redline", "traceName"));
  const auto& event = trace["traceEvents"][0];
  EXPECT_EQ(event.dump(), R"({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":42,"tid":7,"ts":)" +
                              event["ts"].dump() + R"(,"dur":1.5,"args":{"Ev Idx":0}})");
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
  for (const auto& file : fs::directory_iterator(folder_)) names.push_back(file.path().filename());
  EXPECT_THAT(names, testing::UnorderedElementsAre("a.json.gz", "b.json.gz", "c.json"));
  for (const char* name : {"a.json.gz", "b.json.gz"}) {
    gzFile file = gzopen(path(name).c_str(), "rb");
    std::string text(4096, '\0');
    text.resize(static_cast<size_t>(gzread(file, text.data(), 4096)));
    EXPECT_EQ(gzclose(file), Z_OK);
    EXPECT_EQ(json::parse(text)["traceName"], path(name));
  }
}

TEST_F(WriterTest, RemovesWhatWasNeverSaved) {
  {
    auto writer = this->writer();
    slice(writer, "event");
    writer.flush();
    EXPECT_TRUE(fs::exists(path("spool.partial")));
  }
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(WriterTest, KeepsTheFirstErrorOfAFullDisk) {
  TraceWriter writer("/dev/full", {quarter_base_ns(kNow), 42, {}});
  EXPECT_THAT(writer.error(), testing::HasSubstr("/dev/full: No space left on device"));
  for (int i = 0; i < 10'000; ++i) slice(writer, "event");
  writer.complete(kNow, {});
  EXPECT_FALSE(writer.save(path("trace.json")));
  EXPECT_FALSE(fs::exists(path("trace.json")));
}

}  // namespace
}  // namespace redline::trace
