// Tests against commands of Slurm that a few lines of shell stand for: what it lists is a file.
#include "tuner/trial/slurm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "tests/temporary_folder.h"
#include "tests/variables.h"

namespace redline::tuner {
namespace {

using std::chrono::nanoseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

/// Lists steps (--steps) or jobs; what it was asked of is kept.
constexpr const char* kSqueue = R"(#!/bin/sh
echo "$*" >> "$SLURM_FAKE/asked"
case "$*" in *--steps*) cat "$SLURM_FAKE/steps" ;; *) cat "$SLURM_FAKE/jobs" ;; esac
)";
/// Ends a step or job at SIGKILL, a waiting job only by a cancel without a signal.
constexpr const char* kScancel = R"(#!/bin/sh
echo "$*" >> "$SLURM_FAKE/cancelled"
for list in steps jobs; do
  case "$*" in
    "--signal=KILL "*) sed -i "/^$2 /{/waits/!d}" "$SLURM_FAKE/$list" ;;
    "--signal=TERM "*) sed -i "/^$2 .*obeys/d" "$SLURM_FAKE/$list" ;;
    *) sed -i "/^$1 /d" "$SLURM_FAKE/$list" ;;
  esac
done
)";

class Slurm : public ::testing::Test, protected testing::Variables {
 protected:
  Slurm() {
    program("squeue", kSqueue);
    program("scancel", kScancel);
    write("steps", "");
    write("jobs", "");
    set("SLURM_FAKE", folder_);
    set("PATH", folder_ + ":" + std::getenv("PATH"));
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    return read_file(folder_ + "/" + name);
  }
  void program(const std::string& name, const char* text) const {
    write(name, text);
    std::filesystem::permissions(folder_ + "/" + name, std::filesystem::perms::owner_all);
  }
  /// The name that srun gets for a trial of the study.
  static std::string name_of(const std::string& study, const std::string& mark) {
    return SlurmStep(study, mark).named({"srun"}).at(1).substr(std::string("--job-name=").size());
  }

  const testing::TemporaryFolder place_;
  const std::string folder_ = place_.path();
};

TEST_F(Slurm, ACommandIsStartedBySrunWithItsTasks) {
  EXPECT_THAT(under_srun({"train", "x"}),
              ElementsAre("srun", "--kill-on-bad-exit=1", "train", "x"));
  set("SLURM_NTASKS", "4");
  EXPECT_THAT(SlurmStep("/s", "1").named(under_srun({"train"})),
              ElementsAre("srun", "--job-name=" + name_of("/s", "1"), "--kill-on-bad-exit=1",
                          "--ntasks=4", "train"));
}

TEST_F(Slurm, ANameIsThatOfTheStudyAndOfTheTrial) {
  EXPECT_THAT(name_of("/s/a.trials", "7.host_1:2"),
              MatchesRegex("redline\\.[0-9a-f]+\\.7\\.host-1-2"));
  EXPECT_EQ(name_of("/s/./a.trials", "1"), name_of("/s/a.trials", "1"));
  EXPECT_NE(name_of("/s/b.trials", "1"), name_of("/s/a.trials", "1"));
  // FNV-1a of "/s", as other hosts of any version must find it.
  EXPECT_EQ(name_of("/s", "1"), "redline.7d65507b49cba97.1");
}

TEST_F(Slurm, AStepIsAskedAndThenKilled) {
  const std::string name = name_of("/s", "1");
  set("SLURM_JOB_ID", "12");
  write("steps", "12.0 " + name + "\n12.1 other\n");
  EXPECT_TRUE(SlurmStep("/s", "1").stop(nanoseconds(0)));
  EXPECT_EQ(read("cancelled"), "--signal=KILL 12.0\n");
  EXPECT_EQ(read("steps"), "12.1 other\n");
  EXPECT_THAT(read("asked"), HasSubstr("-h --steps --jobs=12 -o"));
  EXPECT_THAT(read("asked"), HasSubstr("-h --jobs=12 -o"));
  EXPECT_TRUE(SlurmStep("/s", "1").stop(nanoseconds(0))) << "nothing is left";
}

TEST_F(Slurm, AStepThatObeysIsNotKilled) {
  const std::string name = name_of("/s", "obeys");
  write("steps", "12.0 " + name + "\n");
  EXPECT_TRUE(SlurmStep("/s", "obeys").stop(std::chrono::hours(1)));
  EXPECT_EQ(read("cancelled"), "--signal=TERM 12.0\n");
  EXPECT_EQ(std::ranges::count(read("asked"), '\n'), 4) << "of steps and jobs, before and after";
  EXPECT_THAT(read("asked"), HasSubstr("-h --steps --me -o"));
}

TEST_F(Slurm, AJobThatStillWaitsIsCancelled) {
  write("jobs", "13 " + name_of("/s", "waits") + "\n");
  EXPECT_TRUE(SlurmStep("/s", "waits").stop(nanoseconds(0)));
  EXPECT_THAT(read("cancelled"), ::testing::EndsWith("--signal=KILL 13\n13\n"));
  EXPECT_EQ(read("jobs"), "");
}

TEST_F(Slurm, WhatASearchLeftIsEndedAndCounted) {
  EXPECT_EQ(end_left_steps("/s").count, 0U);
  write("steps", "12.0 " + name_of("/s", "1") + "\n12.1 " + name_of("/t", "1") + "\n");
  write("jobs", "13 " + name_of("/s", "waits") + "\n14 my training\n");
  const LeftSteps left = end_left_steps("/s");
  EXPECT_EQ(left.count, 2U);
  EXPECT_TRUE(left.ended);
  EXPECT_EQ(read("steps"), "12.1 " + name_of("/t", "1") + "\n");
  EXPECT_EQ(read("jobs"), "14 my training\n");
}

}  // namespace
}  // namespace redline::tuner
