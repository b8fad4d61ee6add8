#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parsed_trace.h"
#include "tests/small_steps.h"
#include "trace/advice/advice.h"
#include "trace/advice/testing_rules.h"

namespace redline::trace {
namespace {

using namespace redline::testing;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(AdviceMemory, InferenceOfOneSampleAtATimeIsToldOfBatches) {
  const auto advice = [](const char* redline) {
    return advice_on(one_step().rank(0, 2).top(fmt::format(R"("redline": {{{}}})", redline)));
  };
  const auto findings = advice(R"("inference": true, "samples_per_step": 2)");
  ASSERT_THAT(findings, HasRule("batch_of_one"));
  EXPECT_EQ(findings[0].knob, "batch_size=1..16");
  EXPECT_THAT(advice(R"("inference": true, "samples_per_step": 4)"), Not(HasRule("batch_of_one")));
  EXPECT_THAT(advice(R"("samples_per_step": 2)"), Not(HasRule("batch_of_one")));
}

TEST(AdviceMemory, AJobWithoutADataLoaderIsToldToNameTheBatchSizeInItsCommand) {
  const auto needs = [](const TraceText& text) {
    const Finding finding = only(advice_on(text), "batch_of_one");
    EXPECT_EQ(trial_of(finding), "autotune --knob batch_size=1..16") << "can be pasted";
    return needs_of(finding);
  };
  auto inference =
      one_step().rank(0, 1).top(R"("redline": {"inference": true, "samples_per_step": 1})");
  EXPECT_EQ(needs(inference), "") << "no operators, so nothing is known of a DataLoader";
  inference.cpu_op("aten::relu", 0, 99 * kMs);
  EXPECT_EQ(needs(inference), "with {batch_size} in the command");
  // Outside the step, as where a batch is fetched before the step's mark.
  inference.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 200 * kMs,
                       kMs);
  EXPECT_EQ(needs(inference), "");
}

TraceText reserving(int64_t kernel_ns, int bytes) {
  return gpu_step(kernel_ns)
      .kernel("k", kUs, kUs + kernel_ns, on_stream(8, 0, R"("blocks per SM": 2)"))
      .event(holding(bytes));
}

TEST(AdviceMemory, MemoryUnused) {
  const auto findings = advice_on(reserving(60 * kMs, 300));
  const Finding& finding = only(findings, "memory_unused");
  EXPECT_NEAR(*finding.estimated_speedup, 100 / 60.0, 1e-9);
  ASSERT_EQ(finding.events.size(), 1);
  EXPECT_EQ(finding.events[0].begin_ns, 7 * kUs);
  EXPECT_FALSE(finding.events[0].slice);
  EXPECT_EQ(finding.knob, "batch_size=1..4096");
  const auto known =
      advice_on(reserving(60 * kMs, 300).top(R"("redline": {"samples_per_step": 32})"));
  EXPECT_EQ(only(known, "memory_unused").knob, "batch_size=32..128") << "3.3 times fit";
  TraceText four_batches = reserving(60 * kMs, 300).top(R"("redline": {"samples_per_step": 32})");
  for (int i = 0; i < 4; ++i) {
    four_batches.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                            (61 + i) * kMs, (61 + i) * kMs + kUs);
  }
  EXPECT_EQ(only(advice_on(four_batches), "memory_unused").knob, "batch_size=8..32")
      << "what a loader gives at once";
  EXPECT_THAT(advice_on(reserving(60 * kMs, 600)), Not(HasRule("memory_unused")));
  EXPECT_THAT(advice_on(reserving(99 * kMs, 300)), Not(HasRule("memory_unused")))
      << "the multiprocessors are full already";
}

TEST(AdviceMemory, DeviceMemoryFull) {
  EXPECT_EQ(only(advice_on(reserving(60 * kMs, 950)), "device_memory_full").knob,
            "amp=off,bf16,fp16");
  const auto knob = [](int64_t in_use) {
    return only(advice_on(gpu_step(60 * kMs).event(holding(950, in_use))), "device_memory_full")
        .knob;
  };
  EXPECT_EQ(knob(760), "amp=off,bf16,fp16");
  EXPECT_EQ(knob(759), "") << "less than 80 % of what is held";
  const auto half =
      reserving(60 * kMs, 950).kernel("ampere_bf16_s16816gemm_bf16_128x64", kUs, kMs, on_stream(9));
  EXPECT_EQ(only(advice_on(half), "device_memory_full").knob, "checkpointing=off,on");
  EXPECT_THAT(advice_on(reserving(60 * kMs, 800)), Not(HasRule("device_memory_full")));
}

TraceText allocating_in(const std::vector<int>& steps) {
  TraceText text;
  for (int i = 0; i < 3; ++i) {
    const auto id = static_cast<uint32_t>(i + 1);
    const int64_t begin_ns = i * 100 * kMs;
    text.step(i, begin_ns, begin_ns + 100 * kMs);
    text.runtime("cudaLaunchKernel", begin_ns, begin_ns + kUs, id);
    text.kernel("k", begin_ns + kUs, begin_ns + 60 * kMs, on_stream(7, id));
    for (const int step : steps) {
      if (step == i) text.runtime("cudaFree", begin_ns + 60 * kMs, begin_ns + 90 * kMs);
    }
  }
  return text;
}

TEST(AdviceMemory, AllocatorRetries) {
  const auto findings = advice_on(allocating_in({0, 1, 2}));
  EXPECT_NEAR(*only(findings, "allocator_retries").estimated_speedup, 100 / 70.0, 0.001);
  EXPECT_THAT(advice_on(allocating_in({0})), Not(HasRule("allocator_retries")))
      << "the cache grows";
  EXPECT_THAT(advice_on(allocating_in({})), Not(HasRule("allocator_retries")));
}

TEST(AdviceMemory, OnlyMemoryOfTheGpuThatTrainingAsksForCounts) {
  const auto advice = [](const char* call, const char* thread = "1") {
    TraceText text = allocating_in({});
    for (int i = 0; i < 3; ++i) {
      text.slice("cuda_driver", call, (i * 100 + 60) * kMs, (i * 100 + 90) * kMs, {.tid = thread});
    }
    return said(text, "allocator_retries");
  };
  EXPECT_THAT(advice("cudaMalloc"), HasSubstr(":True, or a smaller batch\n"));
  EXPECT_EQ(advice("cudaMalloc", "99"), "") << "as of a thread that pins batches";
  EXPECT_EQ(advice("cudaHostAlloc"), "");
  // What expandable segments are made of.
  EXPECT_THAT(advice("cuMemMap"), HasSubstr("empty_cache() in the loop, or a smaller batch\n"));
  const auto full = gpu_step(60 * kMs).event(holding(950, 300)).runtime("cuMemMap", kUs, kMs);
  EXPECT_THAT(said(full, "device_memory_full"), HasSubstr("or in fragments\n"));
}

TEST(AdviceMemory, AllocatorRetriesAfterOutOfMemory) {
  const TraceText text = gpu_step(99 * kMs).event(
      R"({"ph": "i", "s": "t", "name": "[OutOfMemory]", "pid": 1, "tid": 1, "ts": 9, "args": {}})");
  const auto findings = advice_on(text);
  const Finding& finding = only(findings, "allocator_retries");
  EXPECT_THAT(finding.detail, HasSubstr("a smaller batch, AMP or PYTORCH"));
  EXPECT_THAT(only(advice_on(TraceText(text).kernel("gemm_f16", kUs, kMs, on_stream(9))),
                   "allocator_retries")
                  .detail,
              HasSubstr("a smaller batch or PYTORCH"));
  EXPECT_EQ(finding.headline, "Out of memory: an allocation failed");
  EXPECT_EQ(finding.events[0].begin_ns, 9 * kUs);
}

TEST(AdviceMemory, TheHostsAllocatorThatRanOutOfMemoryHasNoCacheToEmpty) {
  const auto ran_out_on = [](int device_type) {
    return gpu_step(99 * kMs).event(fmt::format(
        R"({{"ph": "i", "s": "t", "name": "[OutOfMemory]", "pid": 1, "tid": 1, "ts": 9,)"
        R"( "args": {{"Device Type": {}, "Device Id": 0}}}})",
        device_type));
  };
  EXPECT_THAT(advice_on(ran_out_on(1)), HasRule("allocator_retries"));
  EXPECT_THAT(advice_on(ran_out_on(0)), Not(HasRule("allocator_retries")));
}

}  // namespace
}  // namespace redline::trace
