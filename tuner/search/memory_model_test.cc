#include "tuner/search/memory_model.h"

#include <gtest/gtest.h>

#include "tuner/search/testing_history.h"

namespace redline::tuner {
namespace {

constexpr double kGiB = 0x1p30;

class MemoryModelOf : public ::testing::Test {
 protected:
  /// m = 1 GiB + b / 32 GiB; with bf16 a sample takes half of that.
  static double peak(int batch, const std::string& amp) {
    return kGiB * (1 + batch / (amp == "off" ? 32.0 : 64.0));
  }
  void add(int batch, const std::string& amp, Outcome outcome, bool told = true) {
    TrialResult result = outcome == Outcome::kOk ? ran_at(100, 1) : ended_with(outcome);
    if (outcome == Outcome::kOk && told) {
      result.peak_memory_bytes = static_cast<uint64_t>(peak(batch, amp));
    }
    add_trial(history_, config(batch, amp), result);
  }
  [[nodiscard]] double chance(int batch, const std::string& amp) const {
    return MemoryModel(space_, settings_, history_).chance(config(batch, amp));
  }
  static Config config(int batch, const std::string& amp) {
    return {{"batch_size", std::to_string(batch)}, {"amp", amp}, {"num_workers", "2"}};
  }

  Space space_ = *make_space({"batch_size=1..4096", "amp=off,bf16", "num_workers=0..8"}, {"train"},
                             {.gpu = true, .cores = 8});
  SearchSettings settings_{.machine = {.gpu = true, .gpus = 1, .cores = 8},
                           .memory_limit_bytes = static_cast<uint64_t>(20 * kGiB)};
  History history_{space_};
};

TEST_F(MemoryModelOf, TwoTrialsShowTheLine) {
  add(32, "off", Outcome::kOk);
  EXPECT_LT(chance(576, "off"), 0.9) << "one trial does not show what a sample takes";
  add(96, "off", Outcome::kOk);
  EXPECT_GT(chance(568, "off"), 0.9);
  EXPECT_LT(chance(640, "off"), 0.1);
  const auto bytes = MemoryModel(space_, settings_, history_).expected_bytes(config(320, "off"));
  EXPECT_NEAR(*bytes, peak(320, "off"), 0.05 * peak(320, "off"));
}

TEST_F(MemoryModelOf, AnotherPrecisionKeepsItsWeights) {
  add(32, "off", Outcome::kOk);
  add(96, "off", Outcome::kOk);
  add(96, "bf16", Outcome::kOk);
  EXPECT_GT(chance(1088, "bf16"), 0.7);
  EXPECT_LT(chance(1408, "bf16"), 0.1);
}

/// Peaks of pytorch/examples' ImageNet training on an H100.
TEST_F(MemoryModelOf, WhatARankHoldsBetweenStepsShowsTheLineAtOnce) {
  const auto ran = [this](int batch, const std::string& amp, uint64_t peak, uint64_t resting) {
    TrialResult result = ran_at(100, 1);
    result.peak_memory_bytes = peak;
    result.resting_memory_bytes = resting;
    add_trial(history_, config(batch, amp), result);
  };
  const auto expected = [this](int batch, const std::string& amp) {
    return *MemoryModel(space_, settings_, history_).expected_bytes(config(batch, amp)) * 1e-9;
  };
  ran(256, "off", 27'040'677'888, 480'000'000);
  EXPECT_NEAR(expected(512, "off"), 53.6, 2);
  EXPECT_NEAR(expected(64, "off"), 7.1, 1);
  ran(432, "bf16", 22'231'908'352, 570'000'000);
  EXPECT_NEAR(expected(1432, "bf16"), 77.7, 7);
}

TEST_F(MemoryModelOf, DefaultsThatDiedEarlyDoNotHideHowMuchTheGpuHas) {
  settings_.memory_limit_bytes = {};
  add(2048, "off", Outcome::kGpuOom);
  TrialResult ran = ran_at(100, 1);
  ran.ranks = 1;
  ran.peak_memory_bytes = static_cast<uint64_t>(peak(288, "off"));  // 10 GiB
  ran.resting_memory_bytes = static_cast<uint64_t>(kGiB);
  ran.memory_capacity_bytes = static_cast<uint64_t>(12 * kGiB);
  add_trial(history_, config(288, "off"), ran);
  EXPECT_LT(chance(480, "off"), 0.1) << "it takes 16 GiB";
  EXPECT_EQ(MemoryModel(space_, settings_, history_).limit_bytes(), ran.memory_capacity_bytes);
}

TEST_F(MemoryModelOf, WithoutReadingsWhatRanAndWhatDidNotAreTheBounds) {
  settings_.memory_limit_bytes = {};
  add(32, "off", Outcome::kOk, false);
  EXPECT_GT(chance(16, "off"), 0.95);
  const double before = chance(256, "off");
  add(256, "off", Outcome::kGpuOom, false);
  EXPECT_LT(chance(256, "off"), 0.1);
  EXPECT_LT(chance(200, "off"), before);
  EXPECT_GT(chance(64, "off"), 0.5);
  EXPECT_FALSE(MemoryModel(space_, settings_, history_).expected_bytes(config(64, "off")));
}

TEST_F(MemoryModelOf, MemoryOfProcessesThatReportNothingIsNotExpected) {
  settings_.memory_limit_bytes = {};
  add(32, "off", Outcome::kOk);
  add(96, "off", Outcome::kOk);
  EXPECT_FALSE(MemoryModel(space_, settings_, history_).expected_bytes(config(64, "off")));
  settings_.has_memory_metric = true;
  EXPECT_TRUE(MemoryModel(space_, settings_, history_).expected_bytes(config(64, "off")));
}

TEST_F(MemoryModelOf, AFailureWhereTheLineSawRoomLowersTheLimit) {
  add(32, "off", Outcome::kOk);
  add(96, "off", Outcome::kOk);
  add(256, "off", Outcome::kGpuOom);  // it would take 9 GiB
  EXPECT_LT(chance(264, "off"), 0.1);
  EXPECT_LT(chance(640, "bf16"), 0.3) << "11 GiB";
  EXPECT_GT(chance(160, "off"), 0.5);
}

}  // namespace
}  // namespace redline::tuner
