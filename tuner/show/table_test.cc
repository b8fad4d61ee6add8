#include "tuner/show/table.h"

#include <gmock/gmock.h>

namespace redline::tuner {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class TableOf : public ::testing::Test {
 protected:
  std::string line_of(const std::string& why, double rate, const std::string& disturbance = "") {
    TrialResult result;
    result.outcome = Outcome::kOk;
    result.throughput = Throughput{rate, rate - 10, rate + 10};
    result.disturbance = disturbance;
    history_.add({.id = std::ssize(history_.trials()) + 1,
                  .config = {{"batch_size", "64"}},
                  .why = why,
                  .result = result});
    return Table(space_, TextStyle{}).line(history_);
  }

  Space space_ = *make_space({"batch_size=1..4096"}, {"train"}, {.gpu = false, .cores = 2});
  History history_{space_};
};

TEST_F(TableOf, ATrialsLineSaysWhatItWasFor) {
  EXPECT_THAT(line_of("default", 1000), EndsWith("  default\n"));
  EXPECT_THAT(line_of("batch", 2000), HasSubstr("best so far"));
  EXPECT_THAT(line_of("batch", 1500), Not(HasSubstr("best so far")));
  EXPECT_THAT(line_of(kConfirm, 2500), EndsWith("  confirming\n"));
}

TEST_F(TableOf, TheNumberOfATrialIsWhole) {
  for (int trial = 1; trial < 100; ++trial) (void)line_of("batch", 1000);
  EXPECT_THAT(line_of("batch", 1000), StartsWith("100 "));
}

TEST_F(TableOf, WhatDisturbedATrialIsSaidOfEveryKind) {
  EXPECT_THAT(line_of("default", 1000, "other programs"), EndsWith("  default, disturbed\n"));
  EXPECT_THAT(line_of("batch", 500, "other programs"), EndsWith("  disturbed\n"));
  EXPECT_THAT(line_of("batch", 2000, "other programs"), EndsWith("  best so far, disturbed\n"));
  EXPECT_THAT(line_of(kConfirm, 1000, "other programs"), EndsWith("  confirming, disturbed\n"));
}

}  // namespace
}  // namespace redline::tuner
