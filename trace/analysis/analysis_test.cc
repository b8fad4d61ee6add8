#include "trace/analysis/analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/parsed_trace.h"
#include "trace/model/slice_view.h"
#include "trace/read/reader.h"
#include "trace/report/report.h"

namespace redline::trace {
namespace {

using namespace redline::testing;

TEST(Steps, EndWithTheirLastKernel) {
  const Analysis analysis = analysis_of(TraceText()
                                            .step(0, 0, 1000)
                                            .step(1, 1000, 2000)
                                            .runtime("cudaLaunchKernel", 100, 110, 1)
                                            .kernel("gemm", 900, 1300, on_stream(7, 1))
                                            .runtime("cudaLaunchKernel", 1100, 1110, 2)
                                            .kernel("gemm", 1900, 2500, on_stream(7, 2)));
  ASSERT_EQ(analysis.steps.size(), 2U);
  EXPECT_EQ(analysis.steps[0].window, (Interval{0, 1300}));
  EXPECT_EQ(analysis.steps[1].window, (Interval{1300, 2500}));
  EXPECT_EQ(analysis.steps[1].number, 1);
  EXPECT_EQ(analysis.step_times.mean_ns, 1250);
}

// Kernels that were launched before the first step, in a step that was not recorded.
TEST(Steps, TheFirstBeginsWhereEarlierWorkEndsIfItsOwnComesLater) {
  const auto window = [](int64_t launch_ns) {
    return analysis_of(TraceText()
                           .step(0, 0, 1000)
                           .step(1, 1000, 2000)
                           .kernel("gemm", 0, 300, on_stream(7))
                           .runtime("cudaLaunchKernel", launch_ns, launch_ns + 10, 1)
                           .kernel("gemm", launch_ns + 400, launch_ns + 500, on_stream(7, 1)))
        .steps.front()
        .window;
  };
  EXPECT_EQ(window(100), (Interval{300, 1000}));
  EXPECT_EQ(window(1100), (Interval{0, 1000})) << "it launches nothing";
}

TEST(Steps, AStepThatWasCutOffIsLeftOut) {
  TraceText text;
  text.step(0, 0, 1000).step(1, 1000, 2000);
  for (uint32_t i = 1; i <= 5; ++i) {
    text.runtime("cudaLaunchKernel", i * 100, i * 100 + 10, i);
    text.kernel("gemm", i * 100 + 20, i * 100 + 40, on_stream(7, i));
  }
  text.runtime("cudaLaunchKernel", 1100, 1110, 9).kernel("gemm", 1120, 1140, on_stream(7, 9));
  EXPECT_EQ(analysis_of(text).steps.size(), 1U);
}

TEST(Steps, WithoutGpuWorkALastOneWithoutOperatorsIsLeftOut) {
  const auto count = [](bool has_second, int64_t last_ns) {
    TraceText text;
    text.step(0, 0, 1000).step(1, 1000, 2000).step(2, 2000, 3000);
    for (int64_t begin_ns = 0; begin_ns < 800; begin_ns += 100) {
      text.cpu_op("aten::mm", begin_ns, begin_ns + 50);
    }
    if (has_second) text.cpu_op("aten::mm", 1999, 2050);
    return analysis_of(text.cpu_op("aten::mm", last_ns, last_ns + 20)).steps.size();
  };
  EXPECT_EQ(count(true, 3000), 2U) << "the loop has ended, and the recording has not";
  EXPECT_EQ(count(true, 2000), 3U);
  EXPECT_EQ(count(true, 2990), 3U);
  EXPECT_EQ(count(false, 3000), 3U) << "the loop marks steps that have no operators";
}

TEST(Steps, ATraceWithoutAnnotationsIsOne) {
  const Analysis analysis = analysis_of(TraceText().cpu_op("a", 10, 20).cpu_op("b", 50, 70));
  ASSERT_EQ(analysis.steps.size(), 1U);
  EXPECT_EQ(analysis.steps[0].window, (Interval{10, 70}));
  EXPECT_FALSE(analysis.steps[0].number);
}

// As a serving engine leaves it, which replays graphs outside operators.
TEST(Steps, ATraceWithoutThemLastsAsLongAsItsAnnotationsAndLaunchedWork) {
  TraceText text;
  text.cpu_op("aten::copy_", 10, 20).annotation("execute_model", 5, 90);
  EXPECT_EQ(analysis_of(text).steps.at(0).window, (Interval{5, 90}));
  text.runtime("cudaGraphLaunch", 95, 100, 1)
      .kernel("replayed", 120, 150, on_stream(7, 1))
      .kernel("replayed", 150, 190, on_stream(7, 1))
      .runtime("cudaDeviceSynchronize", 195, 400);
  EXPECT_EQ(analysis_of(text).steps.at(0).host, (Interval{5, 100}));
  EXPECT_EQ(analysis_of(text).steps.at(0).window, (Interval{5, 190}));
}

TEST(Steps, AStepWithinAnotherIsAPartOfIt) {
  const Analysis analysis = analysis_of(TraceText()
                                            .step(10, 10, 990)
                                            .step(0, 0, 3000)
                                            .step(11, 1000, 3000)
                                            .step(12, 3000, 3900)
                                            .step(1, 3000, 6000)
                                            .runtime("cudaLaunchKernel", 100, 110, 1)
                                            .kernel("gemm", 200, 900, on_stream(7, 1))
                                            .runtime("cudaLaunchKernel", 3100, 3110, 2)
                                            .kernel("gemm", 3200, 6500, on_stream(7, 2)));
  ASSERT_EQ(analysis.steps.size(), 2U);
  EXPECT_EQ(analysis.steps[0].number, 0);
  EXPECT_EQ(analysis.steps[0].window, (Interval{0, 3000}));
  EXPECT_EQ(analysis.steps[1].number, 1);
  EXPECT_EQ(analysis.steps[1].window, (Interval{3000, 6500}));
  EXPECT_EQ(name_of(*analysis.trace, analysis.steps[1].slice), "ProfilerStep#1");
}

// PyTorch shows an annotation again where its work ran on the GPU.
TEST(Steps, OfSeveralThreadsThatMarkThemThoseOfTheFirstCount) {
  TraceText text;
  for (int i = 0; i < 2; ++i) {
    const std::string name = fmt::format("ProfilerStep#{}", i);
    const int64_t at_ns = 1000 + i * 1000;
    text.slice("gpu_user_annotation", name, at_ns + 100, at_ns + 1100, on_stream(7));
    text.slice("user_annotation", name, at_ns - 5, at_ns + 995, {.pid = "2"});
    text.slice("user_annotation", name, at_ns + 500, at_ns + 1500, {.tid = "2"});
    text.step(i, at_ns, at_ns + 990);
  }
  const auto steps = analysis_of(text).steps;
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].window, (Interval{1000, 1990}));
  EXPECT_EQ(steps[1].window, (Interval{2000, 2990}));
}

TEST(Breakdown, EachInstantCountsOnceAndPartsSumToTheStep) {
  const Analysis analysis =
      analysis_of(TraceText()
                      .step(0, 0, 1000)
                      .annotation("enumerate(DataLoader)#_Iter.__next__", 0, 200)
                      .cpu_op("aten::copy_", 50, 250)  // the operator's own time is from 200 to 250
                      .runtime("cudaLaunchKernel", 240, 300, 1)
                      .kernel("gemm", 260, 400, on_stream(7, 1))
                      .kernel("ncclDevKernel_AllReduce", 350, 500, on_stream(9))
                      .slice("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 450, 600, on_stream(7))
                      .slice("gpu_memset", "Memset (Device)", 590, 610, on_stream(7)));
  const StepBreakdown& parts = analysis.breakdown;
  EXPECT_EQ(parts.of(BreakdownPart::kDataLoader), 200);
  EXPECT_EQ(parts.of(BreakdownPart::kRuntime), 20);
  EXPECT_EQ(parts.of(BreakdownPart::kCpu), 40);
  EXPECT_EQ(parts.of(BreakdownPart::kKernel), 140);
  EXPECT_EQ(parts.of(BreakdownPart::kCommunication), 50);
  EXPECT_EQ(parts.of(BreakdownPart::kMemcpy), 150);
  EXPECT_EQ(parts.of(BreakdownPart::kMemset), 10);
  EXPECT_EQ(parts.of(BreakdownPart::kOther), 390);
}

TEST(Breakdown, TheStepInWhichARecordingEndedIsNoOperator) {
  const Analysis analysis = analysis_of(
      TraceText().annotation("unfinished ProfilerStep#2", 0, 1000).cpu_op("aten::mm", 0, 100));
  EXPECT_EQ(analysis.breakdown.of(BreakdownPart::kCpu), 100);
  EXPECT_EQ(analysis.breakdown.of(BreakdownPart::kOther), 900);
  ASSERT_EQ(analysis.operators.size(), 1U);
  EXPECT_EQ(analysis.operators[0].name, "aten::mm");
}

TEST(Operators, SelfTimeLeavesOutOperatorsInsideButNotRuntimeCalls) {
  const Analysis analysis = analysis_of(TraceText()
                                            .cpu_op("aten::linear", 0, 1000)
                                            .cpu_op("aten::addmm", 100, 600)
                                            .runtime("cudaLaunchKernel", 200, 300, 5)
                                            .cpu_op("aten::linear", 2000, 2100)
                                            .kernel("gemm", 700, 900, on_stream(7, 5)));
  ASSERT_EQ(analysis.operators.size(), 2U);
  const OperatorRow &linear = analysis.operators[0], &addmm = analysis.operators[1];
  EXPECT_EQ(linear.name, "aten::linear");
  EXPECT_EQ(linear.count, 2);
  EXPECT_EQ(linear.total_ns, 1100);
  EXPECT_EQ(linear.self_ns, 600);
  EXPECT_EQ(linear.device_self_ns, 0);
  EXPECT_EQ(addmm.self_ns, 500);
  EXPECT_EQ(addmm.device_self_ns, 200);
}

TEST(Collectives, GlooTimeIsExposedWhereNoOperatorRuns) {
  const Row gloo{.tid = "2"};
  const Analysis analysis =
      analysis_of(TraceText()
                      .rank(0, 2)
                      .step(0, 0, 1000)
                      .cpu_op("aten::mm", 0, 400)
                      .cpu_op("c10d::allreduce_", 400, 500)
                      .slice("user_annotation", "gloo:all_reduce", 300, 700, gloo)
                      .slice("user_annotation", "gloo:all_reduce", 650, 800, {.tid = "3"}));
  ASSERT_EQ(analysis.communication.table.size(), 1U);
  const Collective& row = analysis.communication.table[0];
  EXPECT_EQ(row.count, 2);
  EXPECT_EQ(row.total_ns, 550);
  EXPECT_EQ(row.exposed_ns, 300 + 150);
  EXPECT_FALSE(row.bytes);
  EXPECT_EQ(mean_exposed_ns(analysis.communication, analysis.steps), 400);
}

TEST(Collectives, KernelsHaveBytesAndBusBandwidth) {
  const std::string args =
      R"("In msg nelems": 1000, "Out msg nelems": 1000, "dtype": "Float", "Process Group Name": "0")";
  const Analysis analysis =
      analysis_of(TraceText()
                      .rank(0, 4)
                      .kernel("gemm", 0, 500, on_stream(7))
                      .kernel("ncclDevKernel_AllReduce_Sum_f32", 0, 1000, on_stream(9, 0, args)));
  ASSERT_EQ(analysis.communication.table.size(), 1U);
  const Collective& row = analysis.communication.table[0];
  EXPECT_EQ(row.bytes, 4000);
  EXPECT_EQ(row.group, "0");
  EXPECT_EQ(row.exposed_ns, 500);
  EXPECT_DOUBLE_EQ(*row.bus_bandwidth, 4000 / 1e-6 * 1.5);
}

TEST(Gpus, SpanIsIdlePlusComputePlusTheRest) {
  const std::string figures = R"("blocks per SM": 0.5, "est. achieved occupancy %": 40)";
  const Analysis analysis =
      analysis_of(TraceText()
                      .step(0, 0, 2000)
                      .kernel("gemm_s1688", 0, 400, on_stream(7, 0, figures))
                      .kernel("ncclDevKernel_AllReduce", 300, 800, on_stream(9))
                      .slice("gpu_memcpy", "Memcpy DtoD", 1000, 1200, on_stream(7)));
  ASSERT_EQ(analysis.gpus.size(), 1U);
  const GpuUse& gpu = analysis.gpus[0];
  EXPECT_EQ(gpu.span_ns, 1200);
  EXPECT_EQ(gpu.idle_ns, 200);
  EXPECT_EQ(gpu.compute_ns, 400);
  EXPECT_EQ(gpu.non_compute_ns, 600);
  EXPECT_DOUBLE_EQ(*gpu.communication_overlap, 0.2);
  EXPECT_DOUBLE_EQ(gpu.utilization, 0.4);
  EXPECT_DOUBLE_EQ(*gpu.sm_efficiency, 0.5 * 400 / 2000);
  EXPECT_DOUBLE_EQ(*gpu.occupancy, 0.4);
  EXPECT_DOUBLE_EQ(*gpu.tensor_core_share, 400.0 / 900);
}

TEST(Gpus, WhatRanAtOnceSumsToBusyTime) {
  const Analysis analysis =
      analysis_of(TraceText()
                      .step(0, 0, 1000)
                      .kernel("gemm", 0, 400, on_stream(7))
                      .kernel("gemm", 100, 300, on_stream(8))
                      .kernel("ncclDevKernel_AllReduce", 200, 600, on_stream(9))
                      .slice("gpu_memcpy", "Memcpy DtoD", 300, 700, on_stream(10)));
  const auto& mix = analysis.gpus[0].mix_ns;
  EXPECT_THAT(mix, ::testing::ElementsAre(200, 0, 100, 100, 0, 200, 100));
  EXPECT_EQ(std::accumulate(mix.begin(), mix.end(), int64_t{0}), analysis.gpus[0].busy_ns);
}

// As between two recordings of a job that are merged.
TEST(Gpus, APauseInTheStepsNumbersDoesNotCount) {
  const std::string figures = R"("blocks per SM": 0.5, "est. achieved occupancy %": 40)";
  const std::string other = R"("blocks per SM": 2, "est. achieved occupancy %": 90)";
  const Analysis analysis = analysis_of(TraceText()
                                            .step(0, 0, 1000)
                                            .step(7, 9000, 10000)
                                            .step(8, 10200, 11000)
                                            .kernel("gemm", 0, 800, on_stream(7, 0, figures))
                                            .kernel("eval", 4000, 6000, on_stream(7, 0, other))
                                            .kernel("gemm", 9000, 9800, on_stream(7, 0, figures)));
  const GpuUse& gpu = analysis.gpus.at(0);
  EXPECT_DOUBLE_EQ(gpu.utilization, 1600.0 / 3000);
  EXPECT_DOUBLE_EQ(*gpu.sm_efficiency, 0.5 * 1600 / 3000);
  EXPECT_DOUBLE_EQ(*gpu.occupancy, 0.4);
}

TEST(Gpus, MatrixOperatorsMakeKernelsEligibleForTensorCores) {
  const Analysis analysis = analysis_of(TraceText()
                                            .cpu_op("aten::linear", 0, 100)
                                            .cpu_op("aten::copy_", 10, 90)
                                            .runtime("cudaLaunchKernel", 20, 30, 1)
                                            .cpu_op("aten::relu", 200, 300)
                                            .runtime("cudaLaunchKernel", 220, 230, 2)
                                            .kernel("copy", 100, 400, on_stream(7, 1))
                                            .kernel("relu", 400, 500, on_stream(7, 2)));
  EXPECT_DOUBLE_EQ(*analysis.gpus[0].tensor_core_eligible_share, 0.75);
}

TEST(Kernels, MeansOfOccupancyAreWeightedByTime) {
  const auto figures = [](int blocks, int percent) {
    return fmt::format(R"("blocks per SM": {}, "est. achieved occupancy %": {})", blocks, percent);
  };
  const Analysis analysis =
      analysis_of(TraceText()
                      .kernel("gemm", 0, 300, on_stream(7, 0, figures(2, 20)))
                      .kernel("gemm", 300, 400, on_stream(7, 0, figures(6, 60)))
                      .kernel("old", 400, 500, on_stream(7))
                      .kernel("tiny", 500, 550, on_stream(7, 0, figures(0, 0))));
  ASSERT_EQ(analysis.kernels.size(), 3U);
  EXPECT_DOUBLE_EQ(*analysis.kernels[0].blocks_per_sm, 3);
  EXPECT_DOUBLE_EQ(*analysis.kernels[0].occupancy, 0.3);
  EXPECT_FALSE(analysis.kernels[1].blocks_per_sm);
  EXPECT_EQ(analysis.kernels[2].blocks_per_sm, 0);
  EXPECT_EQ(analysis.kernels[2].occupancy, 0);
}

TEST(Operators, DeviceTimeOfAnOperatorHasThatOfOperatorsInsideOnceEach) {
  const Analysis analysis = analysis_of(TraceText()
                                            .cpu_op("aten::outer", 0, 1000)
                                            // An operator that calls itself.
                                            .cpu_op("aten::outer", 100, 600)
                                            .cpu_op("aten::inner", 200, 500)
                                            .runtime("cudaLaunchKernel", 300, 310, 1)
                                            .runtime("cudaLaunchKernel", 700, 710, 2)
                                            .kernel("k", 700, 900, on_stream(7, 1))
                                            .kernel("k", 900, 1000, on_stream(7, 2)));
  const auto row = [&](std::string_view name) {
    return *std::find_if(analysis.operators.begin(), analysis.operators.end(),
                         [&](const OperatorRow& each) { return each.name == name; });
  };
  EXPECT_EQ(row("aten::outer").device_total_ns, 300);
  EXPECT_EQ(row("aten::outer").device_self_ns, 100);
  EXPECT_EQ(row("aten::inner").device_total_ns, 200);
}

TEST(Copies, PageableAndPinnedApartWithTheRecordersRates) {
  const auto copy = [](int64_t bytes, const char* rate) {
    return on_stream(7, 0, fmt::format(R"("bytes": {}{})", bytes, rate));
  };
  const std::string pageable = "Memcpy HtoD (Pageable -> Device)";
  const Analysis analysis = analysis_of(
      TraceText()
          .slice("gpu_memcpy", pageable, 0, 1000,
                 copy(500, R"x(, "memory bandwidth (GB/s)": 0.75)x"))
          .slice("gpu_memcpy", pageable, 1000, 2000, copy(250, ""))
          .slice("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 2000, 2100, copy(1000, "")));
  ASSERT_EQ(analysis.copies.size(), 2U);
  EXPECT_EQ(analysis.copies[0].kind, "HtoD (Pageable -> Device)");
  EXPECT_EQ(analysis.copies[0].bytes, 750);
  EXPECT_DOUBLE_EQ(analysis.copies[0].single_bandwidth.max, 0.75e9);
  EXPECT_DOUBLE_EQ(analysis.copies[0].single_bandwidth.min, 0.25e9);
  EXPECT_DOUBLE_EQ(analysis.copies[1].single_bandwidth.mean, 10e9);
}

TEST(Copies, BytesBeyondTheirTypeStayAtItsLimit) {
  const auto args = on_stream(7, 0, fmt::format(R"("bytes": {})", INT64_MAX));
  const Analysis analysis = analysis_of(TraceText()
                                            .slice("gpu_memcpy", "Memcpy HtoD", 0, 1000, args)
                                            .slice("gpu_memcpy", "Memcpy HtoD", 1000, 2000, args));
  ASSERT_EQ(analysis.copies.size(), 1U);
  EXPECT_EQ(analysis.copies[0].bytes, INT64_MAX);
}

TEST(Steps, TimesHaveTheirSpread) {
  const StepTimes times =
      analysis_of(TraceText().step(0, 0, 100).step(1, 100, 300).step(2, 300, 900)).step_times;
  EXPECT_EQ(times.min_ns, 100);
  EXPECT_EQ(times.median_ns, 200);
  EXPECT_EQ(times.max_ns, 600);
}

TEST(Steps, WithoutMarksAndOperatorsTheProfilersOwnRowsAreNone) {
  TraceText text = TraceText()
                       .slice("Trace", "PyTorch Profiler (0)", 0, 1000, {.pid = "\"Spans\""})
                       .slice("overhead", "Buffer Flush", 900, 950, {.pid = "-1"});
  EXPECT_TRUE(analysis_of(text).steps.empty());
  const auto steps = analysis_of(text.kernel("k", 300, 500)).steps;
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].window, (Interval{300, 500}));
}

TEST(Analysis, CancelledSaysSo) {
  auto trace = parse_trace("test", TraceText().kernel("a", 0, 10).str());
  const std::atomic<bool> cancel = true;
  EXPECT_TRUE(analyze(*trace, &cancel).is_cancelled);
  const Report report = make_report({*trace, *trace}, &cancel);
  EXPECT_TRUE(report.is_cancelled);
  EXPECT_EQ(report.traces.size(), 1U);
  EXPECT_FALSE(make_report({*trace}).is_cancelled);
}

TEST(Memory, PeaksOfEachDevice) {
  const auto instant = [](const char* args) {
    return std::string(
               R"({"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 1, "args": {)") +
           args + "}}";
  };
  const Analysis analysis = analysis_of(
      TraceText()
          .cpu_op("a", 0, 10)
          .event(instant(
              R"("Device Type": 1, "Device Id": 0, "Bytes": 5, "Total Allocated": 70, "Total Reserved": 100)"))
          .event(instant(
              R"("Device Type": 1, "Device Id": 0, "Bytes": -5, "Total Allocated": 65, "Total Reserved": 90)"))
          .event(instant(R"("Device Type": 0, "Device Id": -1, "Bytes": 8)"))
          .event(instant(R"("Device Type": 0, "Device Id": -1, "Bytes": 4)"))
          .event(instant(R"("Device Type": 0, "Device Id": -1, "Bytes": -12)")));
  ASSERT_EQ(analysis.memory.size(), 2U);
  EXPECT_TRUE(analysis.memory[0].is_gpu);
  EXPECT_EQ(analysis.memory[0].allocated_bytes, 70);
  EXPECT_EQ(analysis.memory[0].reserved_bytes, 100);
  EXPECT_EQ(analysis.memory[1].allocated_bytes, 12);
}

// As torch.profiler leaves it with activities=[CPU].
TEST(UnrecordedGpu, IsKnownByOperatorsThatOnlyGpusHave) {
  const auto reason = [](const char* name) {
    return analysis_of(TraceText().step(0, 0, 1000).cpu_op(name, 0, 100)).unrecorded_gpu;
  };
  for (const char* name :
       {"nccl:all_reduce", "xccl:all_reduce", "aten::cudnn_convolution", "aten::cudnn_batch_norm",
        "aten::_cudnn_rnn", "aten::miopen_convolution", "aten::miopen_batch_norm",
        "aten::miopen_rnn", "aten::_scaled_dot_product_efficient_attention",
        "aten::_scaled_dot_product_cudnn_attention"}) {
    EXPECT_EQ(reason(name), "") << name;
  }
  for (const char* name :
       {"aten::mm", "gloo:all_reduce", "aten::cudnn_is_acceptable",
        "aten::_scaled_dot_product_flash_attention", "aten::mkldnn_convolution"}) {
    EXPECT_EQ(reason(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace redline::trace
