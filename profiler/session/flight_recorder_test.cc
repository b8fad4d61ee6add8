// Tests the flight recorder through the C ABI: what its traces hold and how far back they reach.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <semaphore>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "profiler/source/source.h"
#include "tests/recording.h"

namespace redline {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::annotations_of;
using ::testing::ElementsAre;
using testing::end_recording;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

class FlightRecorderTest : public ::testing::Test {
 protected:
  ~FlightRecorderTest() override { redline_discard(); }

  void begin(double seconds, uint64_t budget = 8 << 20, double slow_step = 0) const {
    testing::begin_recording({{"directory", folder_.path()},
                              {"memory_budget_bytes", budget},
                              {"ring_seconds", seconds},
                              {"slow_step", slow_step},
                              {"host_samples_hz", 0}});
  }
  static json read(const std::string& path) {
    const gzFile file = gzopen(path.c_str(), "rb");
    std::string text, part(1 << 16, '\0');
    for (int size = 0; (size = gzread(file, part.data(), 1 << 16)) > 0;) {
      text.append(part, 0, static_cast<size_t>(size));
    }
    gzclose(file);
    return json::parse(text);
  }
  static void steps(int64_t from, int64_t to) {
    for (int64_t step = from; step < to; ++step) {
      redline_begin_step(step);
      redline_end_step();
    }
  }
  static void record(const char* name) {
    redline_range_push(name);
    redline_range_pop();
  }
  [[nodiscard]] size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_.path()), {}));
  }

  const testing::TemporaryFolder folder_;
};

TEST_F(FlightRecorderTest, ASlowStepBetweenTwoIsOfNeither) {
  begin(60, 8 << 20, 2);
  steps(0, 8);  // only a step after eight others may be called slow
  ASSERT_EQ(redline_discard(), 0);
  redline_begin_step(8);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // makes the step slow
  redline_end_step();
  begin(60, 8 << 20, 2);
  ASSERT_EQ(redline_discard(), 0);
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(FlightRecorderTest, HoldsAllThreadsAndThoseThatAreGone) {
  record("before");
  begin(60);
  record("first");
  std::jthread([] { record("second, on a thread that ends"); }).join();
  record("third");
  const json trace = end_recording();
  EXPECT_THAT(annotations_of(trace),
              ElementsAre("first", "second, on a thread that ends", "third"));
  EXPECT_EQ(trace["redline"]["threads"], 2);
  EXPECT_EQ(trace["redline"]["events"], 3);
  EXPECT_EQ(trace["redline"]["ring"]["limited_by"], "begin of recording");
  EXPECT_EQ(trace["redline"]["ring"]["asked_ns"], 60'000'000'000);
  EXPECT_EQ(trace["redline"]["clocks"].size(), 2u);
}

TEST_F(FlightRecorderTest, CountsWhatThreadsRecorded) {
  begin(60);
  redline_stats stats = {};
  stats.struct_size = sizeof(stats);
  ASSERT_EQ(redline_get_stats(&stats), 0);
  const uint64_t before = stats.events_recorded;
  record("first");
  std::jthread([] { record("second"); }).join();
  ASSERT_EQ(redline_get_stats(&stats), 0);
  EXPECT_EQ(stats.events_recorded - before, 2);
}

TEST_F(FlightRecorderTest, KeepsTheNewestWithinItsMemoryAndSaysHowFarItReaches) {
  constexpr int64_t kSteps = 600'000, kBatch = 10'000;
  begin(3600, 4 << 20);
  for (int64_t step = 0; step < kSteps; step += kBatch) {
    steps(step, step + kBatch);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // no job records faster for long
  }
  const json trace = end_recording();
  const auto kept = annotations_of(trace);
  ASSERT_GT(kept.size(), 10'000u);
  ASSERT_LT(kept.size(), 100'000u);  // 3 MiB hold fewer records of 48 bytes
  const uint64_t dropped = trace["redline"]["dropped"];
  if (dropped == 0) {
    for (size_t i = 0; i < kept.size(); ++i) {
      ASSERT_EQ(kept[i],
                "ProfilerStep#" + std::to_string(kSteps - static_cast<int64_t>(kept.size() - i)));
    }
  }
  EXPECT_EQ(trace["redline"]["ring"]["limited_by"], "memory_budget_bytes");
  // The trace holds no event from before the time since which it claims to be complete.
  const double reach_us = trace["redline"]["ring"]["kept_ns"].get<double>() / 1000;
  const auto& events = trace["traceEvents"];
  const double first_end_us =
      events.front()["ts"].get<double>() + events.front()["dur"].get<double>();
  EXPECT_LE(events.back()["ts"].get<double>() - first_end_us, reach_us + 1);
}

TEST_F(FlightRecorderTest, ForgetsWhatIsOlderThanItsLength) {
  constexpr int64_t kLengthNs = 2'000'000;
  begin(kLengthNs / 1e9);
  record("old");
  for (const int64_t old_ns = monotonic_ns(); monotonic_ns() <= old_ns + kLengthNs;) {
  }
  std::jthread([] {  // when this thread ends, the ring takes its log
    profiler::submit(
        {.begin_ns = monotonic_ns(),
         .of = profiler::OperatorFields{.end_ns = INT64_MAX / 2},  // so the record is never too old
         .name = profiler::intern_name("new"),
         .kind = profiler::RecordKind::kAnnotation});
  })
      .join();
  const json trace = end_recording();
  EXPECT_THAT(annotations_of(trace), ElementsAre("new"));
  EXPECT_EQ(trace["redline"]["ring"]["limited_by"], "ring_seconds");
  EXPECT_EQ(trace["redline"]["ring"]["kept_ns"], kLengthNs);
}

TEST_F(FlightRecorderTest, WritesAsOftenAsAskedAndGoesOn) {
  begin(60);
  char path[512] = "";
  for (int i = 0; i < 3; ++i) {
    record("more");
    ASSERT_EQ(redline_write_ring("somebody asked", path, sizeof(path)), 0) << redline_last_error();
    const json trace = read(path);
    EXPECT_EQ(annotations_of(trace).size(), static_cast<size_t>(i + 1));
    EXPECT_EQ(trace["redline"]["reason"], "somebody asked");
  }
  EXPECT_EQ(files(), 3u);
  const json trace = end_recording();
  EXPECT_EQ(annotations_of(trace).size(), 3u);
  EXPECT_FALSE(trace["redline"].contains("reason"));
  EXPECT_EQ(redline_write_ring("late", nullptr, 0), -1);
}

TEST_F(FlightRecorderTest, WritesASlowStep) {
  begin(60, 8 << 20, 3);
  using std::chrono::steady_clock;
  steady_clock::duration longest{};  // on a busy machine much longer than the step's work
  for (int i = 0; i < 20; ++i) {
    redline_begin_step(i);
    record("work");
    const auto begun = steady_clock::now();
    const std::chrono::milliseconds work(2);
    while (steady_clock::now() - begun < (i == 15 ? 4 * longest + work : work)) {
    }
    redline_end_step();
    longest = std::max(longest, steady_clock::now() - begun);
  }
  std::string path;
  while (path.empty()) {  // the control thread writes it
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      if (entry.path().extension() == ".gz") path = entry.path();
    }
  }
  EXPECT_THAT(std::string(read(path)["redline"]["reason"]), StartsWith("step "));
}

TEST_F(FlightRecorderTest, KeepsTheLastTenSlowSteps) {
  begin(0.001, 8 << 20, 100);
  // On a busy machine a step may hang, too. Traces of hangs are kept beside these.
  const auto add_slow = [&](std::set<std::string>& paths) {
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      const std::string path = entry.path();
      if (!path.ends_with(".gz") || paths.contains(path)) continue;
      const std::string reason = read(path)["redline"]["reason"];
      if (reason.find(" took ") != std::string::npos) paths.insert(path);
    }
  };
  std::set<std::string> seen, kept;
  for (int64_t step = 0; seen.size() < 11; step += 100) {
    steps(step, step + 99);
    redline_begin_step(step + 99);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // makes the step slow
    redline_end_step();
    add_slow(seen);
  }
  ASSERT_EQ(redline_discard(), 0);
  add_slow(kept);
  EXPECT_EQ(kept.size(), 10u);
  EXPECT_FALSE(kept.contains(*seen.begin()));  // the oldest, as its name says
}

TEST_F(FlightRecorderTest, SaysWhyASlowStepIsNotWritten) {
  begin(60, 8 << 20, 2);
  fs::remove_all(folder_.path());
  std::ofstream(folder_.path()) << "a file";
  ::testing::internal::CaptureStderr();
  steps(0, 8);
  redline_begin_step(8);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // makes the step slow
  redline_end_step();
  ASSERT_EQ(redline_discard(), 0);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "redline: trace not written: cannot create " + folder_.path() + ": Not a directory\n");
}

TEST_F(FlightRecorderTest, MakesItsFolderAgainAndSaysWhyItCannot) {
  begin(60);
  fs::remove_all(folder_.path());
  char path[4096] = "";
  EXPECT_EQ(redline_write_ring("a look", path, sizeof(path)), 0) << redline_last_error();
  EXPECT_TRUE(fs::exists(path));
  fs::remove_all(folder_.path());
  std::ofstream(folder_.path()) << "a file";
  EXPECT_EQ(redline_write_ring("a look", nullptr, 0), -1);
  EXPECT_EQ(std::string(redline_last_error()),
            "cannot create " + folder_.path() + ": Not a directory");
}

TEST_F(FlightRecorderTest, HoldsWhatIsOpenOnEveryThread) {
  begin(60);
  redline_begin_step(3);
  redline_range_push("main waits");
  std::binary_semaphore is_open(0), may_end(0);
  std::jthread other([&] {
    record("ended");
    redline_range_push("other waits");
    is_open.release();
    may_end.acquire();
    redline_range_pop();
  });
  is_open.acquire();
  char path[512] = "";
  ASSERT_EQ(redline_write_ring("a look", path, sizeof(path)), 0) << redline_last_error();
  may_end.release();
  other.join();
  redline_range_pop();
  redline_end_step();
  const json during = read(path), after = end_recording();
  EXPECT_THAT(annotations_of(during), UnorderedElementsAre("ended", "unfinished ProfilerStep#3",
                                                           "main waits", "other waits"));
  EXPECT_EQ(during["redline"]["unfinished"], 3);
  EXPECT_THAT(annotations_of(after),
              UnorderedElementsAre("ended", "ProfilerStep#3", "main waits", "other waits"));
  EXPECT_EQ(after["redline"]["unfinished"], 0);
}

TEST_F(FlightRecorderTest, RecordsWhileItIsWritten) {
  constexpr int kThreads = 3, kEach = 20'000;
  begin(60, 64 << 20);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([] {
        for (int n = 0; n < kEach; ++n) record("burst");
      });
    }
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(redline_write_ring("meanwhile", nullptr, 0), 0) << redline_last_error();
    }
  }
  const json trace = end_recording();
  EXPECT_EQ(annotations_of(trace).size() + trace["redline"]["dropped"].get<uint64_t>(),
            static_cast<size_t>(kThreads * kEach));
}

TEST_F(FlightRecorderTest, LeavesNothingBehindWhenNobodyWantsIt) {
  begin(60);
  record("unseen");
  EXPECT_EQ(redline_discard(), 0);
  EXPECT_EQ(files(), 0u);
}

}  // namespace
}  // namespace redline
