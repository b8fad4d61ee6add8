#include "tuner/trial/rank_reports.h"

#include <gtest/gtest.h>

namespace redline::tuner {
namespace {

StepReport step(int rank, int world_size, uint64_t memory, int device = 0, int devices = 1) {
  StepReport report;
  report.rank = rank;
  report.world_size = world_size;
  report.peak_memory_bytes = memory;
  report.device = device;
  report.devices = devices;
  return report;
}

std::string fullest_of(const std::vector<StepReport>& steps) {
  RankReports reports{Measurement::Plan{}};
  for (const StepReport& each : steps) reports.take(each);
  return reports.fullest_gpu();
}

TEST(RankReports, TheFullestGpuIsNamedWhereThereAreSeveral) {
  EXPECT_EQ(fullest_of({}), "");
  EXPECT_EQ(fullest_of({step(0, 1, 5)}), "");
  EXPECT_EQ(fullest_of({step(0, 1, 5, 0, 2), step(0, 1, 9, 1, 2), step(0, 1, 9, 1, 2)}),
            "GPU 1, the fullest of 2");
  EXPECT_EQ(fullest_of({step(0, 2, 5), step(1, 2, 7)}), "rank 1, the fullest");
  EXPECT_EQ(fullest_of({step(0, 2, 8, 1, 2), step(1, 2, 7, 0, 2)}), "GPU 1 of rank 0, the fullest");
}

TEST(RankReports, WhatIsHeldBetweenStepsIsThatOfTheFullestGpuAndMaySink) {
  RankReports reports{Measurement::Plan{}};
  EXPECT_FALSE(reports.resting_memory());
  const auto take = [&](StepReport report, uint64_t resting) {
    report.resting_memory_bytes = resting;
    reports.take(report);
  };
  take(step(0, 2, 8), 5);
  take(step(1, 2, 7), 3);
  EXPECT_EQ(reports.resting_memory(), 5U);
  take(step(0, 2, 8), 4);
  EXPECT_EQ(reports.resting_memory(), 4U);
  take(step(1, 2, 8), 3);
  EXPECT_EQ(reports.resting_memory(), 4U) << "the first of two that are as full stays";
}

}  // namespace
}  // namespace redline::tuner
