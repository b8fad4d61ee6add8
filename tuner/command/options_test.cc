#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/command/command_line.h"

namespace redline::tuner {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// The error of `autotune OPTIONS -- train`; empty if the options are accepted.
std::string complaint_about(std::vector<std::string> words) {
  words.insert(words.begin(), "autotune");
  words.insert(words.end(), {"--", "train"});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  int status = 0;
  ::testing::internal::CaptureStderr();
  const auto options = parse_options(static_cast<int>(argv.size()), argv.data(), status);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(status, options ? 0 : kUsage) << said;
  return said;
}

TEST(Options, AMetricIsARegularExpressionWithOneGroup) {
  EXPECT_EQ(complaint_about({"--metric", "loss: (.*)"}), "");
  EXPECT_THAT(complaint_about({"--metric", "loss"}), HasSubstr("'loss' has 0 groups"));
  EXPECT_THAT(complaint_about({"--metric", "(a)(b)"}), HasSubstr("has 2 groups"));
  EXPECT_THAT(complaint_about({"--metric", "(a"}), HasSubstr("'(a'"));
}

Options options_of(std::vector<std::string> words) {
  words.insert(words.begin(), "autotune");
  words.insert(words.end(), {"--", "train"});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  int status = 0;
  return *parse_options(static_cast<int>(argv.size()), argv.data(), status);
}

TEST(Options, OnlyATimeoutThatTheUserGivesLetsAJobPause) {
  EXPECT_FALSE(options_of({}).prototype().may_pause);
  EXPECT_TRUE(options_of({"--trial-timeout", "30m"}).prototype().may_pause);
}

TEST(Options, AMeasurementMayTakeATenthOfTheBudgetWithinTheTimeout) {
  using std::chrono::seconds;
  EXPECT_EQ(options_of({}).longest_measurement(), seconds(60));
  EXPECT_EQ(options_of({"--budget", "1m"}).longest_measurement(), seconds(8));
  EXPECT_EQ(options_of({"--budget", "2h"}).longest_measurement(), seconds(120));
  EXPECT_EQ(options_of({"--budget", "2h", "--trial-timeout", "1h"}).longest_measurement(),
            seconds(720));
  EXPECT_EQ(options_of({"--trial-timeout", "5s"}).longest_measurement(), seconds(5));
}

TEST(Options, WhatAMetricCountsHasNoPrice) {
  EXPECT_EQ(complaint_about({"--cost-per-hour", "3"}), "");
  EXPECT_THAT(
      complaint_about({"--cost-per-hour", "3", "--metric", "rate (.*)"}),
      StartsWith("autotune: --cost-per-hour: it needs the samples that the hook counts, and "
                 "--metric may count anything, see autotune --help\n"));
  EXPECT_THAT(complaint_about({"--cost-per-hour", "3", "--objective", "steps"}),
              ::testing::HasSubstr("the hook counts, and --objective steps counts none, see"));
}

TEST(Options, ASlipIsToldWithWhatWasMeant) {
  EXPECT_EQ(complaint_about({"--bugdet=2m"}),
            "autotune: no such option: --bugdet; did you mean --budget? See autotune --help\n");
  EXPECT_EQ(complaint_about({"--cheese"}),
            "autotune: no such option or argument: --cheese, see autotune --help\n");
  EXPECT_THAT(complaint_about({"--knob", "x=8..4"}), StartsWith("autotune: --knob x=8..4: "));
}

TEST(Options, AForgottenValueIsNotTheMarkBehindIt) {
  for (const std::string name : {"--output", "--knob", "--study", "--budget"}) {
    EXPECT_EQ(complaint_about({name}),
              "autotune: " + name + " has no value before --, see autotune --help\n");
  }
  EXPECT_THAT(complaint_about({"--knob", "x=1,2", "-o"}),
              StartsWith("autotune: --output has no value before --"));
}

}  // namespace
}  // namespace redline::tuner
