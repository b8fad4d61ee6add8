#include "tuner/search/runnable.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tuner/search/testing_history.h"

namespace redline::tuner {
namespace {

class RunnableOf : public ::testing::Test {
 protected:
  void add(const Config& config, Outcome outcome, double rate = 100) {
    trials_.add(config, outcome == Outcome::kOk ? ran_at(rate) : ended_with(outcome));
  }
  [[nodiscard]] Runnable runnable(Objective objective = Objective::kSamplesPerSecond) {
    history_ = trials_.history(space_, objective);
    return {space_, settings_, *history_};
  }

  Space space_ = *make_space({"batch_size=1..1024", "amp=off,bf16", "num_workers=0..8"},
                             {"train", "{batch_size}{amp}{num_workers}"}, {.cores = 8});
  SearchSettings settings_{.machine = {.cores = 8},
                           .memory_limit_bytes = {},
                           .longest_measurement = std::chrono::seconds(30),
                           .steps_a_trial = 10};
  TrialList trials_;
  std::optional<History> history_;
};

Config config(const char* batch, const char* amp, const char* workers) {
  return {{"amp", amp}, {"batch_size", batch}, {"num_workers", workers}};
}

TEST_F(RunnableOf, ABatchIsAffordableWhoseStepsATrialHasTimeFor) {
  add(config("8", "off", "0"), Outcome::kOk, 100);
  add(config("16", "off", "0"), Outcome::kOk, 200);
  EXPECT_EQ(runnable().affordable_batch(), 600) << "6,000 samples in ten steps, where no rank told";
  trials_.first().readers = 3;
  EXPECT_EQ(runnable().affordable_batch(), 200) << "of each of three ranks";
  EXPECT_EQ(runnable(Objective::kMetric).affordable_batch(), HUGE_VAL) << "may be no samples";
  settings_.longest_measurement = std::chrono::seconds(0);
  EXPECT_EQ(runnable().affordable_batch(), HUGE_VAL);
}

TEST_F(RunnableOf, ABatchThatRanIsAffordableHoweverSlowItsStepsWere) {
  add(config("1024", "off", "1"), Outcome::kGpuOom);
  add(config("512", "off", "0"), Outcome::kOk, 6);
  add(config("8", "off", "0"), Outcome::kOk, 6);
  EXPECT_EQ(runnable().affordable_batch(), 512) << "18 by the rate";
}

TEST_F(RunnableOf, ReadersAreThoseOfTheFirstTrialThatRan) {
  add(config("1024", "off", "0"), Outcome::kGpuOom);
  trials_.first().readers = 4;  // before it was known that pairs of them read the same samples
  add(config("8", "off", "0"), Outcome::kOk, 200);
  trials_.last().readers = 2;
  EXPECT_EQ(runnable().affordable_batch(), 300) << "6,000 samples in ten steps of two ranks";
}

TEST_F(RunnableOf, AValueThatOnlyFailedIsUnlikelierWithEachFailure) {
  add(config("8", "off", "0"), Outcome::kOk);
  add(config("8", "bf16", "1"), Outcome::kCrash);
  EXPECT_DOUBLE_EQ(runnable().chance_of_values(config("8", "bf16", "0")), 0.3);
  EXPECT_DOUBLE_EQ(runnable().chance_of_values(config("8", "bf16", "1")), 0.09);
  EXPECT_DOUBLE_EQ(runnable().chance_of_values(config("8", "off", "0")), 1);
  EXPECT_DOUBLE_EQ(runnable().chance_of_values({}), 1);
  add(config("8", "bf16", "2"), Outcome::kHang);
  add(config("8", "off", "3"), Outcome::kGpuOom);
  EXPECT_DOUBLE_EQ(runnable().chance_of_values(config("8", "bf16", "0")), 0.09);
  EXPECT_DOUBLE_EQ(runnable().chance_of_values(config("8", "off", "3")), 1)
      << "too large, no fault";
  add(config("4", "bf16", "0"), Outcome::kOk);
  EXPECT_DOUBLE_EQ(runnable().chance_of_values(config("8", "bf16", "0")), 1) << "it ran";
}

TEST_F(RunnableOf, WhatFilledTheHostIsNotAskedAgain) {
  add(config("64", "off", "4"), Outcome::kShmFull);  // eight batches of 64
  const Runnable shm = runnable();
  EXPECT_FALSE(shm.fits_host(config("64", "off", "4"), 64));
  EXPECT_TRUE(shm.fits_host(config("64", "off", "3"), 64));
  EXPECT_FALSE(shm.fits_host(config("128", "off", "2"), 128)) << "as many samples, in larger ones";
  EXPECT_TRUE(shm.fits_host(config("32", "off", "8"), 32)) << "smaller batches may fit";
  trials_.first().outcome = Outcome::kHostOom;
  EXPECT_TRUE(runnable().fits_host(config("64", "off", "4"), 64));
  trials_.first().not_started = true;
  EXPECT_FALSE(runnable().fits_host(config("64", "off", "4"), 64));
}

}  // namespace
}  // namespace redline::tuner
