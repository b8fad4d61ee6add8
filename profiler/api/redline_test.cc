// The C++ API, as a training program uses it.
#include "profiler/redline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "profiler/source/source.h"
#include "tests/recording.h"

namespace redline {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Names = std::vector<std::string>;

class ProfilerTest : public ::testing::Test {
 protected:
  ~ProfilerTest() override { unsetenv("REDLINE_RECORD"); }

  /// A handler that keeps the names of each window's ranges.
  TraceHandler keep_names() {
    return [this](Profiler& profiler) {
      const std::string path = folder_ / "trace.json";
      ASSERT_TRUE(profiler.export_chrome_trace(path));
      windows_.push_back(testing::annotations_of(nlohmann::json::parse(std::ifstream(path))));
    };
  }
  static void train(Profiler& profiler, int steps) {
    for (int step = 0; step < steps; ++step) {
      { const range forward("forward"); }
      profiler.step();
    }
  }
  [[nodiscard]] size_t files_in(const std::string& name) const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_ / name), {}));
  }

  const testing::TemporaryFolder folder_;
  std::vector<Names> windows_;
};

TEST_F(ProfilerTest, RecordsTheScheduledSteps) {
  {
    Profiler profiler({.schedule = {.wait = 1, .warmup = 1, .active = 2, .repeat = 2},
                       .on_trace_ready = keep_names()});
    train(profiler, 12);
    EXPECT_EQ(profiler.step_number(), 12);
  }
  EXPECT_THAT(windows_,
              ElementsAre(ElementsAre("forward", "ProfilerStep#2", "forward", "ProfilerStep#3"),
                          ElementsAre("forward", "ProfilerStep#6", "forward", "ProfilerStep#7")));
}

TEST_F(ProfilerTest, FollowsOneWindowByTheNextWithoutAGap) {
  {
    Profiler profiler({.schedule = {.active = 1}, .on_trace_ready = keep_names()});
    train(profiler, 2);
  }
  EXPECT_THAT(windows_,
              ElementsAre(ElementsAre("forward", "ProfilerStep#0"),
                          ElementsAre("forward", "ProfilerStep#1"), ElementsAre("ProfilerStep#2")));
}

TEST_F(ProfilerTest, WithoutAScheduleRecordsItsWholeLife) {
  {
    Profiler profiler({.on_trace_ready = keep_names()});
    train(profiler, 3);
  }
  EXPECT_THAT(windows_, ElementsAre(ElementsAre("forward", "forward", "forward")));
}

TEST_F(ProfilerTest, GivesUpAWarmUpAtItsEnd) {
  {
    Profiler profiler({.schedule = {.warmup = 5}, .on_trace_ready = keep_names()});
    train(profiler, 2);
  }
  EXPECT_TRUE(windows_.empty());
  EXPECT_EQ(redline_discard(), -1);  // nothing is left prepared
}

TEST_F(ProfilerTest, WritesIntoAFolder) {
  {
    Profiler profiler({.schedule = {.active = 1, .repeat = 2},
                       .on_trace_ready = write_chrome_trace(folder_ / "new \"folder\"")});
    train(profiler, 4);
  }
  EXPECT_EQ(files_in("new \"folder\""), 2u);
}

TEST_F(ProfilerTest, FollowsTheCommandLineWhereThereIsOne) {
  const nlohmann::json request = {{"directory", folder_ / "asked"},
                                  {"schedule", {{"wait", 1}, {"active", 1}, {"repeat", 1}}}};
  setenv("REDLINE_RECORD", request.dump().c_str(), 1);
  EXPECT_TRUE(recording_requested());
  ::testing::internal::CaptureStderr();
  {
    Profiler profiler({.schedule = {.active = 1}, .on_trace_ready = keep_names()});
    train(profiler, 4);
  }
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("the command line's schedule"));
  EXPECT_TRUE(windows_.empty());
  EXPECT_EQ(files_in("asked"), 1u);
}

/// A source that keeps the options with which it was last enabled.
class AskedFor final : public profiler::Source {
 public:
  void enable(const RecorderOptions& options) noexcept override { last = options; }
  void disable() noexcept override {}
  RecorderOptions last;
};

TEST_F(ProfilerTest, EachOptionReachesTheSourcesFromTheProgramAndFromTheCommandLine) {
  static AskedFor source;
  profiler::add_source(&source);
  const std::tuple<const char*, bool RecorderOptions::*, bool ProfilerOptions::*> switches[] = {
      {"record_shapes", &RecorderOptions::record_shapes, &ProfilerOptions::record_shapes},
      {"profile_memory", &RecorderOptions::profile_memory, &ProfilerOptions::profile_memory},
      {"with_stack", &RecorderOptions::with_stack, &ProfilerOptions::with_stack},
      {"with_modules", &RecorderOptions::with_modules, &ProfilerOptions::with_modules},
  };
  for (const auto& [name, asked, option] : switches) {
    RecorderOptions expected;
    expected.*asked = true;
    ProfilerOptions options;
    options.*option = true;
    { const Profiler profiler(std::move(options)); }
    EXPECT_EQ(source.last, expected) << name;

    const nlohmann::json request = {{"directory", folder_ / "asked"}, {name, true}};
    setenv("REDLINE_RECORD", request.dump().c_str(), 1);
    source.last = {};
    { const Profiler profiler; }
    EXPECT_EQ(source.last, expected) << name;
    unsetenv("REDLINE_RECORD");
  }
}

TEST_F(ProfilerTest, SaysOnceThatRecordingIsOffAndGoesOn) {
  ::testing::internal::CaptureStderr();
  {
    Profiler profiler(
        {.schedule = {.active = 1}, .on_trace_ready = write_chrome_trace("/proc/nowhere/traces")});
    train(profiler, 4);
  }
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("recording is off: cannot create /proc/nowhere/traces"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
}

TEST_F(ProfilerTest, SaysThatAScheduleMakesNoSense) {
  for (const Schedule& schedule : {Schedule{.wait = -1, .active = 1}, Schedule{.active = -3},
                                   Schedule{.active = Schedule::kMost + 1}}) {
    ::testing::internal::CaptureStderr();
    {
      Profiler profiler({.schedule = schedule, .on_trace_ready = keep_names()});
      train(profiler, 4);
    }
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                HasSubstr("redline: recording is off: schedule: active must be > 0"));
    EXPECT_TRUE(windows_.empty());
  }
}

TEST_F(ProfilerTest, ASecondOneSaysThatItDoesNothing) {
  Profiler first(
      {.schedule = {.wait = 1, .active = 1, .repeat = 1}, .on_trace_ready = keep_names()});
  ::testing::internal::CaptureStderr();
  {
    Profiler second({.schedule = {.active = 1}, .on_trace_ready = keep_names()});
    train(second, 2);
    EXPECT_EQ(second.step_number(), 2);
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "redline: recording is off: another redline::Profiler is alive\n");
  EXPECT_TRUE(windows_.empty());
  train(first, 2);
  EXPECT_THAT(windows_, ElementsAre(ElementsAre("forward", "ProfilerStep#1")));
}

// With -Wextra a program is asked for each member that has no initializer.
TEST(ProfilerOptions, NeedNoHandler) {
  EXPECT_FALSE(ProfilerOptions({.ring_seconds = 30}).on_trace_ready);
}

}  // namespace
}  // namespace redline
