#include "tuner/client/trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "tests/temporary_folder.h"
#include "tests/variables.h"
#include "tuner/trial/report_channel.h"

namespace redline {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

class TrialClient : public ::testing::Test, protected testing::Variables {
 protected:
  /// A trial that is measured through a real FIFO and has already reported its begin.
  Trial measured() {
    channel_.emplace(*tuner::ReportChannel::create(path_));
    set("REDLINE_TRIAL", path_);
    Trial trial = Trial::from_environment();
    const auto reports = channel_->read();
    EXPECT_TRUE(reports.size() == 1 && std::holds_alternative<tuner::BeginReport>(reports[0]));
    return trial;
  }

  const testing::TemporaryFolder folder_;
  std::string path_ = folder_ / "reports";
  std::optional<tuner::ReportChannel> channel_;
};

TEST_F(TrialClient, OutsideOfATrialEverythingIsTheProgramsOwn) {
  Trial trial = Trial::from_environment();
  EXPECT_FALSE(trial.is_measured());
  EXPECT_EQ(trial.knob("batch_size", 64), 64);
  EXPECT_EQ(trial.knob("amp", "off"), "off");
  EXPECT_TRUE(trial.knob("cudnn_benchmark", true));
  trial.step(64);
  trial.out_of_memory("nobody listens");
}

TEST_F(TrialClient, KnobsOfTheTrialWin) {
  set("REDLINE_KNOBS", R"({"batch_size": 256, "amp": "bf16", "tf32": "on", "layers": "many"})");
  Trial trial = Trial::from_environment();
  EXPECT_EQ(trial.knob("batch_size", 64), 256);
  EXPECT_EQ(trial.knob("amp", "off"), "bf16");
  EXPECT_TRUE(trial.knob("tf32", false));
  EXPECT_EQ(trial.knob("layers", 3), 3) << "no number";
  EXPECT_FALSE(trial.knob("amp", false)) << "neither on nor off";
}

TEST_F(TrialClient, AKnobMayBeAFraction) {
  set("REDLINE_KNOBS", R"({"lr": "3e-4", "momentum": 0.95, "decay": "0.1x", "dropout": "much"})");
  Trial trial = measured();
  EXPECT_EQ(trial.knob("lr", 0.1), 3e-4);
  EXPECT_EQ(trial.knob("momentum", 0.9F), 0.95F);
  EXPECT_EQ(trial.knob("decay", 0.01), 0.01) << "no number";
  EXPECT_EQ(trial.knob("dropout", 0.5), 0.5) << "no number";
  EXPECT_EQ(trial.knob("clip", 1.0), 1) << "not set";
  trial.step(1);
  const auto seen = std::get<tuner::SeenReport>(channel_->read().at(0)).knobs;
  EXPECT_THAT(seen, ElementsAre(Pair("clip", "1"), Pair("decay", "0.01"), Pair("dropout", "0.5"),
                                Pair("lr", "3e-4"), Pair("momentum", "0.95")));
}

TEST_F(TrialClient, ANumberThatDoesNotFitIsNoValueOfTheKnob) {
  set("REDLINE_KNOBS", R"({"most": "300", "least": "-1", "long": "9223372036854775808"})");
  constexpr uint64_t kLarge = (uint64_t{1} << 63) + 1;
  Trial trial = measured();
  EXPECT_EQ(trial.knob("most", uint8_t{7}), 7);
  EXPECT_EQ(trial.knob("most", 'a'), 'a');
  EXPECT_EQ(trial.knob("most", int16_t{7}), 300);
  EXPECT_EQ(trial.knob("least", 5U), 5U);
  EXPECT_EQ(trial.knob("long", int64_t{8}), 8);
  EXPECT_EQ(trial.knob("long", uint64_t{8}), uint64_t{1} << 63);
  EXPECT_EQ(trial.knob("unset", kLarge), kLarge);
  trial.step(1);
  const auto seen = std::get<tuner::SeenReport>(channel_->read().at(0)).knobs;
  EXPECT_THAT(seen, ElementsAre(Pair("least", "5"), Pair("long", "9223372036854775808"),
                                Pair("most", "300"), Pair("unset", "9223372036854775809")));
}

/// The next test runs this one in a copy of the program, where the variable is set.
TEST_F(TrialClient, HasNoKnobsWithoutAVariable) {
  EXPECT_EQ(Trial::from_environment().knob("batch_size", 64), 64);
}

TEST_F(TrialClient, ASetUidProgramTakesNothingFromTheEnvironment) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make a program of another user's";
  if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) GTEST_SKIP() << "no_new_privs is set here";
  struct statvfs mount {};
  ASSERT_EQ(statvfs(folder_.path().c_str(), &mount), 0);
  if ((mount.f_flag & ST_NOSUID) != 0) GTEST_SKIP() << "temporary files are mounted with nosuid";
  constexpr uid_t kNobody = 65534;
  set("REDLINE_KNOBS", R"({"batch_size": 256})");
  const std::string copy = path_ + ".copy";
  const auto fails_as = [&](mode_t mode) {
    EXPECT_EQ(chmod(copy.c_str(), mode), 0);
    const std::string choice = " --gtest_filter=*HasNoKnobsWithoutAVariable";
    return std::system((copy + choice + " >/dev/null 2>&1").c_str()) != 0;
  };
  std::filesystem::copy_file("/proc/self/exe", copy);
  const int given = chown(copy.c_str(), kNobody, kNobody);
  if (given != 0 && errno == EINVAL) GTEST_SKIP() << "this container has no other users";
  ASSERT_EQ(given, 0);
  EXPECT_TRUE(fails_as(0755)) << "an ordinary program takes the knob";
  EXPECT_FALSE(fails_as(04755));
  std::filesystem::remove(copy);
}

TEST_F(TrialClient, ReportsWhatAutotuneReads) {
  set("RANK", "1");
  set("WORLD_SIZE", "4");
  Trial trial = measured();
  ASSERT_TRUE(trial.is_measured());
  (void)trial.knob("batch_size", 64);
  trial.memory(3 << 20, 8 << 20);
  trial.step(64);
  const auto reports = channel_->read();
  ASSERT_EQ(reports.size(), 2);
  EXPECT_EQ(std::get<tuner::SeenReport>(reports[0]).knobs.at("batch_size"), "64");
  const auto& step = std::get<tuner::StepReport>(reports[1]);
  EXPECT_EQ(step.rank, 1);
  EXPECT_EQ(step.world_size, 4);
  EXPECT_EQ(step.steps, 1);
  EXPECT_EQ(step.samples, 64);
  EXPECT_EQ(step.peak_memory_bytes, 3U << 20);
  EXPECT_EQ(step.memory_capacity_bytes, 8U << 20);
}

TEST_F(TrialClient, KnobsThatTheProgramNeverAsksForAreOfNoUse) {
  set("REDLINE_KNOBS", R"({"amp": "bf16", "batch_size": "64"})");
  Trial trial = measured();
  (void)trial.knob("batch_size", 32);
  trial.step(64);
  const auto reports = channel_->read();
  ASSERT_EQ(reports.size(), 3);
  const auto& unused = std::get<tuner::UnusedReport>(reports[1]);
  EXPECT_EQ(unused.knobs, std::vector<std::string>{"amp"});
  EXPECT_EQ(unused.why, "the program does not ask redline::Trial for it");
}

TEST_F(TrialClient, TheLastStepsAreSentAtTheEnd) {
  {
    Trial trial = measured();
    for (int step = 0; step < 100; ++step) trial.step(2);
  }
  const auto reports = channel_->read();
  EXPECT_LT(reports.size(), 100) << "no system call a step";
  EXPECT_EQ(std::get<tuner::StepReport>(reports.back()).samples, 200);
}

TEST_F(TrialClient, AFailureIsSaidWholeAndMovingKeepsTheChannel) {
  Trial first = measured();
  Trial trial = std::move(first);
  trial.out_of_memory(std::string(10'000, '\xff'));
  const auto reports = channel_->read();
  ASSERT_EQ(reports.size(), 1);
  EXPECT_EQ(std::get<tuner::FailureReport>(reports[0]).kind, "gpu_oom");
  EXPECT_EQ(channel_->garbage(), 0);
}

TEST_F(TrialClient, AFailureBeforeTheFirstStepTellsWhichBatchWasTooLarge) {
  Trial trial = measured();
  (void)trial.knob("batch_size", 64);
  trial.out_of_memory("too large");
  const auto reports = channel_->read();
  ASSERT_EQ(reports.size(), 2);
  EXPECT_EQ(std::get<tuner::SeenReport>(reports[0]).knobs.at("batch_size"), "64");
  EXPECT_EQ(std::get<tuner::FailureReport>(reports[1]).kind, "gpu_oom");
}

TEST_F(TrialClient, AnAllocationWithoutAStepIsOneRank) {
  set("SLURM_PROCID", "0");
  set("SLURM_NTASKS", "4");
  Trial trial = measured();
  trial.step(64);
  const auto step = std::get<tuner::StepReport>(channel_->read().back());
  EXPECT_EQ(step.world_size, 1);
}

TEST_F(TrialClient, ALaunchWhoseNumbersAreMinusOneIsOneRank) {
  set("RANK", "-1");
  set("WORLD_SIZE", "-1");
  Trial trial = measured();
  trial.step(64);
  const auto step = std::get<tuner::StepReport>(channel_->read().back());
  EXPECT_EQ(step.rank, 0);
  EXPECT_EQ(step.world_size, 1);
}

TEST_F(TrialClient, GarbageInTheEnvironmentIsNoKnob) {
  for (const char* text : {"", "{", "[1]", "null", R"({"batch_size": [1]})"}) {
    set("REDLINE_KNOBS", text);
    EXPECT_EQ(Trial::from_environment().knob("batch_size", 7), 7) << text;
  }
}

}  // namespace
}  // namespace redline
