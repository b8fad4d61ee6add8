// Tests the recorder through its C ABI: states, misuse, counts and what is in the trace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "profiler/source/source.h"
#include "tests/recording.h"
#include "tests/variables.h"

namespace redline {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::annotations_of;
using ::testing::HasSubstr;

class RecorderTest : public ::testing::Test {
 protected:
  ~RecorderTest() override { redline_discard(); }

  [[nodiscard]] std::string options(uint64_t budget = 8 << 20) const {
    return json{
        {"directory", folder_.path()}, {"memory_budget_bytes", budget}, {"host_samples_hz", 0}}
        .dump();
  }
  void begin() const { testing::begin_recording(json::parse(options())); }
  static void start() { ASSERT_EQ(redline_start(), 0) << redline_last_error(); }
  static void stop() { ASSERT_EQ(redline_stop(), 0) << redline_last_error(); }

  /// The stopped window as JSON.
  [[nodiscard]] json exported() const { return testing::exported_to(folder_); }
  static void record(const char* name) {
    redline_range_push(name);
    redline_range_pop();
  }

  const testing::TemporaryFolder folder_;
};

/// Counts open files. First it asks for the recorder's counts, which waits for the writer thread:
/// otherwise that thread's file might be open or not.
size_t open_files_once_written() {
  redline_stats stats = {};
  stats.struct_size = sizeof(stats);
  EXPECT_EQ(redline_get_stats(&stats), 0);
  const fs::directory_iterator files("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(files), end(files)));
}

TEST_F(RecorderTest, KeepsWhatBeginsBetweenStartAndStop) {
  ASSERT_EQ(redline_prepare(options().c_str()), 0);
  record("warm-up");
  redline_range_push("begun too early");
  start();
  redline_range_pop();
  record("first");
  record("second");
  stop();
  record("late");
  EXPECT_THAT(annotations_of(exported()), ::testing::ElementsAre("first", "second"));
}

TEST_F(RecorderTest, PausesAndGoesOnWithinAWindow) {
  EXPECT_EQ(redline_set_paused(0), 0);
  record("before all");
  begin();
  record("first");
  EXPECT_EQ(redline_set_paused(1), 0);
  EXPECT_EQ(redline_add_metadata_json("redline", R"({"told": "in a pause"})"), 0);
  record("paused");
  EXPECT_EQ(redline_set_paused(0), 0);
  record("second");
  EXPECT_EQ(redline_set_paused(1), 0);
  stop();
  EXPECT_EQ(redline_set_paused(0), 0);
  record("late");
  const json trace = exported();
  EXPECT_THAT(annotations_of(trace), ::testing::ElementsAre("first", "second"));
  EXPECT_EQ(trace["redline"]["told"], "in a pause");
  begin();
  record("a pause ends with its window");
  stop();
  EXPECT_THAT(annotations_of(exported()), ::testing::ElementsAre("a pause ends with its window"));
}

TEST_F(RecorderTest, WritesWhatIsOpenWhenItsWindowEnds) {
  redline_range_push("begun too early");
  begin();
  redline_begin_step(7);
  redline_range_push("outer");
  record("ended");
  redline_range_push("inner");
  stop();
  redline_range_pop();
  redline_range_pop();
  redline_end_step();
  redline_range_pop();
  const json trace = exported();
  EXPECT_THAT(annotations_of(trace),
              ::testing::ElementsAre("ended", "unfinished ProfilerStep#7", "outer", "inner"));
  EXPECT_EQ(trace["redline"]["events"], 4);
  EXPECT_EQ(trace["redline"]["unfinished"], 3);
  EXPECT_FALSE(trace["traceEvents"][0]["args"].contains("finished"));
  const double end_us = trace["traceEvents"].back()["ts"];
  for (size_t i = 1; i < 4; ++i) {
    const json& event = trace["traceEvents"][i];
    EXPECT_EQ(event["args"]["finished"], false) << event;
    EXPECT_NEAR(double(event["ts"]) + double(event["dur"]), end_us, 0.01) << event;
  }
  begin();
  record("after");
  stop();
  EXPECT_THAT(annotations_of(exported()), ::testing::ElementsAre("after"));
}

TEST_F(RecorderTest, WhatEndsInAPauseIsNotOpenAfterwards) {
  begin();
  redline_range_push("ends in a pause");
  EXPECT_EQ(redline_set_paused(1), 0);
  redline_range_pop();
  EXPECT_EQ(redline_set_paused(0), 0);
  stop();
  EXPECT_EQ(exported()["redline"]["unfinished"], 0);
}

/// Threads record while the window ends. Each range must be there once, whether it had ended or
/// not.
TEST_F(RecorderTest, NoRangeIsLostOrDoubledWhereAWindowEnds) {
  constexpr int kThreads = 4, kWindows = 20, kNames = 100, kMost = 2000;
  for (int window = 0; window < kWindows; ++window) {
    begin();
    std::atomic<bool> over = false;
    std::atomic<int> busy = 0;
    std::array<int, kThreads> begun{};
    std::vector<std::jthread> threads;
    for (int& last : begun) {
      threads.emplace_back([&] {
        while (!over && last < kMost) {
          redline_range_push(std::to_string(last % kNames).c_str());
          redline_range_pop();
          if (++last == 100) ++busy;
        }
      });
    }
    while (busy < kThreads) std::this_thread::yield();
    stop();
    over = true;
    threads.clear();
    const json trace = exported();
    std::map<int64_t, std::vector<int>> numbers;
    for (const auto& event : trace["traceEvents"]) {
      if (event["cat"] != "user_annotation") continue;
      numbers[event["tid"]].push_back(std::stoi(std::string(event["name"])));
    }
    ASSERT_EQ(numbers.size(), kThreads);
    ASSERT_EQ(trace["redline"]["dropped"], 0);
    for (const auto& [tid, of_thread] : numbers) {
      std::vector<int> expected(of_thread.size());
      for (size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<int>(i) % kNames;
      ASSERT_EQ(of_thread, expected) << "window " << window;
    }
  }
}

TEST_F(RecorderTest, OnlyItsOwnerMayReadAWindowInTheTemporaryFolderOfAll) {
  const testing::Variables variables("TMPDIR", folder_.path());
  testing::begin_recording({{"host_samples_hz", 0}});
  record("secret name of a model");
  stop();
  ASSERT_EQ(redline_complete(), 0) << redline_last_error();
  int found = 0;
  for (const auto& file : fs::directory_iterator(folder_.path())) {
    if (file.path().extension() != ".partial") continue;
    ++found;
    EXPECT_EQ(static_cast<unsigned>(file.status().permissions()), 0600U);
  }
  EXPECT_EQ(found, 1);
}

TEST_F(RecorderTest, KeepsAllMembersThatAreAddedToItsOwnKey) {
  begin();
  ASSERT_EQ(redline_add_metadata_json("redline", R"({"samples": 64, "of": {"a": [1, "}"]}})"), 0);
  ASSERT_EQ(redline_add_metadata_json("redline", R"({"tokens":1})"), 0);
  ASSERT_EQ(redline_add_metadata_json("redline", R"({"samples":65})"), 0);
  ASSERT_EQ(redline_add_metadata_json("redline", "{}"), 0);
  stop();
  const json trace = exported();
  EXPECT_EQ(trace["redline"]["samples"], 65);
  EXPECT_EQ(trace["redline"]["tokens"], 1);
  EXPECT_EQ(trace["redline"]["of"], json::parse(R"({"a": [1, "}"]})"));
}

TEST_F(RecorderTest, WritesKinetosForm) {
  ASSERT_EQ(redline_add_metadata_json("distributedInfo", R"({"rank": 3, "world_size": 8})"), 0);
  begin();
  redline_range_push("outer");
  record("inner");
  redline_range_pop();
  ASSERT_EQ(redline_add_metadata_json("late", "[1, 2]"), 0);
  stop();
  const json trace = exported();
  EXPECT_EQ(trace["distributedInfo"]["rank"], 3);
  EXPECT_EQ(trace["late"], json({1, 2}));
  EXPECT_EQ(trace["redline"]["events"], 2);
  EXPECT_EQ(trace["redline"]["dropped"], 0);
  EXPECT_THAT(std::string(trace["traceName"]), HasSubstr("trace.json"));
  const json& inner = trace["traceEvents"][0];
  const json& outer = trace["traceEvents"][1];
  EXPECT_EQ(inner["tid"], gettid());
  EXPECT_EQ(inner["pid"], getpid());
  EXPECT_GE(inner["ts"], outer["ts"]);
  EXPECT_LE(double(inner["ts"]) + double(inner["dur"]), double(outer["ts"]) + double(outer["dur"]));
  EXPECT_EQ(trace["traceEvents"].back()["name"], "Record Window End");
}

TEST_F(RecorderTest, PairsBackwardWithTheInnermostForward) {
  using profiler::Autograd;
  begin();
  const int64_t now = monotonic_ns();
  const auto operation = [&](const char* name, int64_t at, int64_t end, int64_t number,
                             Autograd autograd) {
    profiler::submit({.begin_ns = now + at,
                      .of =
                          profiler::OperatorFields{
                              .end_ns = now + end, .sequence_number = number, .autograd_thread = 1},
                      .name = profiler::intern_name(name),
                      .autograd = autograd});
  };
  operation("aten::mm", 20, 30, 7, Autograd::kForward);
  operation("aten::linear", 10, 40, 7, Autograd::kForward);
  operation("MmBackward0", 60, 70, 7, Autograd::kBackward);
  operation("autograd::engine::evaluate_function: MmBackward0", 50, 80, -1, Autograd::kNone);
  operation("NoForward", 90, 95, 8, Autograd::kBackward);
  stop();
  const json events = exported()["traceEvents"];
  std::vector<json> flows;
  for (const auto& event : events) {
    if (event["cat"] == "fwdbwd") flows.push_back(event);
  }
  ASSERT_EQ(flows.size(), 2u);
  EXPECT_EQ(flows[0]["ph"], "s");
  EXPECT_EQ(flows[0]["ts"], events[0]["ts"]);  // aten::mm began last
  EXPECT_EQ(flows[1]["ph"], "f");
  EXPECT_EQ(flows[0]["id"], flows[1]["id"]);
  const auto evaluate = std::find_if(events.begin(), events.end(), [](const json& event) {
    return event["name"] == "autograd::engine::evaluate_function: MmBackward0";
  });
  EXPECT_EQ((*evaluate)["args"]["Sequence number"], 7);
  EXPECT_EQ((*evaluate)["args"]["Fwd thread id"], 1);
}

TEST_F(RecorderTest, AnswersMisuseWithErrors) {
  EXPECT_EQ(redline_start(), -1);
  EXPECT_THAT(redline_last_error(), HasSubstr("not prepared"));
  EXPECT_EQ(redline_stop(), -1);
  EXPECT_EQ(redline_discard(), -1);
  EXPECT_EQ(redline_complete(), -1);
  EXPECT_STREQ(redline_last_error(), "complete: no stopped window");
  EXPECT_EQ(redline_prepare("{\"no such\": 1}"), -1);
  EXPECT_THAT(redline_last_error(), HasSubstr("no such"));
  EXPECT_EQ(redline_prepare("[]"), -1);
  EXPECT_EQ(redline_export(nullptr), -1);
  EXPECT_EQ(redline_add_metadata_json("key", "{"), -1);
  EXPECT_EQ(redline_add_metadata_json("traceEvents", "[]"), -1);
  EXPECT_EQ(redline_get_stats(nullptr), -1);
  redline_range_pop();

  begin();
  EXPECT_EQ(redline_start(), -1);
  EXPECT_THAT(redline_last_error(), HasSubstr("already started"));
  EXPECT_EQ(redline_prepare(options().c_str()), -1);
  EXPECT_EQ(redline_export((folder_ / "early.json").c_str()), -1);
  stop();
  EXPECT_EQ(redline_stop(), -1);
  EXPECT_EQ(redline_export((folder_ / "no/such/folder.json").c_str()), -1);
  EXPECT_THAT(redline_last_error(), HasSubstr("No such file"));
  EXPECT_EQ(redline_export((folder_ / "trace.json.zst").c_str()), -1);
  EXPECT_THAT(redline_last_error(), HasSubstr("written plain, or as gzip to NAME.gz"));
}

TEST_F(RecorderTest, AfterAnExportThatCannotBeAnotherOneDoes) {
  begin();
  record("first");
  stop();
  EXPECT_EQ(redline_export((folder_ / "no/such/trace.json.gz").c_str()), -1);
  EXPECT_EQ(redline_complete(), 0);
  EXPECT_THAT(annotations_of(exported()), ::testing::ElementsAre("first"));
  EXPECT_EQ(redline_export((folder_ / "trace.json.gz").c_str()), 0) << redline_last_error();
}

TEST_F(RecorderTest, ItsFolderStaysWhereTheJobGoes) {
  const testing::TemporaryFolder elsewhere;
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path());
  ASSERT_EQ(redline_prepare(R"({"directory": "traces"})"), 0);
  EXPECT_EQ(redline_prepare(R"({"directory": "./traces/"})"), 0) << "the same one";
  fs::current_path(elsewhere.path());
  start();
  record("first");
  stop();
  EXPECT_EQ(redline_complete(), 0) << redline_last_error();
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "traces"), {}), 1);
  EXPECT_TRUE(fs::is_empty(elsewhere.path()));
  fs::current_path(before);
  EXPECT_THAT(annotations_of(exported()), ::testing::ElementsAre("first"));
}

TEST_F(RecorderTest, MetadataIsOfLaterWindowsUntilItIsForgotten) {
  EXPECT_EQ(redline_add_metadata_json("mine", "1"), 0);
  for (int window = 0; window < 2; ++window) {
    begin();
    stop();
    EXPECT_EQ(exported()["mine"], 1);
  }
  EXPECT_EQ(redline_forget_metadata(), 0);
  begin();
  stop();
  EXPECT_FALSE(exported().contains("mine"));
}

TEST_F(RecorderTest, PreparesTwiceButNotDifferently) {
  EXPECT_EQ(redline_prepare(options().c_str()), 0);
  EXPECT_EQ(redline_prepare(options().c_str()), 0);
  EXPECT_EQ(redline_prepare(options(4 << 20).c_str()), -1);
  EXPECT_EQ(redline_discard(), 0);
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(RecorderTest, ExportsAsOftenAsWanted) {
  begin();
  record("only");
  stop();
  char path[512] = "";
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(redline_export_to_directory((folder_ / "new/folder").c_str(), path, sizeof(path)), 0);
    EXPECT_THAT(path, ::testing::EndsWith(".pt.trace.json.gz"));
    EXPECT_TRUE(fs::exists(path));
    EXPECT_THAT(annotations_of(exported()), ::testing::ElementsAre("only"));
  }
  const fs::directory_iterator files(folder_ / "new/folder");
  EXPECT_EQ(std::distance(fs::begin(files), fs::end(files)), 2);
}

TEST_F(RecorderTest, LeaksNothingOverManyCycles) {
  begin();
  stop();
  const size_t files_before = open_files_once_written();
  for (int cycle = 0; cycle < 200; ++cycle) {
    begin();
    record("cycle");
    if (cycle % 3 == 0) {
      ASSERT_EQ(redline_discard(), 0);
    } else {
      stop();
    }
  }
  begin();
  stop();
  EXPECT_EQ(open_files_once_written(), files_before);
}

TEST_F(RecorderTest, CountsWhatTheBudgetDoesNotHold) {
  ASSERT_EQ(redline_prepare(options(1 << 20).c_str()), 0);
  start();
  constexpr int kThreads = 4, kEach = 50'000;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([] {
        for (int n = 0; n < kEach; ++n) record("burst");
      });
    }
  }
  stop();
  redline_stats stats = {};
  stats.struct_size = sizeof(stats);
  ASSERT_EQ(redline_get_stats(&stats), 0);
  EXPECT_EQ(stats.events_recorded + stats.events_dropped, uint64_t{kThreads} * kEach);
  EXPECT_GE(stats.threads, 1u);  // a thread may find no memory at all
  EXPECT_GT(stats.bytes_written, 0u);
  const json trace = exported();
  EXPECT_EQ(trace["redline"]["dropped"], stats.events_dropped);
  EXPECT_EQ(annotations_of(trace).size(), stats.events_recorded);

  begin();
  record("after");
  stop();
  EXPECT_EQ(exported()["redline"]["dropped"], 0);  // each window counts anew
}

TEST_F(RecorderTest, AProcessThatIsStartedByVforkLeavesNoTraceOfItself) {
  begin();
  std::atomic<bool> over = false;
  int recorded = 0;
  std::jthread other([&] {
    while (!over) {
      if (recorded == 20'000) continue;
      record("meanwhile");
      ++recorded;
    }
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = vfork();
    if (child == 0) {
      execl("/bin/true", "true", nullptr);
      _exit(1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
    record("after a child");
  }
  over = true;
  other.join();
  stop();
  const json trace = exported();
  EXPECT_EQ(annotations_of(trace).size() + trace["redline"]["dropped"].get<size_t>(),
            static_cast<size_t>(recorded + 20));
}

TEST_F(RecorderTest, NamesThreadsAndKeepsDeepRangesBalanced) {
  begin();
  std::jthread([] {
    pthread_setname_np(pthread_self(), "loader \"7\"");
    for (int i = 0; i < 300; ++i) redline_range_push("deep");
    for (int i = 0; i < 300; ++i) redline_range_pop();
    record("after");
  }).join();
  stop();
  const json trace = exported();
  EXPECT_EQ(annotations_of(trace).size(),
            257u);  // the 256 outer ones, and one after all were popped
  const auto thread =
      std::find_if(trace["traceEvents"].begin(), trace["traceEvents"].end(),
                   [](const json& event) { return event["name"] == "thread_name"; });
  EXPECT_THAT(std::string((*thread)["args"]["name"]), HasSubstr("loader \"7\""));
}

}  // namespace
}  // namespace redline
