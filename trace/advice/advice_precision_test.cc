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
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(AdvicePrecision, Float32MatrixWork) {
  const auto mm = [](int64_t ns) { return one_step().cpu_op("aten::mm", 0, ns); };
  EXPECT_THAT(advice_on(mm(50 * kMs)), Contains(AllOf(Field(&Finding::rule, "float32_matrix_work"),
                                                      Field(&Finding::knob, "amp=off,bf16"))));
  EXPECT_THAT(advice_on(mm(10 * kMs)), Not(HasRule("float32_matrix_work")));
  EXPECT_THAT(advice_on(mm(10 * kMs)
                            .cpu_op("aten::mkldnn_rnn_layer", 10 * kMs, 16 * kMs)
                            .cpu_op("aten::mkldnn_rnn_layer_backward", 16 * kMs, 22 * kMs)),
              Contains(Field(&Finding::headline, "No autocast: 22.0 ms a step in matrix work")));
  EXPECT_THAT(advice_on(mm(50 * kMs).cpu_op("ToCopyBackward0", 60 * kMs, 61 * kMs)),
              Not(HasRule("float32_matrix_work")));
}

TEST(AdvicePrecision, Bf16IsOnlyForProcessorsAndJobsThatGainFromIt) {
  const auto found = [](const char* recorded, const char* types = "") {
    TraceText text = one_step();
    const std::string args =
        fmt::format(R"("Input Dims": [[64, 64], [64, 64]], "Input type": [{}])", types);
    text.cpu_op("aten::mm", 0, 50 * kMs, {.args = *types == '\0' ? "" : args});
    if (*recorded != '\0') text.top(recorded);
    return advice_on(text);
  };
  const auto said = HasRule("float32_matrix_work");
  EXPECT_THAT(found(R"("run": {"machine": {"bf16": true}})"),
              Contains(Field(&Finding::detail, HasSubstr("this CPU has instructions for bf16"))));
  EXPECT_THAT(found(R"("run": {"machine": {"bf16": false}})"), Not(said));
  EXPECT_THAT(found(R"("torch": {"autocast": {"cpu": "bfloat16"}})"), Not(said));
  EXPECT_THAT(found(R"("torch": {"autocast": {"cuda": "float16"}})"), said);
  EXPECT_THAT(found(R"("torch": {"parameters": {"float32": 90, "bfloat16": 10}})"), said);
  EXPECT_THAT(found(R"("torch": {"parameters": {"float32": 10, "bfloat16": 90}})"), Not(said));
  EXPECT_THAT(found(R"("torch": {"parameters": [1], "autocast": 2}, "run": {"machine": 3})"), said);
  EXPECT_THAT(found("", R"("float", "float")"), said);
  EXPECT_THAT(found("", R"("double", "double")"), Not(said));
}

TEST(AdvicePrecision, TensorCoresUnused) {
  const auto rules = [](const char* kernel) { return advice_on(gpu_step(60 * kMs, kernel)); };
  const auto findings = rules("volta_sgemm_128x64_nn");
  const Finding& finding = only(findings, "tensor_cores_unused");
  // A V100 does 8 times as many products in fp16, so 52.5 of the 60 ms can be saved.
  EXPECT_NEAR(*finding.estimated_speedup, 100 / 47.5, 1e-9);
  EXPECT_EQ(finding.knob, "amp=off,fp16");
  EXPECT_EQ(finding.events[0].name, "volta_sgemm_128x64_nn");
  EXPECT_THAT(rules("volta_fp16_s884gemm"), Not(HasRule("tensor_cores_unused")));
  EXPECT_THAT(rules("sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x32_cublas"),
              Not(HasRule("tensor_cores_unused")));
  EXPECT_THAT(rules("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_"
                    "warpsize2x2x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas"),
              HasRule("tensor_cores_unused"));
  EXPECT_THAT(rules("elementwise_kernel"), Not(HasRule("tensor_cores_unused")));
  EXPECT_THAT(rules("fbgemm_gpu::permute_kernel"), Not(HasRule("tensor_cores_unused")));
  EXPECT_THAT(advice_on(gpu_step(60 * kMs, "sgemm", gpu("P100", 6, 0))),
              Not(HasRule("tensor_cores_unused")));
}

TEST(AdvicePrecision, KernelsBesideOthersCannotBeWon) {
  const auto findings = advice_on(
      gpu_step(60 * kMs, "sgemm").kernel("elementwise", kUs, kUs + 44 * kMs, on_stream(8)));
  EXPECT_NEAR(*only(findings, "tensor_cores_unused").estimated_speedup, 100 / 86.0, 1e-9);
}

TEST(AdvicePrecision, Tf32) {
  const std::string ampere = gpu("A100", 8, 0);
  const auto simt = advice_on(gpu_step(60 * kMs, "ampere_sgemm_128x64_tn", ampere));
  EXPECT_NEAR(*only(simt, "tf32_off").estimated_speedup, 100 / 47.5, 1e-9);
  EXPECT_NEAR(*only(simt, "tensor_cores_unused").estimated_speedup, 100 / (100 - 60 * 15 / 16.0),
              1e-9);
  EXPECT_EQ(only(simt, "tensor_cores_unused").knob, "amp=off,bf16,fp16");
  // A kernel that runs in TF32 already gains at most a factor of 2 by 16 bits, and nothing by TF32.
  const auto tf32 =
      advice_on(gpu_step(60 * kMs, "cutlass_80_tensorop_s1688gemm_128x64_nn_align4", ampere));
  EXPECT_THAT(tf32, Not(HasRule("tf32_off")));
  EXPECT_NEAR(*only(tf32, "tensor_cores_unused").estimated_speedup, 100 / 70.0, 1e-9);
  EXPECT_THAT(advice_on(gpu_step(60 * kMs, "ampere_bf16_s16816gemm_bf16_128x64", ampere)),
              IsEmpty());
  EXPECT_THAT(advice_on(gpu_step(60 * kMs, "volta_sgemm")), Not(HasRule("tf32_off")));
}

// Where the switch is on already, the library chose FP32.
TEST(AdvicePrecision, ProductsAndConvolutionsHaveSwitchesOfTheirOwnForTf32) {
  const auto advice = [](const char* around, const char* settings) {
    return advice_on(gpu_step(0, "", gpu("A100", 8, 0))
                         .top(fmt::format(R"("torch": {{{}}})", settings))
                         .cpu_op(around, 10 * kUs, 20 * kUs)
                         .runtime("cudaLaunchKernel", 11 * kUs, 12 * kUs, 1)
                         .kernel("ampere_sgemm", 30 * kUs, 60 * kMs, on_stream(7, 1)));
  };
  const char* products_on = R"("matmul_allow_tf32": true, "cudnn_allow_tf32": false)";
  const char* cudnn_on = R"("matmul_allow_tf32": false, "cudnn_allow_tf32": true)";
  EXPECT_THAT(advice("aten::mm", cudnn_on), HasRule("tf32_off"));
  EXPECT_THAT(advice("aten::mm", products_on), Not(HasRule("tf32_off")));
  for (const char* around : {"aten::convolution_backward", "aten::_cudnn_rnn"}) {
    EXPECT_THAT(advice(around, products_on), HasRule("tf32_off")) << around;
    EXPECT_THAT(advice(around, cudnn_on), Not(HasRule("tf32_off"))) << around;
  }
}

TEST(AdvicePrecision, TheSmallTuringsHaveNoTensorCores) {
  const auto advice = [](const char* name) {
    return advice_on(gpu_step(60 * kMs, "turing_sgemm_128x64_nn", gpu(name, 7, 5)));
  };
  for (const char* name : {"NVIDIA GeForce GTX 1660 Ti", "NVIDIA GeForce MX450", "NVIDIA T600"}) {
    EXPECT_THAT(advice(name), Not(HasRule("tensor_cores_unused"))) << name;
  }
  for (const char* name : {"NVIDIA GeForce RTX 2080", "Tesla T4"}) {
    EXPECT_THAT(advice(name), HasRule("tensor_cores_unused")) << name;
  }
}

}  // namespace
}  // namespace redline::trace
