#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/command/command_line.h"

namespace redline::tuner {
namespace {

using ::testing::HasSubstr;

/// The error of `autotune --metric METRIC`; empty if the metric is accepted.
std::string complaint_about_metric(std::string metric) {
  std::string words[] = {"autotune", "--metric", std::move(metric), "--", "train"};
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
  EXPECT_EQ(complaint_about_metric("loss: (.*)"), "");
  EXPECT_THAT(complaint_about_metric("loss"), HasSubstr("'loss' has 0 groups"));
  EXPECT_THAT(complaint_about_metric("(a)(b)"), HasSubstr("has 2 groups"));
  EXPECT_THAT(complaint_about_metric("(a"), HasSubstr("'(a'"));
}

}  // namespace
}  // namespace redline::tuner
