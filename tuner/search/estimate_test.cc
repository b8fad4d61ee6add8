#include "tuner/search/estimate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tuner/search/testing_history.h"

namespace redline::tuner {
namespace {

class Estimates : public ::testing::Test {
 protected:
  void add(const Config& config, double rate, double half_width, Outcome outcome = Outcome::kOk,
           const std::string& disturbance = "") {
    TrialResult result = outcome == Outcome::kOk ? ran_at(rate, half_width) : ended_with(outcome);
    result.disturbance = disturbance;
    add_trial(history_, config, result);
  }
  void add_again(const Config& config, double rate, const std::string& why = kConfirm) {
    add_trial(history_, config, ran_at(rate, 0.1), why);
  }
  Estimate of(const Config& config) {
    return *estimate(history_, config, spread_between_runs(history_));
  }

  Space space_ = *make_space({"x=1,2,3"}, {"{x}"}, {});
  History history_{space_};
  const Config slow_ = {{"x", "1"}};
  const Config fast_ = {{"x", "2"}};
};

TEST_F(Estimates, OneRunKeepsItsOwnInterval) {
  add(slow_, 100, 4);
  EXPECT_NEAR(of(slow_).throughput.low, 96, 1e-9);
  EXPECT_NEAR(of(slow_).throughput.high, 104, 1e-9);
}

TEST_F(Estimates, RunsThatDifferWidenIt) {
  add(slow_, 90, 0.1);
  add(slow_, 110, 0.1);
  // s/mean = 0.1414 with one degree of freedom: 12.706 * 0.1414 / sqrt(2) = 127 % of the mean.
  const Estimate estimate = of(slow_);
  EXPECT_DOUBLE_EQ(estimate.throughput.samples_per_s, 100);
  EXPECT_NEAR(estimate.throughput.high, 100 * (1 + 12.706 * 0.1), 0.01);
  EXPECT_EQ(estimate.throughput.low, 0);
}

TEST_F(Estimates, ADisturbedRunDoesNotCountBesideOneThatWasNot) {
  add(fast_, 100, 1);
  add(fast_, 78, 1, Outcome::kOk, "other programs used 1.3 of 2 processors");
  EXPECT_DOUBLE_EQ(of(fast_).throughput.samples_per_s, 100);
  EXPECT_EQ(of(fast_).runs, 1);
  add(slow_, 60, 1, Outcome::kOk, "other programs used 1.3 of 2 processors");
  EXPECT_DOUBLE_EQ(of(slow_).throughput.samples_per_s, 60) << "it has no other run";
}

TEST_F(Estimates, AFirstRunThatAllOthersBeatByAMultipleTellsNothing) {
  add(slow_, 50, 0.1);
  add_again(slow_, 100);
  EXPECT_DOUBLE_EQ(of(slow_).score.samples_per_s, 75) << "which of the two is the usual one?";
  add_again(slow_, 102);
  EXPECT_DOUBLE_EQ(of(slow_).score.samples_per_s, 101);
  EXPECT_EQ(of(slow_).runs, 2);
  EXPECT_GT(of(slow_).score.low, 80);
  add_again(slow_, 68);
  EXPECT_DOUBLE_EQ(of(slow_).score.samples_per_s, 80) << "its runs vary";
  EXPECT_EQ(of(slow_).runs, 4);
  EXPECT_LT(of(slow_).score.low, 50);
}

TEST_F(Estimates, AConfirmingRunCountsHoweverSlowItIs) {
  add(fast_, 100, 0.1);
  for (const double rate : {40, 100, 100}) add_again(fast_, rate);
  EXPECT_DOUBLE_EQ(of(fast_).score.samples_per_s, 85);
}

TEST_F(Estimates, WhatRanOnceMoreWithoutBeingSlowAgainHasOneRun) {
  add(slow_, 30, 0.1);
  add_again(slow_, 120, kOnceMore);
  EXPECT_DOUBLE_EQ(of(slow_).score.samples_per_s, 120);
  EXPECT_EQ(spread_between_runs(history_).degrees_of_freedom, 0);
  add(fast_, 90, 0.1);
  add_again(fast_, 110, kOnceMore);
  EXPECT_DOUBLE_EQ(of(fast_).score.samples_per_s, 100) << "it was not slower by a multiple";
}

TEST_F(Estimates, WhatWasNotConfirmedTookPartInNoRound) {
  for (const Config& config : {slow_, fast_}) {
    add(config, 100, 0.1);
    for (int run = 0; run < 3; ++run) add_again(config, 100);
  }
  const Config other = {{"x", "3"}};
  add(other, 80, 0.1);
  add_again(other, 79, kOnceMore);
  EXPECT_EQ(spread_between_runs(history_).within_round_degrees, 3);
}

TEST_F(Estimates, SpreadIsPooledOverConfigurations) {
  for (const double rate : {99.0, 101.0}) add(slow_, rate, 0.1);
  for (const double rate : {198.0, 202.0}) add(fast_, rate, 0.1);
  EXPECT_EQ(spread_between_runs(history_).degrees_of_freedom, 2);
  const Ratio speedup = ratio(of(fast_), of(slow_), {});
  EXPECT_DOUBLE_EQ(speedup.value, 2);
  EXPECT_GT(speedup.low, 1.8);
  EXPECT_LT(speedup.high, 2.2);
}

TEST_F(Estimates, DriftFromRoundToRoundIsNoDifferenceBetweenConfigurations) {
  // The machine lost 40 % between the rounds; the ratio held to within 2 %.
  add(slow_, 100, 0.1);
  add(fast_, 150, 0.1);
  add_again(slow_, 60);
  add_again(fast_, 91.5);
  const RunSpread spread = spread_between_runs(history_);
  EXPECT_EQ(spread.within_round_degrees, 1);
  EXPECT_NEAR(spread.within_round, std::log(1.525 / 1.5) / 2, 1e-9);
  const Ratio speedup = ratio(of(fast_), of(slow_), spread);
  EXPECT_NEAR(speedup.value, 1.509, 0.001);
  EXPECT_GT(speedup.low, 1.3);
  EXPECT_LT(ratio(of(fast_), of(slow_), {}).low, 1) << "without rounds it would prove nothing";
}

TEST_F(Estimates, FewPrintedDigitsKeepEqualFiguresFromBeingCertain) {
  // What runs at 10.5 may be printed as 10 or as 11.
  for (const double rate : {10.0, 11.0}) add(rate > 10 ? fast_ : slow_, rate, 0);
  EXPECT_EQ(of(fast_).score.high, 11) << "no noise is known yet";
  for (const double rate : {10.0, 11.0}) add(rate > 10 ? fast_ : slow_, rate, 0);
  EXPECT_NEAR(of(fast_).score.low, 10.5, 1e-9);
  EXPECT_NEAR(of(fast_).score.high, 11.5, 1e-9);
  const RunSpread spread = spread_between_runs(history_);
  const Ratio speedup = ratio(of(fast_), of(slow_), spread);
  EXPECT_LT(speedup.low, 1);
  EXPECT_NEAR(speedup.high, 11.5 / 9.5, 0.01);
  EXPECT_DOUBLE_EQ(ratio(of(slow_), of(fast_), spread).high, 1 / speedup.low);
}

TEST_F(Estimates, OtherFiguresTellHowManyDigitsArePrinted) {
  for (const double rate : {10.0, 10.0}) add(slow_, rate, 0);
  for (const double rate : {15.25, 15.25}) add(fast_, rate, 0);
  add({{"x", "3"}}, 9.125, 0);
  EXPECT_NEAR(of(slow_).score.low, 9.995, 1e-9);
  EXPECT_NEAR(of(fast_).score.high, 15.255, 1e-9) << "9.125 has another size";
  EXPECT_GT(ratio(of(fast_), of(slow_), spread_between_runs(history_)).low, 1.5);
}

TEST_F(Estimates, StepsThatGaveAnErrorWereNotPrinted) {
  for (const double rate : {10.0, 10.0}) add(slow_, rate, 0.001);
  EXPECT_NEAR(of(slow_).score.high, 10.001, 0.0005);
}

TEST_F(Estimates, AConfigurationMustRunEveryTime) {
  add(fast_, 200, 1);
  add(fast_, 0, 0, Outcome::kGpuOom);
  EXPECT_FALSE(estimate(history_, fast_, {}));
  EXPECT_FALSE(estimate(history_, slow_, {})) << "never ran";
}

TEST_F(Estimates, ACrashThatWasTriedAgainCountsByItsSecondRun) {
  add(fast_, 0, 0, Outcome::kCrash);
  add(fast_, 200, 1);
  EXPECT_EQ(of(fast_).runs, 1);
}

}  // namespace
}  // namespace redline::tuner
