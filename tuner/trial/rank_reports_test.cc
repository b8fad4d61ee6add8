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
  take(step(0, 2, 0), 9);
  EXPECT_FALSE(reports.resting_memory()) << "there is no GPU";
  take(step(0, 2, 8), 5);
  take(step(1, 2, 7), 3);
  EXPECT_EQ(reports.resting_memory(), 5U);
  take(step(0, 2, 8), 4);
  EXPECT_EQ(reports.resting_memory(), 4U);
  take(step(0, 2, 7), 1);
  EXPECT_EQ(reports.device_memory(), 8U);
  take(step(1, 2, 8), 3);
  EXPECT_EQ(reports.resting_memory(), 4U) << "the first of two that are as full stays";
}

TEST(RankReports, WhatRankZeroSeesOfTheKnobsCounts) {
  RankReports reports{Measurement::Plan{}};
  reports.take(SeenReport{0, {{"batch_size", "64"}}});
  reports.take(SeenReport{0, {{"batch_size", "8"}, {"amp", "off"}}});
  reports.take(SeenReport{1, {{"tf32", "on"}}});
  EXPECT_EQ(reports.observed(), (Config{{"amp", "off"}, {"batch_size", "64"}}));
  reports.take(UnusedReport{0, {"amp", "tf32"}, "no model"});
  reports.take(UnusedReport{0, {"num_workers"}, "a stream", 1});
  reports.take(UnusedReport{1, {"compile"}, "no model", 7});
  EXPECT_EQ(reports.unused(), (Config{{"amp", "no model"}, {"tf32", "no model"}}));
  ASSERT_EQ(reports.limits().size(), 1U);
  EXPECT_EQ(reports.limits().at("num_workers").most, 1);
  EXPECT_EQ(reports.limits().at("num_workers").why, "a stream");
}

TEST(RankReports, TheSlowestRanksCompilationCounts) {
  RankReports reports{Measurement::Plan{}};
  EXPECT_FALSE(reports.compiling());
  EXPECT_EQ(reports.compile_time().count(), 0);
  reports.take(CompileReport{0, false, 50});
  reports.take(CompileReport{1, false, 40});
  EXPECT_FALSE(reports.compiling());
  EXPECT_EQ(reports.compile_time().count(), 50);
  EXPECT_EQ(reports.last_sign_ns(), 0) << "before the first step";
  reports.take(step(0, 2, 1));
  reports.take(CompileReport{1, true, int64_t{1} << 60});
  EXPECT_TRUE(reports.compiling());
  EXPECT_GT(reports.compile_time().count(), int64_t{1} << 60) << "with what runs now";
  EXPECT_EQ(reports.last_sign_ns(), 0) << "a step without a time is none";
}

TEST(RankReports, TheLatestSignIsAStepOrACompilation) {
  RankReports reports{Measurement::Plan{}};
  StepReport early = step(0, 1, 1);
  early.time_ns = 5;
  reports.take(early);
  EXPECT_EQ(reports.last_sign_ns(), 5);
  reports.take(CompileReport{0, true, 0});
  EXPECT_GT(reports.last_sign_ns(), 5);
  EXPECT_LT(reports.last_sign_ns(), INT64_MAX);
  early.time_ns = INT64_MAX;
  reports.take(early);
  EXPECT_EQ(reports.last_sign_ns(), INT64_MAX);
}

TEST(RankReports, PassesAreCountedInWords) {
  const auto said = [](int64_t forwards, int64_t backwards) {
    RankReports reports{Measurement::Plan{}};
    reports.take(ActivityReport{0, forwards, backwards, 0});
    return reports.activity();
  };
  EXPECT_EQ(RankReports{Measurement::Plan{}}.activity(), "");
  EXPECT_EQ(said(1, 2), "1 forward pass with gradients, 2 backward passes");
  EXPECT_EQ(said(0, 1), "no forward passes with gradients, 1 backward pass");
}

TEST(RankReports, AnEpochCountsSamplesThatRanksShareOnce) {
  RankReports reports{Measurement::Plan{}};
  for (const int rank : {0, 1, 2, 3}) {
    StepReport report = step(rank, 4, 0);
    report.epoch_samples = 100;
    report.batches_digest = rank < 2 ? "first" : "second";
    reports.take(report);
  }
  EXPECT_EQ(reports.epoch_samples(), 200);
}

TEST(RankReports, AnEpochIsOfAllRanksAndANoteIsKeptOnce) {
  RankReports reports{Measurement::Plan{}};
  StepReport report = step(1, 3, 0);
  report.peak_memory_bytes = std::nullopt;
  report.epoch_samples = 100;
  report.memory_capacity_bytes = 9;
  reports.take(report);
  EXPECT_EQ(reports.epoch_samples(), 300);
  EXPECT_EQ(reports.memory_capacity(), 9);
  EXPECT_EQ(reports.device_memory(), 0U);
  for (const char* text : {"one", "two", "one"}) reports.take(NoteReport{0, text});
  EXPECT_EQ(reports.notes(), (std::vector<std::string>{"one", "two"}));
  EXPECT_FALSE(reports.first_failure());
  reports.take(FailureReport{2, "gpu_oom", "", ""});
  EXPECT_TRUE(reports.first_failure());
  EXPECT_EQ(reports.failures().at(0).rank, 2);
}

}  // namespace
}  // namespace redline::tuner
