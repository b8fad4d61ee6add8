#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/parsed_trace.h"
#include "tests/paths.h"
#include "trace/advice/advice.h"
#include "trace/read/reader.h"

namespace redline::trace {
namespace {

using redline::testing::advice_on;
using redline::testing::HasRule;
using redline::testing::kMs;
using redline::testing::kUs;
using redline::testing::on_stream;
using redline::testing::only;
using redline::testing::TraceText;
using ::testing::HasSubstr;
using ::testing::Not;

// A step of 10 ms on an H100. Each operator is launched in the first 2 ms, and its kernel runs
// behind the one before.
class Training {
 public:
  Training() {
    text_.top(R"("deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132,
             "totalGlobalMem": 85000000000, "computeMajor": 9, "computeMinor": 0}])");
    text_.step(0, 0, 2 * kMs);
  }

  Training& run(const std::string& name, const std::string& kernel, int64_t length_ns,
                const std::string& args = R"("Input Dims": [[1]])") {
    ++count_;
    const int64_t at = count_ * 20 * kUs;
    text_.cpu_op(name, at, at + 15 * kUs, {.args = args});
    text_.runtime("cudaLaunchKernel", at + kUs, at + 3 * kUs, count_);
    const int64_t begin = std::max(at + 5 * kUs, end_ns_);
    end_ns_ = begin + length_ns;
    text_.kernel(kernel, begin, end_ns_, on_stream(7, count_));
    return *this;
  }

  [[nodiscard]] std::vector<Finding> advice() const { return advice_on(text_); }

 private:
  TraceText text_;
  uint32_t count_ = 0;
  int64_t end_ns_ = 0;
};

std::string sizes_of(const char* sizes, const char* type = "c10::BFloat16") {
  return fmt::format(R"("Input Dims": {0}, "Input type": ["{1}", "{1}"])", sizes, type);
}

constexpr const char* kElementwise = "void at::native::vectorized_elementwise_kernel<4>";
constexpr const char* kCat = "at::native::CatArrayBatchedCopy<OpaqueType<2u>>";

TEST(AdviceRoof, ACompilerFusesKernelsThatFollowEachOther) {
  Training training;
  training.run("aten::mm", "nvjet_gemm", 4 * kMs);
  for (const int64_t length : {1, 3, 2}) training.run("aten::mul", kElementwise, length * kMs);
  const auto findings = training.advice();
  const Finding& finding = only(findings, "fusible_kernels");
  EXPECT_EQ(finding.headline, "Kernels that a compiler would fuse: 60.0 %");
  EXPECT_THAT(finding.detail, HasSubstr("60.0 % of the kernels' time in 3 element-wise"));
  // Of 1 + 3 + 2 ms the longest stays.
  EXPECT_NEAR(*finding.estimated_speedup, 10.0 / 7, 0.01);
  EXPECT_EQ(finding.knob, "compile=off,on");
  EXPECT_THAT(
      Training().run("aten::mm", "nvjet_gemm", 9 * kMs).run("aten::cat", kCat, kMs).advice(),
      Not(HasRule("fusible_kernels")));
}

TEST(AdviceRoof, ASoftmaxBetweenBatchedProductsIsAttention) {
  const std::string product = sizes_of("[[64, 512, 64], [64, 64, 512]]");
  const std::string scores = sizes_of("[[64, 512, 512], []]");
  const auto attention = [&](const char* middle) {
    return Training()
        .run("aten::bmm", "nvjet_a", 3 * kMs, product)
        .run(middle, "softmax_warp_forward", 4 * kMs, scores)
        .run("aten::bmm", "nvjet_b", 3 * kMs, sizes_of("[[64, 512, 512], [64, 512, 64]]"))
        .advice();
  };
  const auto findings = attention("aten::_softmax");
  const Finding& finding = only(findings, "unfused_attention");
  EXPECT_EQ(finding.headline, "Attention that writes its scores to memory");
  EXPECT_THAT(finding.detail, HasSubstr("a softmax of a product's result"));
  EXPECT_NEAR(*finding.estimated_speedup, 10.0 / 6, 0.01);
  EXPECT_THAT(attention("aten::exp"), Not(HasRule("unfused_attention")));
}

TEST(AdviceRoof, SizesThatTensorCoresCannotTakeWhole) {
  const auto products = [](const char* sizes, const char* kernel) {
    return Training().run("aten::mm", kernel, 10 * kMs, sizes_of(sizes)).advice();
  };
  const auto findings = products("[[8192, 4096], [4096, 50257]]", "cutlass_80_gemm_align1");
  const Finding& finding = only(findings, "misaligned_products");
  EXPECT_EQ(finding.headline, "Products of sizes that Tensor Cores do not like");
  EXPECT_EQ(finding.detail,
            "50,257: pad such sizes (vocabulary, hidden, sequence) to a multiple of 8");
  // 2 * 8192 * 4096 * 50257 operations take 3.41 ms of the 10 ms at 989.4 TFLOP/s.
  EXPECT_NEAR(*finding.estimated_speedup, 10.025 / 3.434, 0.02);
  EXPECT_THAT(products("[[8192, 4096], [4096, 50304]]", "nvjet"),
              Not(HasRule("misaligned_products")));
}

TEST(AdviceRoof, WhatCheckpointingComputesAgain) {
  const auto training = [](const char* sequence) {
    TraceText text;
    text.step(0, 0, 2 * kMs);
    text.cpu_op("autograd::engine::evaluate_function: CheckpointFunctionBackward", 10 * kUs,
                200 * kUs);
    text.cpu_op("aten::mm", 20 * kUs, 60 * kUs,
                {.args = sizes_of("[[64, 64], [64, 64]]") + sequence});
    text.runtime("cudaLaunchKernel", 30 * kUs, 32 * kUs, 1);
    text.kernel("gemm", 35 * kUs, 4'035 * kUs, on_stream(7, 1));
    text.cpu_op("aten::mm", 70 * kUs, 90 * kUs, {.args = sizes_of("[[64, 64], [64, 64]]")});
    text.runtime("cudaLaunchKernel", 75 * kUs, 77 * kUs, 2);
    text.kernel("gemm", 4'036 * kUs, 8'036 * kUs, on_stream(7, 2));
    return advice_on(text);
  };
  const auto findings = training(R"(, "Sequence number": 7)");
  const Finding& finding = only(findings, "recomputation");
  EXPECT_EQ(finding.headline, "Computed again in backward: 4.0 ms a step");
  EXPECT_NEAR(*finding.estimated_speedup, 8'036.0 / 4'081, 0.01);
  EXPECT_THAT(training(""), Not(HasRule("recomputation")));
}

TEST(AdviceRoof, ProductsOfAFewRowsAreBoundByMemory) {
  const auto rows = [](const char* sizes) {
    return Training().run("aten::mm", "nvjet", 5 * kMs, sizes_of(sizes)).advice();
  };
  const auto findings = rows("[[8, 16384], [16384, 16384]]");
  const Finding& finding = only(findings, "small_batch");
  EXPECT_EQ(finding.headline, "Products too small for the GPU: 5.0 ms a step");
  EXPECT_GT(*finding.estimated_speedup, 1.5);
  EXPECT_THAT(rows("[[16384, 16384], [16384, 16384]]"), Not(HasRule("small_batch")));
}

TEST(AdviceRoof, OfRealTraces) {
  const std::string folder = redline::testing::shared_dir() + "/traces/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no shared traces here";
  const auto said = [&](const char* name, const char* rule) {
    const auto trace = read_trace(folder + name + ".pt.trace.json.gz");
    EXPECT_TRUE(trace);
    if (!trace) return std::string();
    const auto findings = advise(analyze(*trace));
    for (const Finding& finding : findings) {
      if (finding.rule == rule) return finding.headline;
    }
    return std::string("nothing");
  };
  EXPECT_EQ(said("qwen05b_h100", "fusible_kernels"), "Kernels that a compiler would fuse: 60.9 %");
  // It computes 57 convolutions again, but communication is what its steps wait for.
  EXPECT_EQ(said("resnet_checkpointed_mi300x", "recomputation"), "nothing");
  // 42 TF32 products on align1 kernels, which are short of the roof by less than 2 % of the steps.
  EXPECT_EQ(said("diff_before_a100_rank3", "misaligned_products"), "nothing");
}

}  // namespace
}  // namespace redline::trace
