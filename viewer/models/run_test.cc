#include "viewer/models/run.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "tests/temporary_folder.h"
#include "viewer/models/testing_run.h"

namespace redline::viewer {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class RunModel : public ::testing::Test {
 protected:
  std::string path(const std::string& name) { return folder_ / name; }
  WholeRun load() {
    run_.write();
    auto run = load_run({run_.folder()});
    EXPECT_TRUE(run) << run.error();
    return run.value_or(WholeRun());
  }

  testing::TemporaryFolder folder_;
  TestRun run_{path("logs")};
};

TEST_F(RunModel, ItHasTheVerdictAndTheChartOfTheReport) {
  const WholeRun run = load();
  EXPECT_EQ(run.name, "logs");
  EXPECT_THAT(run.subtitle, HasSubstr("2 ranks · 600 steps"));
  EXPECT_FALSE(run.is_running);
  ASSERT_FALSE(run.findings.empty());
  EXPECT_THAT(run.findings[0].headline, HasSubstr("From step 300 on"));
  EXPECT_THAT(run.findings[0].cost, HasSubstr("of each hour"));
  EXPECT_STREQ(run.chart.unit, "samples/s");
  EXPECT_THAT(run.chart.marks, Contains(Field(&trace::RunChartMark::words, HasSubstr("epoch 2"))));
  EXPECT_THAT(run.chart.marks, Contains(Field(&trace::RunChartMark::time_ns, run_.begin_of(300))))
      << "a mark where the finding begins";
  EXPECT_THAT(run.ranks.rows, SizeIs(2));
}

TEST_F(RunModel, AWindowIsItsFolderOfRanks) {
  const std::string first = run_.add_window_with_trace(100, "a", "{}");
  const std::string second = run_.add_window_with_trace(500, "b", "{}");
  run_.add_window(550, path("logs/windows/removed/rank0.pt.trace.json"));
  const WholeRun run = load();
  ASSERT_THAT(run.windows, SizeIs(2)) << "without the one that was removed";
  EXPECT_EQ(run.windows[0].path, fs::path(first).parent_path());
  EXPECT_EQ(run.nearest_window(run_.begin_of(0)), 0U);
  EXPECT_EQ(run.nearest_window(run_.begin_of(400)), 1U);
  fs::rename(path("logs"), path("moved"));
  const auto moved = load_run({path("moved")});
  ASSERT_TRUE(moved && moved->windows.size() == 2);
  EXPECT_EQ(moved->windows[1].path, path("moved/windows/b"));
}

TEST_F(RunModel, OfSeveralWindowsInAFolderEachIsItsTrace) {
  const std::string first = run_.add_window_with_trace(100, "same", "{}");
  const std::string second = fs::path(first).parent_path() / "later.pt.trace.json";
  std::ofstream(second) << "{}";
  run_.add_window(300, second);
  const WholeRun run = load();
  ASSERT_THAT(run.windows, SizeIs(2));
  EXPECT_EQ(run.windows[1].path, second);
}

TEST_F(RunModel, ItsNameIsThatOfTheFolderHoweverTheLogsAreNamed) {
  run_.write();
  const fs::path before = fs::current_path();
  fs::current_path(run_.folder());
  for (const char* path : {".", "rank0.steps.redline", "../logs", "../logs/"}) {
    EXPECT_EQ(load_run({path}).value_or(WholeRun()).name, "logs") << path;
  }
  fs::current_path(before);
}

TEST_F(RunModel, StepLogsWithoutTracesAreARun) {
  run_.write();
  EXPECT_TRUE(is_run({run_.folder()}));
  std::ofstream(path("logs/rank0.pt.trace.json")) << "{}";
  EXPECT_FALSE(is_run({run_.folder()})) << "the traces are shown, and a button leads to the run";
  EXPECT_TRUE(has_run({run_.folder()}));
  EXPECT_FALSE(has_run({folder_.path()}));
}

TEST_F(RunModel, WhatCannotBeReadIsASentence) {
  fs::create_directories(path("logs"));
  std::ofstream(path("logs/rank0.steps.redline")) << "no log";
  EXPECT_THAT(load_run({path("logs")}).error(), HasSubstr("rank0.steps.redline"));
}

}  // namespace
}  // namespace redline::viewer
