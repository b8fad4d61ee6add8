// The C++ API, as a training program uses it.
#include "profiler/redline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/launched_rank.h"
#include "profiler/request/recording_summary.h"
#include "profiler/source/source.h"
#include "tests/recording.h"
#include "tests/variables.h"

namespace redline {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Names = std::vector<std::string>;

class ProfilerTest : public ::testing::Test {
 protected:
  ~ProfilerTest() override { unsetenv("REDLINE_RECORD"); }

  /// As `redline record` does it, into the folder "asked".
  void ask(const nlohmann::json& schedule) const {
    const nlohmann::json request = {{"directory", folder_ / "asked"}, {"schedule", schedule}};
    setenv("REDLINE_RECORD", request.dump().c_str(), 1);
  }
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
                       .on_trace_ready = write_chrome_trace(folder_ / "new \"folder\"\n\x1f")});
    train(profiler, 4);
  }
  EXPECT_EQ(files_in("new \"folder\"\n\x1f"), 2u);
}

TEST_F(ProfilerTest, FollowsTheCommandLineWhereThereIsOne) {
  ask({{"wait", 1}, {"active", 1}, {"repeat", 1}});
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

TEST_F(ProfilerTest, KeepsItsOwnWindowsWhereTheCommandLineOnlyWantsCaptures) {
  const nlohmann::json request = {{"directory", folder_ / "asked"}, {"only_on_request", true}};
  setenv("REDLINE_RECORD", request.dump().c_str(), 1);
  ::testing::internal::CaptureStderr();
  {
    Profiler profiler(
        {.schedule = {.wait = 1, .active = 1, .repeat = 1}, .on_trace_ready = keep_names()});
    train(profiler, 3);
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_THAT(windows_, ElementsAre(ElementsAre("forward", "ProfilerStep#1")));
}

TEST_F(ProfilerTest, DoesNothingWhereTheLibraryRecordsByAMarker) {
  const nlohmann::json request = {
      {"directory", folder_ / "asked"}, {"schedule", {{"active", 1}}}, {"step_marker", "forward"}};
  setenv("REDLINE_RECORD", request.dump().c_str(), 1);
  static int marks = 0;
  ASSERT_EQ(redline_watch_marker("forward", [] { ++marks; }), 0);
  ::testing::internal::CaptureStderr();
  {
    Profiler profiler({.on_trace_ready = keep_names()});
    train(profiler, 3);
  }
  ASSERT_EQ(redline_watch_marker(nullptr, nullptr), 0);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "redline: the command line's schedule and directory replace the program's\n");
  EXPECT_EQ(marks, 3);
  EXPECT_TRUE(windows_.empty());
  EXPECT_FALSE(fs::exists(folder_ / "asked"));
}

TEST_F(ProfilerTest, NotesThatRanksLeaveItOutOrDoNotApplyToIt) {
  const launch::RecordNotes notes(folder_.path());
  testing::Variables variables("REDLINE_NOTES", notes.path());
  for (const auto& variable : kRankVariables) variables.set(variable.first, std::nullopt);
  nlohmann::json request = {{"directory", folder_ / "asked"}, {"schedule", {{"wait", 9}}}};
  const auto note_of = [&](const nlohmann::json& ranks) {
    request["ranks"] = ranks;
    setenv("REDLINE_RECORD", request.dump().c_str(), 1);
    redline_request taken = {};
    taken.struct_size = sizeof(taken);
    EXPECT_EQ(redline_take_request(&taken), 0) << redline_last_error();
    const auto all = notes.read();
    return all.empty() ? "" : all.back().what;
  };
  EXPECT_EQ(note_of(nlohmann::json::array()), "");
  EXPECT_EQ(note_of({0, 2}), "no_rank");
  variables.set("RANK", "1");
  variables.set("WORLD_SIZE", "2");
  EXPECT_EQ(note_of({0, 2}), "excluded");
}

TEST_F(ProfilerTest, SaysThatTheProgramEndedBeforeTheWindowBegan) {
  const launch::RecordNotes notes(folder_.path());
  testing::Variables variables("REDLINE_NOTES", notes.path());
  const auto train_for = [](int steps) {
    ::testing::internal::CaptureStderr();
    {
      Profiler profiler;
      train(profiler, steps);
    }
    return ::testing::internal::GetCapturedStderr();
  };
  ask({{"wait", 1}, {"warmup", 1}, {"active", 3}});
  train_for(1);
  ASSERT_EQ(notes.read().size(), 1u);
  EXPECT_EQ(notes.read()[0].what, "nothing");
  EXPECT_EQ(notes.read()[0].text,
            "nothing was recorded: the command made 1 step, the schedule leaves out the first 2. "
            "Give a shorter --schedule");
  train_for(2);
  EXPECT_EQ(notes.read().size(), 1u) << "it has a window, though of no step";
  variables.set("REDLINE_NOTES", "/proc/nowhere/notes");
  EXPECT_THAT(train_for(0),
              HasSubstr("redline: nothing was recorded: the command made 0 steps, the schedule "
                        "leaves out the first 2. Give a shorter --schedule\n"));
  unsetenv("REDLINE_RECORD");
  ::testing::internal::CaptureStderr();
  { const Profiler profiler({.schedule = {.wait = 1}, .on_trace_ready = keep_names()}); }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "") << "the program knows its own schedule";
}

// The program runs as a child that no other test has recorded in.
TEST_F(ProfilerTest, ASignalThatEndsTheProgramUnderTheCommandLineCompletesTheWindow) {
  if (const char* number = getenv("SIGNAL_AT_THE_END")) {
    Profiler profiler;
    train(profiler, 1);
    raise(std::atoi(number));
    pause();
  }
  ask({{"active", 9}});
  for (const int signal : {SIGTERM, SIGINT, SIGABRT}) {
    const testing::Variables variables("SIGNAL_AT_THE_END", std::to_string(signal));
    const std::string this_test = std::string("--gtest_filter=*.") +
                                  ::testing::UnitTest::GetInstance()->current_test_info()->name();
    const pid_t child = fork();
    if (child == 0) {
      execl("/proc/self/exe", "profiler_test", this_test.c_str(), nullptr);
      _exit(1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << status;
    const auto traces = launch::list_traces(folder_ / "asked");
    EXPECT_EQ(traces.whole.size(), 1u) << signal;
    EXPECT_TRUE(traces.partial.empty()) << signal;
    fs::remove_all(folder_ / "asked");
  }
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

TEST_F(ProfilerTest, SaysAtOnceThatItHasNoDirectory) {
  ::testing::internal::CaptureStderr();
  {
    Profiler profiler({.schedule = {.active = 1}, .on_trace_ready = write_chrome_trace("")});
    EXPECT_EQ(::testing::internal::GetCapturedStderr(),
              "redline: recording is off: write_chrome_trace: no directory\n");
    ::testing::internal::CaptureStderr();
    train(profiler, 2);
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(ProfilerTest, AHandlerThatThrowsEndsNeitherTheRecordingNorTheProgram) {
  ::testing::internal::CaptureStderr();
  {
    Profiler profiler({.schedule = {.active = 1}, .on_trace_ready = [&](Profiler& ended) {
                         keep_names()(ended);
                         if (windows_.size() == 1) throw std::runtime_error("no space");
                         if (windows_.size() == 3) throw 3;
                       }});
    train(profiler, 2);
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "redline: on_trace_ready: exception: no space\n"
            "redline: on_trace_ready: exception of an unknown type\n");
  EXPECT_THAT(windows_,
              ElementsAre(ElementsAre("forward", "ProfilerStep#0"),
                          ElementsAre("forward", "ProfilerStep#1"), ElementsAre("ProfilerStep#2")));
}

TEST_F(ProfilerTest, SaysThatAScheduleMakesNoSense) {
  for (const Schedule& schedule :
       {Schedule{.wait = -1, .active = 1}, Schedule{.active = -3},
        Schedule{.active = Schedule::kMost + 1}, Schedule{.wait = 1, .warmup = 1, .active = 0}}) {
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
