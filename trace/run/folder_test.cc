#include "trace/run/folder.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <fstream>
#include <utility>

#include "base/clock.h"
#include "machine/resources.h"
#include "tests/temporary_folder.h"
#include "trace/emit/step_log_writer.h"
#include "trace/read/step_log_reader.h"

namespace redline::trace {
namespace {

constexpr int64_t kRunBegin = 1'700'000'000'000'000'000;

class RunFolder : public ::testing::Test {
 protected:
  void write_log(int rank, int64_t steps) const {
    LogOwner owner;
    owner.rank = rank;
    owner.begin_ns = kRunBegin;
    write_log(owner, steps);
  }
  void write_log(LogOwner owner, int64_t steps, const std::string& trace = "") const {
    if (owner.run.empty()) owner.run = "run";
    owner.world_size = 4;
    const auto writer = StepLogWriter::create(folder_, owner);
    ASSERT_TRUE(writer);
    LogBlock block;
    block.sign_ns = owner.begin_ns;
    for (int64_t i = 0; i < steps; ++i) {
      LoggedStep step;
      step.step = i;
      step.begin_ns = owner.begin_ns + i * 10'000'000;
      step.length_ns = step.shortest_ns = step.longest_ns = 10'000'000;
      step.samples = 8;
      block.steps.push_back(step);
      block.sign_ns = step.end_ns();
    }
    if (!trace.empty()) block.marks.push_back({block.sign_ns, 0, LogMarkKind::kWindow, trace});
    ASSERT_TRUE((*writer)->append(block)) << (*writer)->error();
  }
  void write_file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
  }

  const testing::TemporaryFolder place_;
  const std::string folder_ = place_.path();
};

TEST_F(RunFolder, OneUnreadableLogHidesNoOtherRank) {
  write_log(0, 500);
  write_log(1, 500);
  write_file("rank2.steps.redline", "");
  const auto run = read_run(step_logs_of({folder_}));
  ASSERT_TRUE(run && *run) << (run ? "no steps" : run.error().message);
  EXPECT_EQ((*run)->ranks.size(), 2u);
  EXPECT_EQ((*run)->world_size, 4);
  ASSERT_EQ((*run)->unreadable_logs.size(), 1u);
  EXPECT_NE((*run)->unreadable_logs[0].find(
                "rank2.steps.redline: is empty: its rank ended before it wrote a step"),
            std::string::npos);
}

// The laptop slept for an hour, during which the monotonic clock stood still.
TEST_F(RunFolder, ARankOnAMachineThatSleptStillRuns) {
  const auto clock_ns = [](clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return time.tv_sec * 1'000'000'000 + time.tv_nsec;
  };
  constexpr int64_t kSleep = 3'600'000'000'000;
  const int64_t now_ns = clock_ns(CLOCK_REALTIME);
  LogOwner owner;
  owner.process = getpid();
  owner.begin_ns = now_ns - kSleep - 5'000'000'000;
  owner.clock_offset_ns = now_ns - clock_ns(CLOCK_MONOTONIC) - kSleep;
  owner.host = machine::host_name();
  write_log(owner, 500);
  const auto own = read_run(step_logs_of({folder_}));
  ASSERT_TRUE(own && *own);
  EXPECT_TRUE((*own)->is_running);
  EXPECT_LT((*own)->ranks[0].age_ns, kSleep / 2);
  const RunningJob job = read_running_job(folder_, "run");
  ASSERT_TRUE(job.recent);
  EXPECT_GT(job.recent->ranks[0].last_step_ns, now_ns - kSleep / 2);

  owner.host = "elsewhere";
  owner.rank = 1;
  write_log(owner, 500);
  const auto both = read_run(step_logs_of({folder_}));
  ASSERT_TRUE(both && *both);
  EXPECT_GT((*both)->ranks[1].age_ns, kSleep / 2) << "of its clock nothing is known";
}

// Run 1.2 is the same job on another node, and goes on for a moment. Run 2.1 is another job.
TEST_F(RunFolder, AtACommandsEndTheVerdictIsOnItsJobAndItsOwnRanksHaveEnded) {
  LogOwner owner;
  owner.begin_ns = unix_ns() + 3'600'000'000'000;  // nobody is silent yet
  const std::pair<const char*, int> kLogs[] = {{"1.1", 0}, {"1.2", 1}, {"2.1", 0}, {"2.1", 1}};
  for (const auto& [run, rank] : kLogs) {
    owner.run = run;
    owner.rank = rank;
    write_log(owner, 500);
  }
  const auto logs = step_logs_of({folder_});
  const auto dead = [&](const std::string& ended_run) {
    const auto run = read_run(logs, ended_run);
    std::vector<int> ranks;
    for (const RunFinding& finding : (*run)->findings) {
      if (finding.cause == RunCause::kDied) ranks = finding.ranks;
    }
    return ranks;
  };
  const auto own = read_run(logs, "1.1");
  ASSERT_TRUE(own && *own);
  EXPECT_EQ((*own)->ranks.size(), 2U);
  EXPECT_FALSE((*own)->is_latest);
  EXPECT_EQ(dead("1.1"), std::vector<int>{0});
  EXPECT_EQ(dead("1.2"), std::vector<int>{1});
  EXPECT_EQ(dead("2.1"), (std::vector<int>{0, 1}));
  EXPECT_EQ(dead(""), std::vector<int>{});
  const auto without = read_run(logs, "3.1");
  ASSERT_TRUE(without);
  EXPECT_FALSE(*without);
}

TEST_F(RunFolder, ARankThatWasStartedAgainEndsSteps) {
  constexpr int64_t kSecond = 1'000'000'000;
  LogOwner owner;
  owner.rank = 1;
  owner.begin_ns = kRunBegin;
  write_log(owner, 500);  // until second 5
  owner.begin_ns += 60 * kSecond;
  write_log(owner, 500);  // until second 65
  const auto ends_after = [&](const std::string& run, int rank, int64_t second) {
    return has_step_after(folder_, run, rank, kRunBegin + second * kSecond);
  };
  EXPECT_TRUE(ends_after("run", 1, 64));
  EXPECT_FALSE(ends_after("run", 1, 65));
  EXPECT_FALSE(ends_after("run", 0, 4));
  EXPECT_FALSE(ends_after("another run", 1, 4));
}

TEST_F(RunFolder, WhatWasInterruptedDidNotDie) {
  const auto ended_process = [] {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
    return child;
  };
  LogOwner owner;
  owner.begin_ns = kRunBegin;
  owner.process = ended_process();
  owner.host = machine::host_name();
  write_log(owner, 500);
  owner.rank = 1;
  owner.host = "elsewhere";
  write_log(owner, 500);
  owner.rank = 2;
  owner.host = machine::host_name();
  owner.process = getpid();
  write_log(owner, 500);
  note_end(folder_, "another run", 128 + SIGINT);
  EXPECT_FALSE(read_step_log(folder_ + "/rank0.steps.redline")->ended);
  note_end(folder_, "run", 128 + SIGINT);
  const auto ended = read_step_log(folder_ + "/rank0.steps.redline");
  EXPECT_TRUE(ended->ended);
  EXPECT_EQ(ended->exit_status, 128 + SIGINT);
  EXPECT_EQ(ended->step_count(), 500);
  EXPECT_FALSE(read_step_log(folder_ + "/rank1.steps.redline")->ended);
  EXPECT_FALSE(read_step_log(folder_ + "/rank2.steps.redline")->ended);
}

TEST_F(RunFolder, FailsIfNoLogCanBeRead) {
  write_file("rank0.steps.redline", "no log");
  const auto run = read_run(step_logs_of({folder_}));
  ASSERT_FALSE(run);
  EXPECT_NE(run.error().message.find("is no step log of Redline"), std::string::npos);
}

TEST_F(RunFolder, LogsWithoutAStepHaveNoVerdict) {
  write_log(0, 0);
  const auto run = read_run(step_logs_of({folder_}));
  ASSERT_TRUE(run);
  EXPECT_FALSE(*run);
}

TEST_F(RunFolder, AStartThatBrokeOffSoonNeedNotBeLonger) {
  const auto ends_with = [&](const std::string& words) {
    const auto runs = read_run_figures(step_logs_of({folder_}));
    return !runs && runs.error().message.ends_with(words);
  };
  LogOwner owner;
  owner.begin_ns = kRunBegin;
  owner.run = std::to_string(owner.begin_ns) + ".1";
  write_log(owner, 3);
  EXPECT_TRUE(
      ends_with("rank0.steps.redline: fewer than 8 training steps after the warm-up. Run "
                "it for longer"));
  owner.begin_ns += 3'600'000'000'000;
  owner.run = std::to_string(owner.begin_ns) + ".1";
  write_log(owner, 500);
  EXPECT_TRUE(
      ends_with("rank0.steps.redline: fewer than 8 training steps after the warm-up. Run "
                "it for longer. If that start does not count, move the log out of the "
                "folder"));
}

TEST_F(RunFolder, OfRecordingsOnlyThoseThatWroteTheTracesCount) {
  constexpr int64_t kHour = 3'600'000'000'000;
  for (const int64_t number : {1, 2, 3}) {
    LogOwner owner;
    owner.begin_ns = kRunBegin + number * kHour;
    owner.run = std::to_string(owner.begin_ns) + ".1";
    // The third run never came to its trace.
    write_log(owner, 100 * number,
              number == 3 ? "" : "/moved/since/" + std::to_string(number) + ".pt.trace.json.gz");
  }
  const auto steps_of = [&](const std::vector<std::string>& traces) {
    std::vector<int64_t> steps;
    for (const RunFigures& run : read_run_figures(step_logs_of({folder_}), traces).value()) {
      steps.push_back(run.steps / 100 + 1);  // the warm-up does not count
    }
    return steps;
  };
  EXPECT_EQ(steps_of({folder_ + "/2.pt.trace.json.gz"}), (std::vector<int64_t>{2}));
  EXPECT_EQ(steps_of({folder_ + "/1.pt.trace.json.gz", folder_ + "/2.pt.trace.json.gz"}),
            (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(steps_of({}), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(steps_of({folder_ + "/a.pt.trace.json.gz"}), (std::vector<int64_t>{1, 2, 3}))
      << "redline compare records a run that has no log";
}

TEST_F(RunFolder, OnlyTracesOfAFolderWithLogsAreRead) {
  write_file("summary.json", "{}");
  EXPECT_EQ(trace_paths_of({folder_}).size(), 1u) << "without logs, any JSON file may be a trace";
  write_log(0, 1);
  EXPECT_TRUE(trace_paths_of({folder_}).empty());
  write_file("rank0.pt.trace.json", "{}");
  EXPECT_EQ(trace_paths_of({folder_}).size(), 1u);
  EXPECT_TRUE(trace_paths_of({folder_ + "/rank0.steps.redline"}).empty());
}

}  // namespace
}  // namespace redline::trace
