#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/file.h"
#include "profiler/c_api.h"
#include "tests/temporary_folder.h"
#include "trace/read/step_log_reader.h"

namespace redline::profiler {
namespace {

using trace::LogPart;

/// AddressSanitizer's malloc() locks up in a child that is forked while another thread allocates.
void wait_until_other_threads_sleep() {
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    if (thread.path().filename() == std::to_string(gettid())) continue;
    char state = 'R';
    while (state != 'S') {
      const std::string stat = read_file(thread.path().string() + "/stat");
      state = stat.empty() ? 'S' : stat.at(stat.rfind(')') + 2);  // empty: it has ended
    }
  }
}

/// A process of its own has a log of its own: runs `body` in a forked child, which ends by exit().
template <typename Body>
int run_in_child(Body body) {
  wait_until_other_threads_sleep();
  const pid_t child = fork();
  if (child == 0) std::exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/// A process reads REDLINE_LOG once, and other tests may have stepped: runs the test in a new one,
/// with these variables.
int run_this_test_anew(const std::vector<std::pair<const char*, std::string>>& variables) {
  return run_in_child([&] {
    for (const auto& [name, value] : variables) setenv(name, value.c_str(), 1);
    const std::string this_test = std::string("--gtest_filter=*.") +
                                  ::testing::UnitTest::GetInstance()->current_test_info()->name();
    execl("/proc/self/exe", "profiler_test", this_test.c_str(), nullptr);
    return 1;
  });
}

constexpr int kWait = static_cast<int>(LogPart::kDataWait);
constexpr int kForward = static_cast<int>(LogPart::kForward);
constexpr int kNone = -1;

TEST(StepLogOfProcess, StepsMarksAndTheExitStatusAreWritten) {
  const testing::TemporaryFolder place;
  const std::string folder = place.path();
  EXPECT_EQ(run_in_child([&] {
              redline_log_enter(kWait);
              redline_log_leave(kWait);
              if (redline_log_open(folder.c_str(), "run", 2, 4) != 0) return 1;
              redline_log_step(8, kNone);
              redline_log_enter(kForward);
              redline_log_leave(kForward);
              redline_log_step(9, 100);
              redline_log_mark(static_cast<int>(trace::LogMarkKind::kNote), 0, "a note");
              return 3;
            }),
            3);
  const auto log = trace::read_step_log(folder + "/rank2.steps.redline");
  ASSERT_TRUE(log.has_value());
  EXPECT_EQ(log->run, "run");
  EXPECT_EQ(log->world_size, 4);
  ASSERT_EQ(log->steps.size(), 2U);
  EXPECT_EQ(log->steps[0].samples, 8);
  EXPECT_EQ(log->steps[0].end_ns(), log->steps[1].begin_ns);
  EXPECT_GE(log->steps[1].part(LogPart::kDataWait), 0);
  EXPECT_EQ(log->steps[1].part(LogPart::kBackward), trace::kUnseen);
  EXPECT_EQ(log->steps[1].tokens, 100);
  ASSERT_EQ(log->marks.size(), 1U);
  EXPECT_EQ(log->marks[0].text, "a note");
  ASSERT_FALSE(log->memory.empty());  // one at the end, and one each second
  EXPECT_GT(log->memory[0].host_bytes, 0);
  ASSERT_FALSE(log->cores.empty());
  EXPECT_GE(log->cores[0].cores, 1);
  EXPECT_GT(log->cores[0].used_ns, 0);
  EXPECT_TRUE(log->ended);
  EXPECT_EQ(log->exit_status, 3);
}

// Memory of the process is noted each second, too, so the log has about as many readings.
TEST(StepLogOfProcess, AShortRunIsAskedForItsDevicesMemoryEachSecond) {
  const testing::TemporaryFolder place;
  const std::string folder = place.path();
  run_in_child([&] {
    if (redline_log_open(folder.c_str(), "", 0, 1) != 0) return 1;
    for (int asked = 0; asked < 3;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // a step
      if (redline_log_step(kNone, kNone) == 1) redline_log_device_memory(++asked);
    }
    return 0;
  });
  const auto log = trace::read_step_log(folder + "/rank0.steps.redline");
  ASSERT_TRUE(log.has_value());
  ASSERT_FALSE(log->memory.empty());
  EXPECT_EQ(log->memory.back().device_bytes, 3);
  EXPECT_LT(log->memory.size(), 15U) << "each ten seconds it would have 20";
}

TEST(StepLogOfProcess, BatchesBeforeTheFirstStepWereAnEvaluation) {
  const testing::TemporaryFolder place;
  const std::string folder = place.path();
  const auto log_of = [&](int rank, int batches, int steps) {
    EXPECT_EQ(run_in_child([&] {
                redline_log_enter(kWait);
                redline_log_leave(kWait);
                if (redline_log_open(folder.c_str(), "", rank, 2) != 0) return -1;
                for (int i = 0; i < batches; ++i) redline_log_batch(8, kNone);
                for (int i = 0; i < steps; ++i) redline_log_step(9, kNone);
                int64_t count = 0;
                redline_log_progress(&count, nullptr);
                return static_cast<int>(count);
              }),
              steps > 0 ? steps : batches);
    return *trace::read_step_log(folder + "/rank" + std::to_string(rank) + ".steps.redline");
  };
  const trace::StepLog inference = log_of(0, 3, 0), training = log_of(1, 3, 2);
  ASSERT_EQ(inference.steps.size(), 3U);
  EXPECT_EQ(inference.steps[0].samples, 8);
  ASSERT_EQ(training.steps.size(), 2U);
  EXPECT_EQ(training.steps[0].step, 0);
  EXPECT_EQ(training.steps[0].samples, 9);
}

TEST(StepLogOfProcess, AForkedChildLeavesTheLogOfItsParentAlone) {
  const testing::TemporaryFolder place;
  const std::string folder = place.path();
  run_in_child([&] {
    static_cast<void>(redline_log_open(folder.c_str(), "", 0, 1));
    redline_log_enter(kForward);
    const int status = run_in_child([&] {
      redline_log_leave(kForward);
      redline_log_step(1, 1);  // forgotten: no log is open here
      redline_log_enter(kForward);
      if (redline_log_open(folder.c_str(), "", 0, 1) != 0) return 1;
      redline_log_step(7, kNone);
      return 0;
    });
    redline_log_leave(kForward);
    redline_log_step(5, kNone);
    return status;
  });
  const auto log = trace::read_step_log(folder + "/rank0.steps.redline");
  const auto of_child = trace::read_step_log(folder + "/rank0.2.steps.redline");
  ASSERT_TRUE(log.has_value() && of_child.has_value());
  ASSERT_EQ(log->steps.size(), 1U);
  EXPECT_EQ(log->steps[0].samples, 5);
  EXPECT_EQ(of_child->steps.back().samples, 7);
}

TEST(StepLogOfProcess, OtherThreadsDoNotCount) {
  const testing::TemporaryFolder place;
  const std::string folder = place.path();
  run_in_child([&] {
    static_cast<void>(redline_log_open(folder.c_str(), "", 0, 1));
    redline_log_enter(kForward);
    std::thread([] { redline_log_enter(kWait); }).join();
    redline_log_leave(kForward);
    redline_log_step(kNone, kNone);
    return 0;
  });
  const auto log = trace::read_step_log(folder + "/rank0.steps.redline");
  ASSERT_TRUE(log.has_value());
  EXPECT_EQ(log->steps.at(0).part(LogPart::kDataWait), trace::kUnseen);
}

TEST(StepLogOfProcess, AThreadThatReadsAheadDoesNotCountEvenIfItIsFirst) {
  for (const bool stays_open : {false, true}) {
    const testing::TemporaryFolder place;
    const std::string folder = place.path();
    run_in_child([&] {
      static_cast<void>(redline_log_open(folder.c_str(), "", 0, 1));
      std::thread([&] {
        redline_log_enter(kWait);
        if (!stays_open) redline_log_leave(kWait);
      }).join();
      for (int step = 0; step < 2; ++step) {
        redline_log_enter(kForward);
        redline_log_leave(kForward);
        redline_log_step(kNone, kNone);
      }
      return 0;
    });
    const auto log = trace::read_step_log(folder + "/rank0.steps.redline");
    ASSERT_TRUE(log.has_value());
    ASSERT_EQ(log->steps.size(), 2U) << stays_open;
    for (const trace::LoggedStep& step : log->steps) {
      EXPECT_EQ(step.part(LogPart::kDataWait), trace::kUnseen) << stays_open;
    }
    EXPECT_GE(log->steps[1].part(LogPart::kForward), 0) << stays_open;
  }
}

TEST(StepLogOfProcess, InInferenceTheThreadThatRunsTheModelCounts) {
  const testing::TemporaryFolder place;
  const std::string folder = place.path();
  run_in_child([&] {
    static_cast<void>(redline_log_open(folder.c_str(), "", 0, 1));
    for (int batch = 0; batch < 3; ++batch) {
      std::thread([&] {  // reads ahead, which ends the batch before
        if (batch > 0) redline_log_batch(8, kNone);
        redline_log_enter(kWait);
        redline_log_leave(kWait);
      })
          .join();
      redline_log_enter(kForward);
      redline_log_leave(kForward);
    }
    return 0;
  });
  const auto log = trace::read_step_log(folder + "/rank0.steps.redline");
  ASSERT_TRUE(log.has_value());
  ASSERT_EQ(log->steps.size(), 2U);
  for (const trace::LoggedStep& step : log->steps) {
    EXPECT_EQ(step.part(LogPart::kDataWait), trace::kUnseen);
  }
  EXPECT_GE(log->steps[1].part(LogPart::kForward), 0);
}

TEST(StepLogOfProcess, AProgramOfItsOwnIsLoggedWhereTheEnvironmentAsksForIt) {
  const auto steps = [](bool profiler_is_first) {
    for (int step = 0; step < 5; ++step) {
      if (profiler_is_first) redline_log_program_step(kNone);
      redline_log_program_step(16);
      if (!profiler_is_first) redline_log_program_step(kNone);
    }
  };
  if (const char* first = getenv("FIRST_TO_STEP")) {
    const auto train = [&] { steps(first == std::string("profiler")); };
    train();
    const auto train_in_child = [&] {
      train();
      return 0;
    };
    std::exit(run_in_child(train_in_child));
  }
  for (const bool profiler_is_first : {false, true}) {
    const testing::TemporaryFolder place;
    const std::string folder = place.path();
    ASSERT_EQ(run_this_test_anew({{"FIRST_TO_STEP", profiler_is_first ? "profiler" : "program"},
                                  {"REDLINE_LOG", folder},
                                  {"RANK", "1"},
                                  {"WORLD_SIZE", "2"}}),
              0);
    const auto log = trace::read_step_log(folder + "/rank1.steps.redline");
    ASSERT_TRUE(log.has_value());
    // Nobody knows where the first step began.
    ASSERT_EQ(log->steps.size(), 4U) << profiler_is_first;
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(log->steps[i].step, static_cast<int64_t>(i) + 1);
      EXPECT_EQ(log->steps[i].samples, 16) << profiler_is_first;
    }
    EXPECT_FALSE(std::filesystem::exists(folder + "/rank1.2.steps.redline")) << "a forked child's";
  }
}

TEST(StepLogOfProcess, AProgramAsksForItsLogOnce) {
  if (const char* obstacle = getenv("OBSTACLE")) {
    redline_log_program_step(1);
    std::filesystem::remove(obstacle);
    redline_log_program_step(1);
    std::exit(0);
  }
  const testing::TemporaryFolder place;
  const std::string obstacle = place / "file";
  std::ofstream(obstacle) << "no folder";
  ASSERT_EQ(run_this_test_anew({{"OBSTACLE", obstacle}, {"REDLINE_LOG", obstacle + "/logs"}}), 0);
  EXPECT_FALSE(std::filesystem::exists(obstacle)) << "a second try would have made the folder";
}

TEST(StepLogOfProcess, WithoutTheEnvironmentAProgramWritesNothing) {
  EXPECT_EQ(run_in_child([] {
              unsetenv("REDLINE_LOG");
              for (int step = 0; step < 3; ++step) redline_log_program_step(1);
              return 0;
            }),
            0);
}

TEST(StepLogOfProcess, AFolderThatCannotBeMadeIsAnError) {
  EXPECT_EQ(redline_log_open("/proc/none/logs", "", 0, 1), -1);
  EXPECT_NE(std::string(redline_last_error()).find("No such file"), std::string::npos);
}

}  // namespace
}  // namespace redline::profiler
