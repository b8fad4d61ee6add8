// Tests each analysis on whole training traces that every clone has. tests/training_run.h sets all
// their times by hand, and each figure here is counted from them by hand (a step of rank 0, in
// microseconds):
//
//   host      1600 aten::to    2200 conv2d    3600 addmm    5100 backward        9600 wait    12200
//   stream 7  copy 1850-2450   2850-4650   4750-6750   6850-8350   8400-9500   11650-12100
//   stream 20                                               all-reduce 8000-11600
//
// On rank 1 the product takes 900 us longer, and both ranks wait for it. In the other traces no
// rank is late, and the all-reduce ends at 10700.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/parsed_trace.h"
#include "tests/paths.h"
#include "tests/training_run.h"
#include "trace/analysis/ranks.h"
#include "trace/read/text.h"
#include "trace/report/report.h"

namespace redline::trace {
namespace {

using namespace redline::testing;
using ::testing::ElementsAre;

constexpr double kGemmUs = 2000, kSlowGemmUs = 2900;

struct Fixture {
  const char* path;
  TrainingRun run;
};

const std::vector<Fixture>& fixtures() {
  static const std::vector<Fixture> kAll = {
      {"samples/traces/rank0.pt.trace.json.gz", {0, kGemmUs, kSlowGemmUs}},
      {"samples/traces/rank1.pt.trace.json.gz", {1, kSlowGemmUs, kSlowGemmUs}},
      {"tests/fixtures/gpu/b200_graph.pt.trace.json.gz",
       {0, kGemmUs, kGemmUs, testing::kB200Graph}},
      {"tests/fixtures/gpu/mi300x.pt.trace.json.gz", {0, kGemmUs, kGemmUs, testing::kMi300x}}};
  return kAll;
}

std::string path_of(size_t index) {
  return redline::testing::source_dir() + "/" + fixtures()[index].path;
}

Analysis analysis_of(size_t index) {
  const auto trace = read_trace(path_of(index));
  EXPECT_TRUE(trace) << "the file is not there: run Fixtures.AreWhatTheGeneratorMakes";
  return trace ? analyze(*trace) : Analysis();
}

// As with the viewer's pictures, a fixture that differs is written into the build folder, to be
// looked at and copied.
TEST(Fixtures, AreWhatTheGeneratorMakes) {
  for (size_t i = 0; i < fixtures().size(); ++i) {
    const auto kept = read_trace(path_of(i));
    if (kept && (*kept)->text().hold(0, size_t{1} << 20).from(0) == fixtures()[i].run.json())
      continue;
    const auto now =
        std::filesystem::path(redline::testing::programs_dir()).parent_path() / fixtures()[i].path;
    std::filesystem::create_directories(now.parent_path());
    std::ofstream(now, std::ios::binary) << testing::gzip(fixtures()[i].run.json());
    ADD_FAILURE() << "If it is as it should be: cp " << now << " " << path_of(i);
  }
}

TEST(Fixtures, PartsOfAStep) {
  const Analysis analysis = analysis_of(0);
  ASSERT_EQ(analysis.steps.size(), 3);
  const auto us = [&](BreakdownPart part) { return analysis.breakdown.of(part) / kUs; };
  EXPECT_EQ(us(BreakdownPart::kKernel), 1800 + 2000 + 1500 + 1100 + 450);
  EXPECT_EQ(us(BreakdownPart::kMemcpy), 600);
  EXPECT_EQ(us(BreakdownPart::kCommunication), 3600 - 350 - 1100);
  // Calls while no GPU works: two launches of 90, one launch from 6800 to 6850, and the wait from
  // 11600 to 11650 and from 12100 to 12200.
  EXPECT_EQ(us(BreakdownPart::kRuntime), 90 + 90 + 50 + 50 + 100);
  EXPECT_EQ(us(BreakdownPart::kDataLoader), 1400);
  EXPECT_EQ(us(BreakdownPart::kCpu), 160 + 310 + 100 + 50);
  EXPECT_EQ(us(BreakdownPart::kOther), 14960 - 12000);
}

TEST(Fixtures, UseOfAGpuAndOverlap) {
  const GpuUse gpu = analysis_of(0).gpus.at(0);
  EXPECT_EQ(gpu.span_ns / kUs, 42060 - 1850);
  EXPECT_EQ(gpu.compute_ns / kUs, 3 * 6850);
  EXPECT_EQ(gpu.communication_ns / kUs, 3 * 3600);
  EXPECT_EQ(gpu.memory_ns / kUs, 3 * 600);
  EXPECT_EQ(gpu.busy_ns / kUs, 3 * (6850 + 2150 + 600));
  EXPECT_EQ(gpu.idle_ns, gpu.span_ns - gpu.busy_ns);
  EXPECT_DOUBLE_EQ(*gpu.communication_overlap, 1450.0 / 3600);
  EXPECT_DOUBLE_EQ(gpu.utilization, 3 * 9000.0 / 44980);
  EXPECT_DOUBLE_EQ(*gpu.tensor_core_share, (2000.0 + 1500) / 10450);
  EXPECT_DOUBLE_EQ(*gpu.tensor_core_eligible_share, (1800.0 + 2000 + 1500) / 10450);
  EXPECT_EQ(gpu.sm_efficiency, std::nullopt);
}

TEST(Fixtures, QueuesGapsCopiesAndMemory) {
  const Analysis analysis = analysis_of(0);
  ASSERT_TRUE(analysis.launches && analysis.idle);
  EXPECT_EQ(analysis.launches->graph_launches, 0);
  // Stream 7 waits for the host from the copy to 2850 and to the next step's copy, stream 20 from
  // one all-reduce to the next. Before the other gaps the next work was launched already.
  EXPECT_EQ(analysis.idle->host_wait_ns / kUs, 3 * 400 + 4700 + 4760 + 11350 + 11410);
  EXPECT_EQ(analysis.idle->other_ns / kUs, 3 * (100 + 100 + 50 + 2150));
  EXPECT_EQ(analysis.idle->kernel_wait_ns, 0);
  ASSERT_EQ(analysis.queues.size(), 2);
  // The times from each launch to its work's begin, over the time from the first launch to the last
  // begin.
  EXPECT_NEAR(analysis.queues[0].time_mean,
              3 * (150.0 + 250 + 650 + 1350 + 1600 + 2950) / (29960 + 11650 - 1700), 1e-9);
  ASSERT_EQ(analysis.copies.size(), 1);
  EXPECT_EQ(analysis.copies[0].bytes, 3 * 6291456);
  EXPECT_DOUBLE_EQ(*analysis.copies[0].bandwidth(), 6291456 / 600e-6);
  ASSERT_FALSE(analysis.memory.empty());
  EXPECT_EQ(analysis.memory[0].allocated_bytes, int64_t{328} << 20);
  EXPECT_EQ(analysis.memory[0].reserved_bytes, int64_t{384} << 20);
}

TEST(Fixtures, ExposedCollectives) {
  const Communication communication = analysis_of(0).communication;
  ASSERT_EQ(communication.table.size(), 1);
  const Collective& row = communication.table[0];
  EXPECT_EQ(row.count, 3);
  EXPECT_EQ(row.bytes, 3 * (int64_t{8} << 20));
  EXPECT_EQ(*row.total_ns / kUs, 3 * 3600);
  EXPECT_EQ(*row.exposed_ns / kUs, 3 * 2150);
}

TEST(Fixtures, TheRankThatOthersWaitFor) {
  const Analysis first = analysis_of(0), second = analysis_of(1);
  EXPECT_DOUBLE_EQ(*second.gpus[0].communication_overlap, 1450.0 / 2700);
  const RankSummary* ranks[] = {&first, &second};
  const auto comparison = compare_ranks(ranks, std::vector{0, 1});
  ASSERT_TRUE(comparison);
  EXPECT_EQ(comparison->straggler, 1);
  EXPECT_EQ(*comparison->skew_ns / kUs, 900);
}

TEST(Fixtures, BlackwellInACudaGraph) {
  const Analysis analysis = analysis_of(2);
  EXPECT_EQ(analysis.launches->graph_launches, 3);
  EXPECT_EQ(analysis.launches->graph_count, 3 * 6);
  const GpuUse& gpu = analysis.gpus.at(0);
  EXPECT_EQ(gpu.name, "NVIDIA B200");
  EXPECT_DOUBLE_EQ(*gpu.tensor_core_share, (1800.0 + 2000 + 1500) / 9550);
  EXPECT_EQ(gpu.communication_ns / kUs, 3 * 2700);
  EXPECT_DOUBLE_EQ(*gpu.communication_overlap, 1450.0 / 2700);
  // One kernel uses 0.75 of the multiprocessors, two use all of them.
  EXPECT_NEAR(*gpu.sm_efficiency, 3 * (0.75 * (8100 - 1450) + 1450) / 42280, 1e-9);
  EXPECT_EQ(*analysis.communication.table.at(0).exposed_ns / kUs, 3 * 1250);
}

TEST(Fixtures, OfAmdNoPrecisionIsAdvised) {
  const Analysis analysis = analysis_of(3);
  EXPECT_EQ(analysis.gpus.at(0).tensor_core_share, std::nullopt);
  EXPECT_EQ(analysis.gpus.at(0).communication_ns / kUs, 3 * 2700);
  std::vector<std::string> rules;
  for (const Finding& finding : advise(analysis)) rules.push_back(finding.rule);
  EXPECT_THAT(rules, ElementsAre("synchronizing_calls", "dataloader_wait", "communication"));
}

}  // namespace
}  // namespace redline::trace
