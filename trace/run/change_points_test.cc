#include "trace/run/change_points.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace redline::trace {
namespace {

/// Noise in which neighbouring values are alike: each value keeps the share `memory` of the one
/// before.
std::vector<double> noise(size_t count, double deviation, double memory, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> own(0, deviation * std::sqrt(1 - memory * memory));
  std::vector<double> values(count);
  double value = std::normal_distribution<double>(0, deviation)(random);
  for (double& each : values) {
    value = memory * value + own(random);
    each = value;
  }
  return values;
}

TEST(ChangePoints, NoiseHasNone) {
  int alarms = 0, series = 0;
  for (const double memory : {0.0, 0.3, 0.6, 0.8}) {
    for (const size_t count : {size_t{64}, size_t{128}, size_t{256}}) {
      for (uint32_t seed = 0; seed < 100; ++seed, ++series) {
        alarms += segments_of(noise(count, 0.03, memory, seed), 5, 0.03).size() > 1 ? 1 : 0;
      }
    }
  }
  EXPECT_LE(alarms, series / 200);
}

TEST(ChangePoints, ALevelThatChangesIsFoundWhereItChanges) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    std::vector<double> values = noise(256, 0.03, 0.3, seed);
    for (size_t i = 100; i < values.size(); ++i) values[i] += 0.1;
    const auto begins = segments_of(values, 5, 0.03);
    ASSERT_EQ(begins.size(), 2U) << seed;
    EXPECT_NEAR(static_cast<double>(begins[1]), 100, 6) << seed;
  }
}

TEST(ChangePoints, ANoisyLevelIsNotCutBecauseAnotherIsQuiet) {
  int cut = 0;
  for (uint32_t seed = 0; seed < 100; ++seed) {
    std::vector<double> values = noise(120, 0.12, 0.5, seed);
    for (const double quiet : noise(120, 0.01, 0.3, seed + 1000)) values.push_back(1.5 + quiet);
    const auto begins = segments_of(values, 5, 0.03);
    ASSERT_GE(begins.size(), 2U) << seed;
    EXPECT_EQ(begins.front(), 0U) << seed;
    EXPECT_NE(std::find(begins.begin(), begins.end(), 120U), begins.end()) << seed;
    cut += begins.size() > 2 ? 1 : 0;
  }
  EXPECT_LE(cut, 2);
}

TEST(ChangePoints, AWhileThatPassesHasTwoEnds) {
  std::vector<double> values = noise(256, 0.03, 0.3, 7);
  for (size_t i = 100; i < 140; ++i) values[i] += 0.2;
  const auto begins = segments_of(values, 5, 0.03);
  ASSERT_EQ(begins.size(), 3U);
  EXPECT_NEAR(static_cast<double>(begins[1]), 100, 3);
  EXPECT_NEAR(static_cast<double>(begins[2]), 140, 3);
}

TEST(ChangePoints, WhatNeverDiffersHasNoNoiseAndAnyChangeOfItCounts) {
  std::vector<double> values(80, 1.0);
  EXPECT_EQ(segments_of(values, 5, 0.03).size(), 1U);
  for (size_t i = 30; i < 80; ++i) values[i] = 1.05;
  EXPECT_EQ(segments_of(values, 5, 0.03), (std::vector<size_t>{0, 30}));
  for (size_t i = 30; i < 80; ++i) values[i] = 1.02;
  EXPECT_EQ(segments_of(values, 5, 0.03).size(), 1U) << "smaller than what counts";
}

TEST(ChangePoints, ASteadyRiseIsACreep) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    std::vector<double> values = noise(256, 0.01, 0.3, seed);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] += 0.3 * std::clamp((static_cast<double>(i) - 64) / 128, 0.0, 1.0);
    }
    const auto creep = creep_of(values, 64, 0.05);
    ASSERT_TRUE(creep) << seed;
    EXPECT_NEAR(static_cast<double>(creep->begin), 64, 16) << seed;
    EXPECT_NEAR(static_cast<double>(creep->end), 192, 16) << seed;
    EXPECT_NEAR(creep->rise, 0.3, 0.02) << seed;
    EXPECT_FALSE(creep_of(values, 64, 0.4)) << "smaller than what counts";
    std::ranges::reverse(values);
    EXPECT_FALSE(creep_of(values, 64, 0.05)) << "a fall";
  }
}

TEST(ChangePoints, NoiseAndJumpsAreNoCreeps) {
  for (const double memory : {0.0, 0.3, 0.6, 0.8}) {
    for (uint32_t seed = 0; seed < 50; ++seed) {
      std::vector<double> values = noise(128, 0.1, memory, seed);
      EXPECT_FALSE(creep_of(values, 32, 0.05)) << memory << " " << seed;
      for (const size_t jump : {40 + seed, 70 + seed}) {
        for (size_t i = jump; i < values.size(); ++i) values[i] += 0.3;
        EXPECT_FALSE(creep_of(values, 32, 0.05)) << memory << " " << seed;
      }
    }
  }
}

TEST(ChangePoints, TooFewValuesHaveNone) {
  EXPECT_EQ(segments_of(std::vector<double>{1, 1, 1, 5, 5, 5}, 5, 0.03).size(), 1U);
  EXPECT_EQ(long_term_noise(std::vector<double>{1, 2}), 0);
}

}  // namespace
}  // namespace redline::trace
