#include "trace/read/cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/paths.h"
#include "tests/temporary_folder.h"
#include "tests/trace_lines.h"
#include "tests/trace_text.h"
#include "tests/variables.h"
#include "trace/read/reader.h"

namespace redline::trace {
namespace {

namespace fs = std::filesystem;
using namespace redline::testing;

std::string small_text(const std::string& kernel = "gemm") {
  return TraceText()
      .rank(1, 2)
      .cpu_op("outer", 0, 9000)
      .cpu_op("overlaps", 8000, 9500, {.args = R"("Input Dims": [[1, 2], []])"})
      .runtime("cudaLaunchKernel", 100, 200, 42)
      .kernel(kernel, 5000, 6000, on_stream(7, 42))
      .event(R"({"ph": "i", "s": "t", "name": "[memory]", "cat": "cpu_instant_event",
                "pid": 1, "tid": 1, "ts": 3.001, "args": {"Bytes": -512}})")
      .event(R"({"ph": "C", "name": "power", "pid": "GPU 0", "ts": 1, "args": {"watt": 1.5}})")
      .event(R"({"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "python"}})")
      .event(R"({"ph": "X", "name": "without ts"})")
      .str();
}

// What expect_equal() does not compare, because rewritten traces differ in it.
Lines rest_of(const Trace& trace) {
  Lines lines = {std::to_string(trace.event_count()),
                 std::to_string(trace.begin_ns()),
                 std::to_string(trace.end_ns()),
                 trace.path(),
                 trace.metadata().backend,
                 trace.metadata().host,
                 trace.metadata().top_level_json};
  for (uint32_t id = 0; id < trace.string_count(); ++id) lines.emplace_back(trace.string({id}));
  for (const uint64_t offset : trace.slices().text_offset) lines.push_back(std::to_string(offset));
  for (const Lane& lane : trace.lanes()) {
    lines.push_back(std::to_string(lane.track.value) + " " + std::to_string(lane.depth) + " " +
                    std::to_string(lane.first.value) + " " + std::to_string(lane.count));
  }
  for (const LoadIssue& issue : trace.issues()) {
    lines.push_back(std::string(issue.info().name) + " " + std::to_string(issue.count) + " " +
                    std::to_string(issue.first_offset) + (issue.info().lost_data ? " lost" : ""));
  }
  for (const PhaseCount& phase : trace.phase_counts()) {
    lines.push_back(phase.phase + " " + std::to_string(phase.count));
  }
  return lines;
}

void expect_same(const Trace& before, const Trace& after) {
  expect_equal(before, after);
  EXPECT_EQ(redline::testing::first_difference(rest_of(before), rest_of(after)), "");
}

class Cache : public ::testing::Test {
 protected:
  Cache() {
    options_.cache.folder = folder_ / "kept";
    options_.cache.smallest_text_bytes = 0;
  }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  // The trace read without the cache.
  [[nodiscard]] std::shared_ptr<const Trace> fresh(const std::string& path) const {
    ReadOptions options;
    options.cache.enabled = false;
    const auto trace = read_trace(path, options);
    return trace ? *trace : nullptr;
  }
  // Reads the trace once, so that the cache stores it when the trace is freed.
  void keep(const std::string& path) const { ASSERT_TRUE(read_trace(path, options_)); }
  [[nodiscard]] TraceCache cache_of(const std::string& path) const {
    return {path, Text::open(path, {}).value(), options_.cache};
  }
  [[nodiscard]] bool is_kept(const std::string& path) const {
    return cache_of(path).load() != nullptr;
  }

  const testing::TemporaryFolder folder_;
  ReadOptions options_;
};

TEST_F(Cache, DoesNotKeepWhatDidNotFitIntoTheMachine) {
  const std::string text = small_text() + std::string(1 << 20, ' ');
  const std::string path = write("trace.json.gz", gzip(text));
  std::optional<testing::Variables> nowhere;
  nowhere.emplace("TMPDIR", "/proc");  // no temporary file can be made there
  options_.text_block_bytes = size_t{64} << 10;
  options_.text_memory_bytes = size_t{192} << 10;
  keep(path);
  EXPECT_FALSE(is_kept(path));
  nowhere.reset();
  options_.text_memory_bytes = 0;
  keep(path);
  EXPECT_TRUE(is_kept(path));
}

TEST_F(Cache, GivesTheSameTrace) {
  const std::string path = write("trace.json", small_text());
  EXPECT_FALSE(is_kept(path));
  keep(path);
  const auto kept = cache_of(path).load();
  ASSERT_TRUE(kept);
  EXPECT_FALSE(kept->issues().empty());
  EXPECT_TRUE(kept->find_string("gemm"));
  expect_same(*fresh(path), *kept);
}

TEST_F(Cache, GivesTheSameForRealTraces) {
  const fs::path traces = fs::path(redline::testing::shared_dir()) / "traces";
  if (!fs::exists(traces)) GTEST_SKIP() << traces << " is absent";
  for (const char* name : {"ddp_a100_nccl_metadata_rank0", "fsdp_sampled_rank1", "alexnet_a100",
                           "v100_nanoseconds_rank0", "resnet50_v100_workers4"}) {
    SCOPED_TRACE(name);
    const std::string path = traces / (std::string(name) + ".pt.trace.json.gz");
    keep(path);
    const auto kept = cache_of(path).load();
    ASSERT_TRUE(kept);
    expect_same(*fresh(path), *kept);
  }
}

TEST_F(Cache, IsForOneStateOfTheFile) {
  const std::string path = write("trace.json", small_text("gemm"));
  keep(path);
  const auto modified = fs::last_write_time(path);
  write("trace.json", small_text("sgem"));
  fs::last_write_time(path, modified + std::chrono::nanoseconds(1000));
  EXPECT_FALSE(is_kept(path));
  const auto trace = read_trace(path, options_);
  ASSERT_TRUE(trace);
  EXPECT_TRUE((*trace)->find_string("sgem"));

  write("trace.json", small_text("sgemm"));
  fs::last_write_time(path, modified + std::chrono::nanoseconds(1000));
  EXPECT_FALSE(is_kept(path));
}

TEST_F(Cache, KeepsNothingThatChangedWhileItWasRead) {
  const std::string path = write("trace.json", small_text());
  const TraceCache cache = cache_of(path);
  const auto trace = fresh(path);
  fs::last_write_time(path, fs::last_write_time(path) + std::chrono::seconds(1));
  cache.store(*trace);
  EXPECT_FALSE(fs::exists(cache.entry()));
}

TEST_F(Cache, ADamagedFileIsIgnoredAndWrittenAnew) {
  const std::string path = write("trace.json", small_text());
  keep(path);
  const auto expected = fresh(path);
  const std::string entry = cache_of(path).entry();
  std::string whole(fs::file_size(entry), '\0');
  std::ifstream(entry, std::ios::binary).read(whole.data(), static_cast<long>(whole.size()));
  const auto check = [&](const std::string& damaged) {
    std::ofstream(entry, std::ios::binary) << damaged;
    ASSERT_FALSE(is_kept(path));
    keep(path);
    const auto kept = cache_of(path).load();
    ASSERT_TRUE(kept);
    ASSERT_EQ(redline::testing::first_difference(rest_of(*expected), rest_of(*kept)), "");
  };
  const size_t step = 7;
  for (size_t at = 0; at<whole.size(); at += at> 200 && at < 4000 ? 500 : step) {
    SCOPED_TRACE(at);
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
    check(damaged);
    check(whole.substr(0, at));
  }
  check(whole + "more");
}

std::string encoded(const Trace& trace) {
  std::string bytes;
  EXPECT_TRUE(CacheTables::encode(trace, [&](std::string_view piece) {
    bytes += piece;
    return true;
  }));
  return bytes;
}

// Decodes broken tables as if their checksum were right.
TEST_F(Cache, TablesThatNameWhatIsNotThereAreRefused) {
  const std::string path = write("trace.json", R"([{"ph": "i", "name": "a", "ts": 1, "pid": 2},
      {"ph": "C", "name": "c", "pid": 3, "ts": 1, "args": {"v": 1.5}}])");
  const std::string whole = encoded(*fresh(path));
  Trace same;
  ASSERT_TRUE(CacheTables::decode(whole, same));
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const int bits : {0x01, 0x80, 0xFF}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ bits);
      Trace trace;
      if (!CacheTables::decode(damaged, trace)) continue;
      for (const Instant& instant : trace.instants()) {
        EXPECT_TRUE(!instant.track || instant.track.value < trace.tracks().size());
        for (const StringId id : {instant.name, instant.pid, instant.tid}) {
          EXPECT_LE(trace.string(id).size(), whole.size());
        }
      }
      for (const Counter& counter : trace.counters()) {
        EXPECT_EQ(counter.time_ns.size(), counter.value.size());
      }
    }
    Trace trace;
    EXPECT_FALSE(CacheTables::decode(whole.substr(0, at), trace));
  }
  Trace trace;
  Trace without_slices;
  const std::string slices = encoded(*fresh(write("slices.json", small_text())));
  EXPECT_FALSE(CacheTables::decode(slices, without_slices));
}

TEST_F(Cache, WhatWasNotUsedLongestGoesFirst) {
  std::vector<std::string> paths, entries;
  for (const char* name : {"a.json", "b.json", "c.json"}) {
    paths.push_back(write(name, small_text()));
    entries.push_back(cache_of(paths.back()).entry());
  }
  keep(paths[0]);
  options_.cache.largest_total_bytes = fs::file_size(entries[0]) * 5 / 2;
  keep(paths[1]);
  const auto used = fs::last_write_time(entries[0]);
  fs::last_write_time(entries[0], used - std::chrono::hours(2));
  fs::last_write_time(entries[1], used - std::chrono::hours(1));
  EXPECT_TRUE(is_kept(paths[0]));  // this reads the file, which counts as a use
  keep(paths[2]);
  EXPECT_TRUE(fs::exists(entries[0]));
  EXPECT_FALSE(fs::exists(entries[1]));
  EXPECT_TRUE(fs::exists(entries[2]));

  options_.cache.largest_total_bytes = 100;
  fs::remove(entries[2]);
  keep(paths[2]);
  EXPECT_FALSE(fs::exists(entries[2]));
}

TEST_F(Cache, KeepsOnlyLargeTracesAndOnlyWhereWanted) {
  const std::string path = write("trace.json", small_text());
  options_.cache.smallest_text_bytes = small_text().size() + 1;
  keep(path);
  EXPECT_FALSE(is_kept(path));
  options_.cache.smallest_text_bytes = small_text().size();
  options_.cache.enabled = false;
  keep(path);
  EXPECT_FALSE(fs::exists(folder_ / "kept"));
  options_.cache.enabled = true;
  options_.cache.folder = path + "/not a folder";
  keep(path);
  EXPECT_FALSE(is_kept(path));
}

TEST_F(Cache, IsNotForBeginnings) {
  TraceText text;
  for (int64_t i = 0; i < 100; ++i) text.cpu_op("op", i * 100, i * 100 + 50);
  const std::string path = write("trace.json", text.str());
  options_.most_text_bytes = text.str().size() / 2;
  const auto beginning = read_trace(path, options_);
  ASSERT_TRUE(beginning);
  EXPECT_GT((*beginning)->slice_count(), 30U);
  EXPECT_LT((*beginning)->slice_count(), 70U);
  EXPECT_FALSE(is_kept(path));
  EXPECT_FALSE(may_be_cached(path, options_.cache));
  options_.most_text_bytes = UINT64_MAX;
  keep(path);
  EXPECT_TRUE(may_be_cached(path, options_.cache));
  options_.most_text_bytes = text.str().size() / 2;
  EXPECT_LT(read_trace(path, options_).value()->slice_count(), 70U) << "though all is kept";
}

TEST_F(Cache, TheEnvironmentSaysWhere) {
  EXPECT_EQ(default_cache_folder(), "");  // tests run with REDLINE_CACHE=off
  testing::Variables variables("XDG_CACHE_HOME", "/tmp/x");
  variables.set("REDLINE_CACHE", std::nullopt);
  EXPECT_EQ(default_cache_folder(), "/tmp/x/redline");
  variables.set("XDG_CACHE_HOME", "relative");
  EXPECT_THAT(default_cache_folder(), ::testing::EndsWith("/.cache/redline"));
}

TEST_F(Cache, ProcessesMayStoreAtOnce) {
  const std::string path = write("trace.json", small_text());
  const auto trace = fresh(path);
  const TraceCache cache = cache_of(path);
  cache.store(*trace);
  std::vector<pid_t> children;
  for (int i = 0; i < 2; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (int round = 0; round < 200; ++round) cache.store(*trace);
      _exit(cache.load() ? 0 : 1);
    }
    children.push_back(child);
  }
  for (int round = 0; round < 200; ++round) EXPECT_TRUE(cache.load());
  for (const pid_t child : children) {
    int status = 1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder_ / "kept"))
    files += entry.exists() ? 1 : 0;
  EXPECT_EQ(files, 1U);
}

}  // namespace
}  // namespace redline::trace
