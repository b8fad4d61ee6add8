// Files of the cache whose checksums are right though they are not what the cache wrote, and the
// folder that they are in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "tests/temporary_folder.h"
#include "tests/variables.h"
#include "trace/read/cache.h"

namespace redline::trace {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

// Every table has rows, and the last of each is named by another one.
constexpr std::string_view kText = R"({"distributedInfo": {"rank": 1}, "traceEvents": [
  {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "z"}},
  {"ph": "Q", "ts": 1},
  {"ph": "C", "name": "c", "pid": "zz", "ts": 1, "args": {"v": 1.5}},
  {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 5, "dur": 1,
   "args": {"device": 0, "stream": 7, "correlation": 3}},
  {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 9},
  {"ph": "X", "cat": "cuda_runtime", "name": "b", "pid": 1, "tid": 1, "ts": 2, "dur": 1,
   "args": {"correlation": 3}},
  {"ph": "s", "cat": "x", "name": "x", "id": 1, "pid": 1, "tid": 1, "ts": 1},
  {"ph": "f", "cat": "x", "name": "x", "id": 1, "pid": 1, "tid": 1, "ts": 2},
  {"ph": "s", "cat": "x", "name": "x", "id": 2, "pid": 1, "tid": 1, "ts": 2},
  {"ph": "f", "cat": "x", "name": "x", "id": 2, "pid": 0, "tid": 7, "ts": 5},
  {"ph": "X", "cat": "other", "name": "last", "pid": 1, "tid": 1, "ts": 12, "dur": 1},
  {"ph": "i", "name": "last", "ts": 1, "pid": 1, "tid": 1}]})";

class CacheEntry : public ::testing::Test {
 protected:
  CacheEntry() {
    options_.cache.folder = folder_ / "kept";
    options_.cache.smallest_text_bytes = 0;
  }

  void put(const std::string& name, size_t bytes, int minutes_old = 0) const {
    std::ofstream(folder_ / name, std::ios::binary) << std::string(bytes, 'x');
    fs::last_write_time(folder_ / name,
                        fs::file_time_type::clock::now() - std::chrono::minutes(minutes_old));
  }
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      names.push_back(entry.path().filename());
    }
    std::ranges::sort(names);
    return names;
  }

  const testing::TemporaryFolder place_;
  const fs::path folder_ = place_.path();
  ReadOptions options_;
};

// Where the fields of a file's first page are.
constexpr size_t kHeader = 88, kColumnsBytesAt = 56, kTablesBytesAt = 64, kColumnsBegin = 4096;

uint64_t number_at(const std::string& file, size_t at) {
  uint64_t number = 0;
  std::memcpy(&number, file.data() + at, sizeof number);
  return number;
}

void put_sum(std::string& file, size_t at, size_t from, size_t bytes) {
  const auto* const begin = reinterpret_cast<const Bytef*>(file.data() + from);
  const auto sum = static_cast<uint32_t>(::crc32(0, begin, static_cast<uInt>(bytes)));
  std::memcpy(file.data() + at, &sum, sizeof sum);
}

void correct_sums(std::string& file, size_t columns) {
  put_sum(file, 80, kColumnsBegin, columns);
  put_sum(file, 84, kColumnsBegin + columns, file.size() - kColumnsBegin - columns);
  put_sum(file, kHeader, 0, kHeader);
}

/// The first thing that the trace names and does not have; "" if there is none.
std::string missing_in(const Trace& trace) {
  const auto is_text = [&](StringId id) { return !id || id.value < trace.string_count(); };
  for (const Track& track : trace.tracks()) {
    if (!is_text(track.pid) || !is_text(track.tid)) return "text of a track";
    if (!is_text(track.process_name) || !is_text(track.process_label)) return "name of a process";
    if (!is_text(track.thread_name)) return "name of a thread";
    if (track.kind > TrackKind::kOther) return "kind of a track";
    if (track.lane_count == 0) continue;
    if (uint64_t{track.first_lane.value} + track.lane_count > trace.lanes().size()) return "lane";
  }
  for (const Lane& lane : trace.lanes()) {
    if (lane.track.value >= trace.tracks().size()) return "track of a lane";
    if (lane.count == 0) continue;
    if (uint64_t{lane.first.value} + lane.count > trace.slice_count()) return "slice of a lane";
  }
  for (const Flow& flow : trace.flows()) {
    if (flow.from.value >= trace.slice_count()) return "from";
    if (flow.to.value >= trace.slice_count()) return "to";
    if (flow.kind > FlowKind::kOther) return "kind of a flow";
  }
  for (const Instant& instant : trace.instants()) {
    if (!is_text(instant.name)) return "name of an instant";
    if (!is_text(instant.pid) || !is_text(instant.tid)) return "thread of an instant";
    if (instant.track && instant.track.value >= trace.tracks().size()) return "track of an instant";
  }
  for (const Counter& counter : trace.counters()) {
    if (!is_text(counter.pid) || !is_text(counter.name)) return "text of a counter";
    if (counter.time_ns.size() != counter.value.size()) return "value of a counter";
  }
  for (size_t i = 0; i < trace.slice_count(); ++i) {
    if (!is_text(trace.slices().name[i])) return "name of a slice";
    if (trace.slices().lane[i].value >= trace.lanes().size()) return "lane of a slice";
    if (trace.slices().category[i] > Category::kOther) return "category of a slice";
  }
  return "";
}

TEST_F(CacheEntry, ThatNamesWhatIsNotThereIsRefused) {
  const std::string path = folder_ / "trace.json";
  std::ofstream(path) << kText;
  ASSERT_TRUE(read_trace(path, options_));
  const TraceCache cache(path, Text::open(path, {}).value(), options_.cache);
  const std::string whole = read_file(cache.entry());
  const size_t columns = number_at(whole, kColumnsBytesAt);
  const size_t end = kColumnsBegin + columns + number_at(whole, kTablesBytesAt);
  ASSERT_TRUE(cache.load());
  EXPECT_EQ(cache.load()->flows().size(), 3U);
  size_t refused = 0, taken = 0;
  const auto check = [&](size_t at, int by) {
    std::string other = whole;
    other[at] = static_cast<char>(other[at] + by);
    correct_sums(other, columns);
    std::ofstream(cache.entry(), std::ios::binary) << other;
    const auto trace = cache.load();
    const bool is_header = at < 48;  // its version, and which file it is of
    ASSERT_FALSE(trace && is_header) << at;
    ASSERT_EQ(trace ? missing_in(*trace) : "", "") << at << " by " << by;
    ++(trace ? taken : refused);
  };
  for (size_t at = 0; at < end; at = at == 79 ? kColumnsBegin : at + 1) {
    for (const int by : {1, -1, 0x80}) check(at, by);
  }
  EXPECT_GT(refused, 1000U);
  EXPECT_GT(taken, 1000U) << "times, offsets and letters may be any";
}

TEST_F(CacheEntry, MakesRoomByWhatWasNotUsedLongest) {
  put("a.trace", 100, 30);
  put("b.trace", 100, 40);
  put("c.trace", 100, 20);
  put("other.json", 1000, 500);
  EXPECT_TRUE(make_cache_room(folder_, 100, 400));
  EXPECT_EQ(files().size(), 4U);
  EXPECT_TRUE(make_cache_room(folder_, 101, 400));
  EXPECT_THAT(files(), ElementsAre("a.trace", "c.trace", "other.json"));
  EXPECT_FALSE(make_cache_room(folder_, 401, 400));
  EXPECT_THAT(files(), ElementsAre("a.trace", "c.trace", "other.json"));
  EXPECT_TRUE(make_cache_room(folder_, 400, 400));
  EXPECT_THAT(files(), ElementsAre("other.json"));
}

TEST_F(CacheEntry, WhatIsHalfWrittenStaysForAnHourAndCounts) {
  put("a.trace.partial-new", 100, 55);
  put("a.trace.partial-old", 100, 65);
  put("b.trace", 100, 500);
  EXPECT_TRUE(make_cache_room(folder_, 100, 300));
  EXPECT_THAT(files(), ElementsAre("a.trace.partial-new", "b.trace"));
  EXPECT_FALSE(make_cache_room(folder_, 250, 300)) << "somebody writes the other file just now";
  EXPECT_THAT(files(), ElementsAre("a.trace.partial-new"));
}

TEST_F(CacheEntry, TakesATenthOfTheFreeDiskAtMost) {
  const uint64_t free = fs::space(folder_).available;
  EXPECT_TRUE(make_cache_room(folder_, free * 2 / 21, UINT64_MAX));
  EXPECT_FALSE(make_cache_room(folder_, free * 2 / 19, UINT64_MAX));
  EXPECT_FALSE(make_cache_room("/proc/no folder", 1, UINT64_MAX));
}

TEST_F(CacheEntry, OnlyTheOwnerMayOpenTheFolder) {
  EXPECT_TRUE(make_cache_room(folder_ / "new", 1, 100));
  EXPECT_EQ(fs::status(folder_ / "new").permissions(), fs::perms::owner_all);
  fs::permissions(folder_, fs::perms::all);
  EXPECT_TRUE(make_cache_room(folder_, 1, 100));
  EXPECT_EQ(fs::status(folder_).permissions(), fs::perms::all) << "it was there before";
}

TEST_F(CacheEntry, IsWrittenWholeOrNotAtAll) {
  const auto two_pieces = [](const ByteSink& write) { return write("one ") && write("two"); };
  EXPECT_TRUE(write_cache_file(folder_ / "a.trace", two_pieces));
  EXPECT_EQ(read_file(folder_ / "a.trace"), "one two");
  fs::create_directories(folder_ / "b.trace/something");
  EXPECT_FALSE(write_cache_file(folder_ / "b.trace", two_pieces));
  EXPECT_FALSE(write_cache_file(folder_ / "nowhere/c.trace", two_pieces));
  const auto half = [](const ByteSink& write) { return write("one ") && false; };
  EXPECT_FALSE(write_cache_file(folder_ / "d.trace", half));
  EXPECT_THAT(files(), ElementsAre("a.trace", "b.trace")) << "no part is left";
}

TEST(CacheFolder, IsWhereTheEnvironmentSays) {
  testing::Variables variables;
  const auto folder = [&](const char* cache, const char* home) {
    variables.set("XDG_CACHE_HOME", cache);
    variables.set("HOME", home);
    return default_cache_folder();
  };
  variables.set("REDLINE_CACHE", std::nullopt);
  EXPECT_EQ(folder("/x", "/home"), "/x/redline");
  EXPECT_EQ(folder("x", "/home"), "/home/.cache/redline");
  EXPECT_EQ(folder("", "/home"), "/home/.cache/redline");
  EXPECT_EQ(folder("", "home"), "");
  EXPECT_EQ(folder("", ""), "");
  variables.set("REDLINE_CACHE", "off");
  EXPECT_EQ(folder("/x", "/home"), "");
}

}  // namespace
}  // namespace redline::trace
