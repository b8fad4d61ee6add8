#include "trace/analysis/what_if.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/parsed_trace.h"
#include "tests/training_run.h"

namespace redline::trace {
namespace {

using namespace redline::testing;
using ::testing::HasSubstr;

WhatIfKnob knob(const std::string& text) {
  const auto read = read_what_if_knob(text);
  EXPECT_TRUE(read) << text;
  return read.value_or(WhatIfKnob());
}

tl::expected<Prediction, std::string> predicted(const TraceText& text,
                                                std::vector<std::string> texts) {
  const Analysis analysis = analysis_of(text);
  std::vector<WhatIfKnob> knobs;
  for (const std::string& each : texts) knobs.push_back(knob(each));
  const Analysis* one = &analysis;
  return what_if({&one, 1}, knobs);
}

TEST(WhatIf, ReadsItsKnobs) {
  EXPECT_EQ(knob("loader=2x").times, 2);
  EXPECT_EQ(knob("loader=free").kind, WhatIfKind::kLoader);
  EXPECT_EQ(knob("kernels:a=b=1.5x").pattern, "a=b");
  EXPECT_EQ(knob("kernels:a=b=1.5x").times, 1.5);
  EXPECT_EQ(knob("batch_size=4x").kind, WhatIfKind::kBatchSize);
  for (const char* wrong :
       {"", "loader", "loader=", "loader=2", "loader=0x", "loader=-1x", "batch_size=free",
        "amp=fp16", "straggler=2x", "kernels:=2x", "kernels:(=2x", "gpu=2x"}) {
    EXPECT_FALSE(read_what_if_knob(wrong)) << wrong;
  }
  EXPECT_EQ(knob("loader=1e-6x").times, 1e-6);
  EXPECT_EQ(knob("loader=1000000x").times, 1e6);
  for (const char* wrong : {"loader=1e-300x", "loader=0.0000009x", "loader=1000001x"}) {
    EXPECT_EQ(read_what_if_knob(wrong).error(),
              fmt::format("'{}': give a size from 0.000001x to 1000000x", wrong));
  }
}

// Steps of 10 ms: 4 ms in the loader, 6 ms in operators.
TraceText three_steps() {
  TraceText text;
  for (int i = 0; i < 3; ++i) {
    const int64_t at = i * 10 * kMs;
    text.step(i, at, at + 10 * kMs);
    text.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at,
                    at + 4 * kMs);
    text.cpu_op("aten::stack", at + kMs, at + 2 * kMs);
    text.cpu_op("aten::mm", at + 4 * kMs, at + 10 * kMs);
  }
  return text;
}

TEST(WhatIf, TheLoaderTakesNoTime) {
  const auto said = predicted(three_steps(), {"loader=free"});
  ASSERT_TRUE(said) << said.error();
  EXPECT_EQ(said->steps, 3);
  EXPECT_EQ(said->step_ns, 10e6);
  EXPECT_EQ(said->new_ns, 6e6);
  EXPECT_NEAR(said->speedup(said->new_ns), 10 / 6.0, 1e-9);
  // All steps are alike: only the model's own error is left.
  EXPECT_NEAR(said->low_ns, 6e6 - 0.15 * 4e6, 1);
  EXPECT_NEAR(said->high_ns, 6e6 + 0.15 * 4e6, 1);
  const auto half = predicted(three_steps(), {"loader=2x"});
  EXPECT_EQ(half->new_ns, 8e6);
  EXPECT_NEAR(half->low_ns, 8e6 - 0.15 * 2e6, 1);
}

// 9.5 of 10 ms go: 15 % of them are more than what is left.
TEST(WhatIf, NoStepTakesLessThanNoTime) {
  TraceText text;
  text.step(0, 0, 10 * kMs);
  text.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 9'500 * kUs);
  text.cpu_op("aten::mm", 9'500 * kUs, 10 * kMs);
  const auto said = predicted(text, {"loader=free"});
  ASSERT_TRUE(said) << said.error();
  EXPECT_EQ(said->new_ns, 500e3);
  EXPECT_EQ(said->low_ns, 0);
  EXPECT_NEAR(said->high_ns, 500e3 + 0.15 * 9'500e3, 1);
}

// However much steps differ, the loader takes what it takes.
TEST(WhatIf, NoIntervalIsWiderThanWhatAKnobCanDo) {
  TraceText text;
  int64_t at = 0;
  for (const auto& [length_ms, loader_ms] : {std::pair(100, 4), {700, 6}, {1400, 20}}) {
    const int64_t end = at + length_ms * kMs;
    text.step(length_ms, at, end)
        .annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at,
                    at + loader_ms * kMs);
    text.cpu_op("aten::mm", at + loader_ms * kMs, end);
    at = end;
  }
  const auto free = predicted(text, {"loader=free"});
  ASSERT_TRUE(free) << free.error();
  EXPECT_NEAR(free->step_ns - free->new_ns, 10e6, 1);
  EXPECT_NEAR(free->step_ns - free->low_ns, 11.5e6, 1) << "it has no more, but for our own error";
  EXPECT_EQ(free->high_ns, free->step_ns) << "it makes no step longer";
  const auto half = predicted(text, {"loader=2x"});
  EXPECT_NEAR(half->step_ns - half->low_ns, 10.75e6, 1);
  EXPECT_EQ(half->high_ns, half->step_ns);
}

// The workers' batches are what the whole step waits for: 1.4 ms, of which a ready one takes 0.05.
TEST(WhatIf, AGpuTrainingIsFasterByItsWaitForBatches) {
  const Analysis analysis = analyze(TrainingRun(0, 2000, 2000).read());
  const Analysis* one = &analysis;
  const auto free = knob("loader=free");
  const auto said = what_if({&one, 1}, {&free, 1});
  ASSERT_TRUE(said) << said.error();
  EXPECT_EQ(said->step_ns - said->new_ns, 1.35e6);
}

TEST(WhatIf, ChangesAddUp) {
  EXPECT_EQ(predicted(three_steps(), {"loader=2x", "kernels:^aten::mm$=3x"})->new_ns, 4e6);
}

TEST(WhatIf, WithoutAGpuAPatternIsOfOperators) {
  const auto said = predicted(three_steps(), {"kernels:mm=2x"});
  ASSERT_TRUE(said);
  EXPECT_EQ(said->new_ns, 7e6);
  EXPECT_THAT(said->notes.front(), HasSubstr("no GPU work"));
  const auto twice = predicted(three_steps(), {"kernels:mm=2x", "loader=2x", "kernels:mm=2x"});
  ASSERT_TRUE(twice);
  EXPECT_EQ(twice->notes.size(), 2U) << "the same is said once";
}

TEST(WhatIf, SaysWhatCannotBeKnown) {
  EXPECT_EQ(predicted(three_steps(), {"kernels:conv=2x"}).error(),
            "kernels:conv=2x: no operator's name matches conv");
  EXPECT_EQ(predicted(three_steps(), {"collectives=2x"}).error(),
            "collectives=2x: the trace has no collectives");
  TraceText enqueued = three_steps();
  enqueued.slice("user_annotation", "nccl:all_reduce", 0, 100, {.tid = "2"});
  EXPECT_THAT(predicted(enqueued, {"collectives=2x"}).error(),
              HasSubstr("does not tell how long collectives take"));
  EXPECT_THAT(predicted(three_steps(), {"amp=bf16"}).error(), HasSubstr("no shapes"));
  EXPECT_THAT(predicted(three_steps(), {"batch_size=2x"}).error(), HasSubstr("no shapes"));
  EXPECT_THAT(predicted(three_steps(), {"straggler=cured"}).error(), HasSubstr("all ranks"));
}

std::string of_floats(const std::string& dims, int inputs = 1) {
  const char* one = inputs == 1 ? "" : R"(, "float")";
  return fmt::format(R"("Input Dims": [{}], "Input type": ["float"{}])", dims, one);
}

TEST(WhatIf, ALargerBatchTakesTheLoaderAsMuchLongerButOnce) {
  TraceText text;
  text.step(0, 0, 10 * kMs);
  text.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 2 * kMs);
  text.cpu_op("aten::fill_", 0, kMs, {.args = of_floats("[1000, 1000]")});
  // What takes no longer than the fastest call of its kind stays as it is.
  text.cpu_op("aten::fill_", 3 * kMs, 3 * kMs + 100 * kUs, {.args = of_floats("[10, 10]")});
  const auto said = predicted(text, {"batch_size=2x"});
  ASSERT_TRUE(said) << said.error();
  EXPECT_EQ(said->new_ns, 12e6);
}

TEST(WhatIf, ProductsMakeSixteenBitsForTheOperatorsAfterThem) {
  TraceText text;
  text.step(0, 0, 20 * kMs);
  text.cpu_op("aten::mm", 0, 4 * kMs, {.args = of_floats("[1000, 1000], [1000, 1000]", 2)});
  text.cpu_op("aten::relu", 5 * kMs, 7 * kMs, {.args = of_floats("[1000, 1000]")});
  text.cpu_op("aten::relu", 8 * kMs, 8 * kMs + 100 * kUs, {.args = of_floats("[10, 10]")});
  text.cpu_op("aten::mse_loss", 9 * kMs, 10 * kMs,
              {.args = of_floats("[1000, 1000], [1000, 1000]", 2)});
  text.annotation("Optimizer.step#SGD.step", 11 * kMs, 13 * kMs);
  text.cpu_op("aten::mul_", 11 * kMs, 13 * kMs, {.args = of_floats("[1000, 1000]")});
  Analysis analysis = analysis_of(text);
  GivenPeaks peaks;
  ASSERT_TRUE(read_peak_tflops("fp32=1,bf16=2", peaks));
  peaks.gb_per_s = 1000;
  peaks.apply_to(analysis.peaks);
  const Analysis* one = &analysis;
  const auto bf16 = knob("amp=bf16");
  const auto said = what_if({&one, 1}, {&bf16, 1});
  ASSERT_TRUE(said) << said.error();
  // The product takes half, relu half but for the 100 us of the small one.
  EXPECT_EQ(said->step_ns - said->new_ns, 2e6 + 0.95e6);
}

// A step of one product on an H100, whose kernel takes `ns`.
TraceText one_product(const char* sizes, const char* strides, int64_t ns) {
  TraceText text;
  text.top(R"("deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132,
           "totalGlobalMem": 85000000000, "computeMajor": 9, "computeMinor": 0}])");
  text.step(0, 0, 30 * kUs);
  text.cpu_op("aten::mm", kUs, 20 * kUs,
              {.args = fmt::format(R"("Input Dims": {}, "Input Strides": {}, )"
                                   R"("Input type": ["c10::BFloat16", "c10::BFloat16"])",
                                   sizes, strides)});
  text.runtime("cudaLaunchKernel", 2 * kUs, 4 * kUs, 1);
  text.kernel("nvjet", 5 * kUs, 5 * kUs + ns, on_stream(7, 1));
  return text;
}

// 2 * 8192^3 operations take 1,111 us at the peak: 70 % of what the kernel takes.
TEST(WhatIf, ALargerBatchIsNotFasterThanTheDevice) {
  constexpr int64_t kTaken = 1'587 * kUs;
  const auto said =
      predicted(one_product("[[8192, 8192], [8192, 8192]]", "[[8192, 1], [1, 8192]]", kTaken),
                {"batch_size=2x"});
  ASSERT_TRUE(said) << said.error();
  EXPECT_NEAR((said->new_ns - said->step_ns) / kTaken, 0.7, 0.001) << "0.3 of it is no work";
  EXPECT_GT((said->low_ns - said->step_ns) / kTaken, 0.4);
}

// 512 MiB of weights take 160 us from memory.
TEST(WhatIf, ALargerBatchReadsWeightsOnce) {
  constexpr int64_t kTaken = 229 * kUs;
  const auto said =
      predicted(one_product("[[8, 16384], [16384, 16384]]", "[[16384, 1], [1, 16384]]", kTaken),
                {"batch_size=2x"});
  ASSERT_TRUE(said) << said.error();
  EXPECT_NEAR(said->new_ns / said->step_ns, 1, 0.002);
}

// A GPU that computes 6 ms and communicates 4 ms of each step.
TraceText with_collectives(std::optional<int> world_size) {
  TraceText text;
  if (world_size) text.rank(0, *world_size, "nccl");
  text.step(0, 0, 100 * kUs).cpu_op("aten::mm", 0, 100 * kUs);
  text.runtime("cudaLaunchKernel", 10 * kUs, 12 * kUs, 1);
  text.runtime("cudaLaunchKernel", 20 * kUs, 22 * kUs, 2);
  text.kernel("gemm", 14 * kUs, 6'014 * kUs, on_stream(7, 1));
  text.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 6'015 * kUs, 10'015 * kUs,
              on_stream(7, 2));
  return text;
}

TEST(WhatIf, OneRankDoesNotTellWhetherACollectiveWaited) {
  const auto alone = predicted(with_collectives(1), {"collectives=2x"});
  ASSERT_TRUE(alone) << alone.error();
  EXPECT_EQ(alone->new_ns, 8'015e3);
  for (const std::optional<int> world_size : {std::optional(2), std::optional<int>()}) {
    const auto one_of_some = predicted(with_collectives(world_size), {"collectives=2x"});
    ASSERT_TRUE(one_of_some) << one_of_some.error();
    EXPECT_EQ(one_of_some->new_ns, 8'015e3);
    EXPECT_GE(one_of_some->high_ns, 10'015e3);
  }
  EXPECT_LT(alone->high_ns, 8'400e3);
}

TEST(WhatIf, KernelsOfAKindAreFaster) {
  EXPECT_EQ(predicted(with_collectives(1), {"kernels:gemm=2x"})->new_ns, 7'015e3);
  EXPECT_EQ(predicted(with_collectives(1), {"kernels:gemm=free"})->new_ns, 4'024e3);
}

TEST(WhatIf, OfALongNameTheBeginningIsMatched) {
  TraceText text;
  text.step(0, 0, 10 * kMs);
  text.cpu_op("aten::mm" + std::string(40'000, 'x') + "y", 0, 10 * kMs);
  EXPECT_EQ(predicted(text, {"kernels:mm.*x=2x"})->new_ns, 5e6);
  EXPECT_EQ(predicted(text, {"kernels:mm.*y=2x"}).error(),
            "kernels:mm.*y=2x: no operator's name matches mm.*y");
}

}  // namespace
}  // namespace redline::trace
