#include "trace/analysis/what_if.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>

#include "tests/parsed_trace.h"
#include "tests/training_run.h"

namespace redline::trace {
namespace {

using namespace redline::testing;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

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

TEST(WhatIf, WhatMakesAStepLongerMayMakeItEvenLonger) {
  const auto said = predicted(three_steps(), {"loader=0.5x"});
  ASSERT_TRUE(said) << said.error();
  EXPECT_EQ(said->new_ns, 14e6);
  EXPECT_NEAR(said->low_ns, 14e6 - 0.15 * 4e6, 1);
  EXPECT_NEAR(said->high_ns, 14e6 + 0.15 * 4e6, 1);
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

TEST(WhatIf, HowFastWorkersMakeALargerBatchIsNotKnown) {
  TraceText text;
  text.step(0, 0, 10 * kMs);
  text.annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 0, 30 * kUs);
  text.cpu_op("aten::fill_", kMs, 9 * kMs, {.args = of_floats("[1000, 1000]")});
  const auto ready = HasSubstr("a batch that was ready stays so");
  EXPECT_THAT(predicted(text, {"batch_size=2x"})->notes, Contains(ready));
  EXPECT_THAT(predicted(text, {"batch_size=0.5x"})->notes, Not(Contains(ready)));
}

// Of 8.98 ms in an operator of another library nothing is known but that they are work.
TEST(WhatIf, WithoutShapesWorkMayGrowWithTheBatchOrStay) {
  TraceText text;
  text.step(0, 0, 11 * kMs);
  text.cpu_op("mylib::attention", 10 * kUs, 9'000 * kUs, {.args = of_floats("[64, 1024]")});
  text.cpu_op("aten::empty", 20 * kUs, 30 * kUs);
  text.cpu_op("aten::relu", 9'010 * kUs, 10'010 * kUs, {.args = of_floats("[64, 1024]")});
  text.cpu_op("aten::relu", 10'020 * kUs, 10'030 * kUs, {.args = of_floats("[1]")});
  // Nodes of autograd only call what works.
  text.cpu_op("autograd::engine::evaluate_function: AddBackward0", 10'040 * kUs, 10'940 * kUs);
  text.cpu_op("AddBackward0", 10'050 * kUs, 10'930 * kUs);
  const auto said = predicted(text, {"batch_size=4x"});
  ASSERT_TRUE(said) << said.error();
  constexpr double kRelu = 0.99e6 * 3, kOther = 8.98e6 * 3;  // relu but for the fastest one's 10 us
  EXPECT_NEAR(said->new_ns - said->step_ns, kOther + kRelu, 10e3);
  EXPECT_NEAR(said->low_ns - said->step_ns, kRelu - 0.15 * (kOther + kRelu), 10e3);
  EXPECT_THAT(said->notes, Contains(HasSubstr("no operator with shapes")));
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

constexpr const char* kH100 =
    R"("deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132,
       "totalGlobalMem": 85000000000, "computeMajor": 9, "computeMinor": 0}])";

// A step on an H100 that waits for its GPU work, which operators launch a piece each.
class GpuStep {
 public:
  GpuStep() { text_.top(kH100); }

  // `inside`: the node of autograd around the operator, if any.
  GpuStep& call(const std::string& name, const std::string& args, const std::string& work,
                int64_t length_ns, const std::string& inside = "") {
    if (!inside.empty()) text_.cpu_op(inside, host_ns_ - kUs, host_ns_ + 11 * kUs);
    text_.cpu_op(name, host_ns_, host_ns_ + 10 * kUs, {.args = args});
    return launch("cudaLaunchKernel", work, length_ns);
  }
  GpuStep& launch(const std::string& call, const std::string& work, int64_t length_ns) {
    text_.runtime(call, host_ns_ + 2 * kUs, host_ns_ + 4 * kUs, ++launches_);
    device_ns_ = std::max(device_ns_ + kUs, host_ns_ + 5 * kUs);
    const char* category = work.starts_with("Memcpy") ? "gpu_memcpy" : "kernel";
    text_.slice(category, work, device_ns_, device_ns_ + length_ns, on_stream(7, launches_));
    device_ns_ += length_ns;
    host_ns_ += 20 * kUs;
    return *this;
  }
  TraceText done() {
    text_.runtime("cudaDeviceSynchronize", host_ns_, device_ns_ + 10 * kUs, ++launches_);
    text_.step(0, 0, device_ns_ + 20 * kUs);
    return text_;
  }

 private:
  TraceText text_;
  int64_t host_ns_ = 10 * kUs, device_ns_ = 0;
  uint32_t launches_ = 0;
};

constexpr const char* kAccumulates =
    "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad";

TEST(WhatIf, AutocastLeavesCopiesOfTheHostTablesAndGradientsInFp32) {
  const std::string two = of_floats("[4096, 4096], [4096, 4096]", 2);
  GpuStep step;
  step.call("aten::copy_", two, "Memcpy HtoD (Pinned -> Device)", 4 * kMs)
      .call("aten::embedding",
            R"("Input Dims": [[50257, 4096], [64, 2048]], "Input type": ["float", "long int"])",
            "indexSelectLargeIndex", 2 * kMs)
      .call("aten::zero_", of_floats("[50257, 4096]"), "fill", 2 * kMs)
      .call("aten::mm", two, "ampere_sgemm_128x64_nn", 4 * kMs)
      .call("aten::add_", two, "add", kMs, kAccumulates);
  const auto said = predicted(step.done(), {"amp=bf16"});
  ASSERT_TRUE(said) << said.error();
  EXPECT_NEAR(said->step_ns - said->new_ns, 4e6 * (1 - 66.9 / 989.4), 1e3) << "the product alone";
  const auto mask = GpuStep()
                        .call("aten::masked_fill_", two, "fill", kMs)
                        .call("aten::mm", two, "ampere_sgemm_128x64_nn", 4 * kMs)
                        .done();
  EXPECT_GT(predicted(mask, {"amp=bf16"})->step_ns - predicted(mask, {"amp=bf16"})->new_ns, 4e6)
      << "what is given 16 bits has half of the bytes";
}

TEST(WhatIf, ACudaGraphMayGrowWithTheBatchOrStay) {
  GpuStep step;
  step.call("aten::copy_", of_floats("[64, 1024], [64, 1024]", 2), "copy", 5 * kUs)
      .launch("cudaGraphLaunch", "gemm", 9'900 * kUs);
  const auto said = predicted(step.done(), {"batch_size=2x"});
  ASSERT_TRUE(said) << said.error();
  EXPECT_NEAR(said->new_ns - said->step_ns, 9'900e3, 10e3);
  EXPECT_NEAR(said->low_ns - said->step_ns, -0.15 * 9'900e3, 10e3);
  EXPECT_THAT(said->notes, Contains(HasSubstr("no operator with shapes")));
}

// A table's gradient has as many rows as the table, of which 64 samples are hardly a part.
TEST(WhatIf, ALargerBatchLeavesWorkOnAllParametersAsItIs) {
  constexpr int64_t kTaken = 900 * kUs;
  GpuStep step;
  step.call("aten::embedding_dense_backward",
            R"("Input Dims": [[64, 4096], [64], [], [], []], )"
            R"("Input type": ["float", "long int", "Scalar", "Scalar", "Scalar"], )"
            R"("Concrete Inputs": ["", "", "128256", "-1", "False"])",
            "embedding_backward", kTaken)
      .call("aten::_foreach_mul_",
            R"("Input Dims": [[[4096, 4096], [4096]], []], "Input type": ["TensorList", "Scalar"])",
            "multi_tensor_apply", kMs)
      .call("aten::add_", of_floats("[4096, 4096], [4096, 4096]", 2), "add", kMs, kAccumulates);
  const auto said = predicted(step.done(), {"batch_size=4x"});
  ASSERT_TRUE(said) << said.error();
  EXPECT_NEAR(said->new_ns, said->step_ns, 5e3);
  // At 3,352 GB/s. The rest may be of the samples.
  constexpr double kTableNs = 128'256.0 * 4096 * 4 / 3352;
  EXPECT_NEAR(said->high_ns - said->step_ns, 3 * (kTaken - kTableNs), 5e3);
}

// A step of one product on an H100, whose kernel takes `ns`.
TraceText one_product(const char* sizes, const char* strides, int64_t ns) {
  TraceText text;
  text.top(kH100);
  text.step(0, 0, 30 * kUs);
  text.cpu_op("aten::mm", kUs, 20 * kUs,
              {.args = fmt::format(R"("Input Dims": {}, "Input Strides": {}, )"
                                   R"("Input type": ["c10::BFloat16", "c10::BFloat16"])",
                                   sizes, strides)});
  text.runtime("cudaLaunchKernel", 2 * kUs, 4 * kUs, 1);
  text.kernel("nvjet", 5 * kUs, 5 * kUs + ns, on_stream(7, 1));
  return text;
}

// 2 * 8192^3 operations take 1,111 us at the peak: 70 % of what the kernel takes. Of the rest only
// 20 us are no work.
TEST(WhatIf, ALargerBatchOfLargeProductsIsNoFaster) {
  constexpr int64_t kTaken = 1'587 * kUs;
  const auto said =
      predicted(one_product("[[8192, 8192], [8192, 8192]]", "[[8192, 1], [1, 8192]]", kTaken),
                {"batch_size=2x"});
  ASSERT_TRUE(said) << said.error();
  EXPECT_NEAR((said->new_ns - said->step_ns) / kTaken, 1 - 20e3 / kTaken, 0.001);
  EXPECT_GT((said->low_ns - said->step_ns) / kTaken, 0.4);
}

// The small product's 20 us are no work, but the large one is at the roof already: 34.7 of 35 us.
TEST(WhatIf, ALargerBatchIsNotFasterThanTheDevice) {
  const auto product = [](const char* sizes) {
    return fmt::format(R"("Input Dims": {}, "Input type": ["c10::BFloat16", "c10::BFloat16"])",
                       sizes);
  };
  GpuStep step;
  step.call("aten::mm", product("[[2048, 4096], [4096, 2048]]"), "nvjet", 35 * kUs)
      .call("aten::mm", product("[[64, 64], [64, 64]]"), "nvjet", 20 * kUs);
  const auto said = predicted(step.done(), {"batch_size=2x"});
  ASSERT_TRUE(said) << said.error();
  constexpr double kLeastNs = 2.0 * 2048 * 4096 * 2048 / 989.4e3;
  EXPECT_NEAR(said->new_ns - said->step_ns, 2 * kLeastNs - 35e3, 100);
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

// Rank 1 computes 60 ms, rank 0 10 ms. So rank 0 waits 50 ms in an all-reduce that takes 1 ms.
TraceText waiting_rank(int rank, int world_size) {
  TraceText text;
  text.rank(rank, world_size, "nccl");
  for (int i = 0; i < 4; ++i) {
    const int64_t at = i * 62 * kMs, computed = at + 60 * kUs + (rank == 0 ? 10 : 60) * kMs;
    const auto number = static_cast<uint32_t>(10 * i);
    text.step(i, at, at + 61'900 * kUs).cpu_op("aten::mm", at + 10 * kUs, at + 40 * kUs);
    text.runtime("cudaLaunchKernel", at + 12 * kUs, at + 20 * kUs, number + 1);
    text.kernel("gemm", at + 50 * kUs, computed - 10 * kUs, on_stream(7, number + 1));
    text.runtime("cudaLaunchKernel", at + 60 * kUs, at + 65 * kUs, number + 2);
    text.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", computed, at + 61'060 * kUs,
                on_stream(20, number + 2,
                          fmt::format(R"("Collective name": "allreduce", "Seq": {}, )"
                                      R"("In msg nelems": 1000000, "Out msg nelems": 1000000, )"
                                      R"("Group size": {}, "dtype": "Float", )"
                                      R"("Process Group Name": "0", )"
                                      R"("Process Group Ranks": "[0, 1{}]")",
                                      i, world_size, world_size == 3 ? ", 2" : "")));
    text.runtime("cudaDeviceSynchronize", at + 110 * kUs, at + 61'500 * kUs, number + 3);
  }
  return text;
}

// What the traces of ranks 0 and 1 tell.
tl::expected<Prediction, std::string> with_two_ranks(int world_size,
                                                     std::vector<WhatIfKnob> knobs) {
  const std::array analyses = {analysis_of(waiting_rank(0, world_size)),
                               analysis_of(waiting_rank(1, world_size))};
  const std::array ranks = {&analyses[0], &analyses[1]};
  const auto summaries = pointers_to(analyses);
  return what_if(ranks, knobs, compare_ranks(summaries, rank_numbers(summaries)));
}

TEST(WhatIf, AllRanksTellHowLongACollectiveWaited) {
  const auto said = with_two_ranks(2, {knob("collectives=2x")});
  ASSERT_TRUE(said) << said.error();
  EXPECT_NEAR(said->step_ns, 61.9e6, 1);
  EXPECT_NEAR(said->new_ns, 61.4e6, 1e3) << "half of the network's 1 ms";
  EXPECT_GT(said->low_ns, 61.2e6);
  EXPECT_LT(said->high_ns, 61.6e6);
  EXPECT_THAT(said->notes, Not(Contains(HasSubstr("waiting for other ranks"))));
  const auto both = with_two_ranks(2, {knob("collectives=2x"), knob("straggler=cured")});
  ASSERT_TRUE(both) << both.error();
  EXPECT_NEAR(both->new_ns, 11.4e6, 1e3) << "the 50 ms of waiting are gone, too";
  const auto alone = predicted(waiting_rank(0, 2), {"collectives=2x"});
  ASSERT_TRUE(alone) << alone.error();
  EXPECT_NEAR(alone->new_ns, 36.4e6, 1e3);
  EXPECT_THAT(alone->notes, Contains(HasSubstr("waiting for other ranks")));
  const auto two_of_three = with_two_ranks(3, {knob("collectives=2x")});
  ASSERT_TRUE(two_of_three) << two_of_three.error();
  EXPECT_NEAR(two_of_three->new_ns, 61.4e6, 1e3);
  EXPECT_NEAR(two_of_three->high_ns, 61.9e6, 1) << "the third one may have been the last";
  EXPECT_THAT(two_of_three->notes, Contains(HasSubstr("waiting for other ranks")));
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
