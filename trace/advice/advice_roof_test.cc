#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/parsed_trace.h"
#include "tests/small_steps.h"
#include "trace/advice/advice.h"
#include "trace/read/reader.h"

namespace redline::trace {
namespace {

using namespace redline::testing;
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
  [[nodiscard]] const TraceText& text() const { return text_; }

 private:
  TraceText text_;
  uint32_t count_ = 0;
  int64_t end_ns_ = 0;
};

std::string sizes_of(const char* sizes, const char* type = "c10::BFloat16") {
  return fmt::format(R"("Input Dims": {0}, "Input type": ["{1}", "{1}"])", sizes, type);
}

// The left operand's lines follow each other, the right one is a transposed weight.
std::string few_rows(const char* sizes = "[[8, 16384], [16384, 16384]]",
                     const char* strides = "[[16384, 1], [1, 16384]]") {
  return sizes_of(sizes) + R"(, "Input Strides": )" + strides;
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
  // What a fused kernel would take of 1 + 3 + 2 ms is not known.
  EXPECT_NEAR(*finding.estimated_speedup, 10.025 / 4.025, 1e-6);
  EXPECT_EQ(finding.knob, "compile=off,on");
  const auto of_compiled = training.run("CompiledFunction", "triton_0", kUs).advice();
  EXPECT_THAT(only(of_compiled, "fusible_kernels").detail, HasSubstr("TORCH_LOGS=graph_breaks"));
  EXPECT_EQ(only(of_compiled, "fusible_kernels").knob, "");
  EXPECT_THAT(
      Training().run("aten::mm", "nvjet_gemm", 9 * kMs).run("aten::cat", kCat, kMs).advice(),
      Not(HasRule("fusible_kernels")));
}

// They update parameters that do not depend on each other, outside of the model.
TEST(AdviceRoof, KernelsOfAnOptimizerAreNotFused) {
  const auto advice = [](const char* range, int64_t begin_ns) {
    TraceText text = Training()
                         .run("aten::mm", "nvjet_gemm", 4 * kMs)
                         .run("aten::mul", kElementwise, 3 * kMs)
                         .run("aten::mul", kElementwise, 3 * kMs)
                         .text();
    return advice_on(text.annotation(range, begin_ns, kMs));
  };
  EXPECT_THAT(advice("MyModel.forward", 38 * kUs), HasRule("fusible_kernels"));
  EXPECT_THAT(advice("Optimizer.step#SGD.step", 38 * kUs), Not(HasRule("fusible_kernels")));
  EXPECT_THAT(advice("Optimizer.step#SGD.step", 58 * kUs), Not(HasRule("fusible_kernels")))
      << "one kernel before it";
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

// Tokens are the rows of a layer's input, and what the gradient of its weights sums over: in
// neither they follow each other in memory.
TEST(AdviceRoof, OnlySizesAlongMemoryMustBeMultiples) {
  const auto advice = [](const char* sizes, const char* strides, const char* kernel = "nvjet") {
    return Training().run("aten::mm", kernel, 9 * kMs, few_rows(sizes, strides)).advice();
  };
  const auto speaks = HasRule("misaligned_products");
  EXPECT_THAT(advice("[[8191, 2048], [2048, 4096]]", "[[2048, 1], [1, 2048]]"), Not(speaks));
  EXPECT_THAT(advice("[[4096, 8191], [8191, 2048]]", "[[1, 4096], [2048, 1]]"), Not(speaks));
  EXPECT_THAT(advice("[[4096, 8191], [8191, 2048]]", "[]"), Not(speaks)) << "is not known";
  const auto odd = [&](const char* kernel) {
    return advice("[[8192, 2047], [2047, 4096]]", "[[2047, 1], [1, 2047]]", kernel);
  };
  EXPECT_THAT(odd("nvjet"), speaks);
  EXPECT_THAT(odd("Kernel2<cutlass_80_tensorop_bf16_s16816gemm_tn_align2>(Params)"), speaks);
  EXPECT_THAT(odd("Kernel2<cutlass_80_tensorop_bf16_s16816gemm_tn_align8>(Params)"), Not(speaks));
  const auto layer = [](const char* sizes) {
    return Training()
        .run("aten::addmm", "nvjet", 9 * kMs,
             fmt::format(R"("Input Dims": {}, "Input type": ["c10::BFloat16", "c10::BFloat16", )"
                         R"("c10::BFloat16"], "Input Strides": [[1], [2048, 1], [1, 2048]])",
                         sizes))
        .advice();
  };
  EXPECT_THAT(layer("[[4096], [8191, 2048], [2048, 4096]]"), Not(speaks));
  EXPECT_THAT(only(layer("[[50257], [8191, 2048], [2048, 50257]]"), "misaligned_products").detail,
              HasSubstr("50,257: pad such sizes"));
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

// One node of autograd: a forward product that was numbered, and `gradient` within `around`.
TraceText backward(const std::string& node, const char* number, const char* gradient,
                   const char* around, const char* number_around) {
  TraceText text;
  text.step(0, 0, 2 * kMs);
  text.cpu_op("autograd::engine::evaluate_function: " + node, 10 * kUs, 200 * kUs);
  text.cpu_op(node, 12 * kUs, 190 * kUs, {.args = R"("Sequence number": 3)"});
  const std::string sizes = sizes_of("[[64, 64], [64, 64]]");
  text.cpu_op("aten::mm", 20 * kUs, 60 * kUs, {.args = sizes + R"(, "Sequence number": 7)"});
  text.runtime("cudaLaunchKernel", 30 * kUs, 32 * kUs, 1);
  text.kernel("gemm", 35 * kUs, 4'035 * kUs, on_stream(7, 1));
  text.cpu_op(around, 70 * kUs, 100 * kUs, {.args = sizes + number_around});
  text.cpu_op(gradient, 72 * kUs, 90 * kUs, {.args = sizes + number});
  text.runtime("cudaLaunchKernel", 75 * kUs, 77 * kUs, 2);
  text.kernel("other", 4'036 * kUs, 8'036 * kUs, on_stream(7, 2));
  return text;
}

// create_graph=True differentiates gradients again, so autograd numbers the operators that compute
// them, too: the outermost ones.
TEST(AdviceRoof, GradientsOfGradientsAreNotComputedAgain) {
  const auto advice = [](const std::string& node, const char* number, const char* gradient,
                         const char* around = "aten::matmul", const char* number_around = "") {
    return advice_on(backward(node, number, gradient, around, number_around));
  };
  constexpr const char* kNumber = R"(, "Sequence number": 8)";
  EXPECT_THAT(advice("MmBackward0", kNumber, "aten::mm", "aten::matmul", kNumber),
              Not(HasRule("recomputation")));
  EXPECT_THAT(advice("MmBackward0", "", "aten::fill_", "aten::zeros", kNumber),
              Not(HasRule("recomputation")));
  // The last operator of a checkpointed block may be no product.
  EXPECT_THAT(advice("ReluBackward0", "", "aten::threshold_backward"), HasRule("recomputation"));
  EXPECT_THAT(advice("MulBackward0", "", "my::gradient"), HasRule("recomputation"));
}

// Autograd numbers only the operator of the subclass, not what it calls with what it wraps.
TEST(AdviceRoof, WhatCheckpointingComputesAgainWithTensorSubclasses) {
  TraceText text;
  text.step(0, 0, 2 * kMs);
  text.cpu_op("autograd::engine::evaluate_function: MmBackward0", 10 * kUs, 400 * kUs);
  for (const uint32_t i : {1, 2}) {
    const int64_t at = i * 100 * kUs;
    const std::string sizes = sizes_of("[[64, 64], [64, 64]]");
    const char* number = i == 1 ? R"(, "Sequence number": 7)" : "";
    text.cpu_op("aten::mm", at, at + 90 * kUs, {.args = sizes + number});
    text.cpu_op("PythonSubclass", at + 10 * kUs, at + 80 * kUs);
    text.cpu_op("aten::mm", at + 20 * kUs, at + 60 * kUs, {.args = sizes});
    text.runtime("cudaLaunchKernel", at + 30 * kUs, at + 32 * kUs, i);
    text.kernel("gemm", 4 * i * kMs, 4 * i * kMs + 3 * kMs, on_stream(7, i));
  }
  EXPECT_THAT(advice_on(text), HasRule("recomputation"));
}

TEST(AdviceRoof, ProductsOfAFewRowsAreBoundByMemory) {
  const auto rows = [](const char* sizes) {
    return Training().run("aten::mm", "nvjet", 5 * kMs, few_rows(sizes)).advice();
  };
  const auto findings = rows("[[8, 16384], [16384, 16384]]");
  const Finding& finding = only(findings, "small_batch");
  EXPECT_EQ(finding.headline, "Products too small for the GPU: 5.0 ms a step");
  EXPECT_GT(*finding.estimated_speedup, 1.5);
  EXPECT_THAT(rows("[[16384, 16384], [16384, 16384]]"), Not(HasRule("small_batch")));
  EXPECT_THAT(rows("[[0, 0], [0, 0]]"), Not(HasRule("small_batch")));
}

// More rows save only what reading the weights takes.
TEST(AdviceRoof, ProductsThatReadMostlyRowsGainNothingByMore) {
  const auto product = [](const char* name, const std::string& args) {
    return Training().run(name, "gemm", 9 * kMs, args).advice();
  };
  const auto mm = [&](const char* sizes, const char* strides) {
    return product("aten::mm", few_rows(sizes, strides));
  };
  const auto convolution = [&](const char* sizes, const char* padding, const char* groups) {
    return product("aten::convolution",
                   sizes_of(sizes) + fmt::format(R"(, "Concrete Inputs": ["", "", "", "[1, 1]", )"
                                                 R"("{}", "[1, 1]", "False", "[0, 0]", "{}"])",
                                                 padding, groups));
  };
  const std::vector<std::vector<Finding>> silent = {
      convolution("[[1024, 64, 56, 56], [256, 64, 1, 1], [], [], [], [], [], [], []]", "[0, 0]",
                  "1"),
      convolution("[[1024, 512, 28, 28], [512, 1, 3, 3], [], [], [], [], [], [], []]", "[1, 1]",
                  "512"),
      mm("[[8000000, 64], [64, 64]]", "[[64, 1], [1, 64]]"),
      mm("[[64, 8000000], [8000000, 64]]", "[[1, 64], [64, 1]]"),
      product("aten::mm", sizes_of("[[64, 8000000], [8000000, 64]]")),
      product("aten::bmm", sizes_of("[[6000, 1024, 64], [6000, 64, 1024]]")),
  };
  for (const auto& findings : silent) EXPECT_THAT(findings, Not(HasRule("small_batch")));
  EXPECT_THAT(mm("[[16384, 8], [8, 16384]]", "[[1, 16384], [16384, 1]]"), HasRule("small_batch"));
  // Two thirds of the bytes are weights, so that a third of 9 ms stays.
  const auto findings = mm("[[64, 256], [256, 256]]", "[[256, 1], [1, 256]]");
  EXPECT_NEAR(*only(findings, "small_batch").estimated_speedup, 9.025 / 3.025, 0.01);
}

// Five kernels in a row, of the lengths given.
Training fusible(std::vector<int64_t> lengths_ns, int64_t product_ns) {
  Training training;
  training.run("aten::mm", "nvjet_gemm", product_ns);
  for (const int64_t ns : lengths_ns) training.run("aten::mul", kElementwise, ns);
  return training;
}

Training attention(int64_t softmax_ns, int between, int64_t product_ns = 3 * kMs) {
  Training training;
  training.run("aten::baddbmm", "nvjet_a", product_ns, sizes_of("[[64, 512, 64], [64, 64, 512]]"));
  for (int i = 0; i < between; ++i) training.run("aten::mul", "scale", kUs);
  training.run("aten::_softmax", "softmax_warp_forward", softmax_ns,
               sizes_of("[[64, 512, 512], []]"));
  for (int i = 0; i < between; ++i) training.run("aten::mul", "dropout", kUs);
  training.run("aten::bmm", "nvjet_b", product_ns, sizes_of("[[64, 512, 512], [64, 512, 64]]"));
  return training;
}

TEST(AdviceRoof, WhoCallsAttentionThatHasNoKernelIsToldSo) {
  const auto advice = [](const char* around) {
    TraceText text = attention(4 * kMs, 0).text();
    return only(advice_on(text.cpu_op(around, 15 * kUs, 80 * kUs)), "unfused_attention").detail;
  };
  EXPECT_THAT(advice("aten::_scaled_dot_product_attention_math"),
              HasSubstr("scaled_dot_product_attention was called, but no kernel took it"));
  EXPECT_THAT(advice("attention"), HasSubstr("does all of it in one kernel"));
}

Training product(const char* sizes, const char* kernel, int64_t ns,
                 const char* type = "c10::BFloat16", const char* strides = "[]") {
  return Training()
      .run("aten::mm", kernel, ns, sizes_of(sizes, type) + R"(, "Input Strides": )" + strides)
      .run("aten::relu", "relu", kMs);
}

TraceText product_on_gpu(const std::string& args) {
  TraceText text;
  text.step(0, 0, 2 * kMs).cpu_op("aten::mm", 10 * kUs, 60 * kUs, {.args = args});
  text.runtime("cudaLaunchKernel", 30 * kUs, 32 * kUs, 1);
  return text.kernel("product", 35 * kUs, kMs, on_stream(7, 1));
}

TraceText recomputing(int64_t again_ns, int64_t other_ns, const char* type = "c10::BFloat16") {
  TraceText text;
  text.step(0, 0, 2 * kMs);
  text.cpu_op("autograd::engine::evaluate_function: CheckpointFunctionBackward", 10 * kUs,
              400 * kUs);
  text.cpu_op("aten::mm", 20 * kUs, 60 * kUs,
              {.args = sizes_of("[[64, 64], [64, 64]]", type) + R"(, "Sequence number": 7)"});
  text.runtime("cudaLaunchKernel", 30 * kUs, 32 * kUs, 1);
  text.kernel("gemm", 35 * kUs, 35 * kUs + again_ns, on_stream(7, 1));
  text.cpu_op("gradient", 290 * kUs, 310 * kUs);
  text.runtime("cudaLaunchKernel", 300 * kUs, 302 * kUs, 2);
  text.kernel("rest", 35 * kUs + again_ns, 35 * kUs + again_ns + other_ns, on_stream(7, 2));
  return text;
}

TEST(AdviceRoof, WhoseMemoryIsFullIsToldWhatItDoesNotYet) {
  const auto full = [](TraceText text) {
    const auto findings = advice_on(text.top(gpu("V100", 7, 0)).event(holding(950)));
    const Finding& finding = only(findings, "device_memory_full");
    return finding.detail.substr(finding.detail.find(": ") + 2) + " [" + finding.knob + "]";
  };
  const auto product = [](const char* type) {
    return product_on_gpu(sizes_of("[[64, 64], [64, 64]]", type));
  };
  EXPECT_EQ(full(product("float")),
            "AMP or checkpointing makes room for a larger batch [amp=off,bf16,fp16]");
  EXPECT_EQ(full(product("c10::BFloat16")),
            "checkpointing makes room for a larger batch [checkpointing=off,on]");
  EXPECT_EQ(full(recomputing(kMs, kMs, "float")),
            "AMP makes room for a larger batch [amp=off,bf16,fp16]");
  EXPECT_EQ(full(recomputing(kMs, kMs)), "only sharding (FSDP) or a smaller batch makes room []");
}

TEST(AdviceRoof, RulesSpeakFromTheirLimitOn) {
  struct Limit {
    const char* rule;
    const char* what;
    std::function<TraceText(int64_t)> of;
    int64_t without, with;  ///< the rule is silent, and speaks
  };
  const std::vector<Limit> limits = {
      {"fusible_kernels", "30 % of the kernels' time",
       [](int64_t ns) {
         return fusible({kMs, kMs, kMs}, ns).text();
       },
       7 * kMs + kUs, 7 * kMs},
      {"fusible_kernels", "2 % of the step",
       [](int64_t ns) {
         return Training()
             .run("c10d::allreduce_", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 9800 * kUs)
             .run("aten::mul", kElementwise, ns)
             .run("aten::mul", kElementwise, ns)
             .text();
       },
       100 * kUs, 101 * kUs},
      {"fusible_kernels", "two in a row",
       [](int64_t count) {
         return fusible(std::vector<int64_t>(static_cast<size_t>(count), 5 * kMs), kMs).text();
       },
       1, 2},
      {"unfused_attention", "2 % of the step",
       [](int64_t ns) { return attention(ns, 0, 5 * kMs).text(); }, 200 * kUs, 210 * kUs},
      {"unfused_attention", "five operators between",
       [](int64_t count) { return attention(4 * kMs, static_cast<int>(count)).text(); }, 6, 5},
      {"recomputation", "5 % of the step",
       [](int64_t ns) { return recomputing(ns, 19 * (35 * kUs + kMs) - 19 * 35 * kUs - 35 * kUs); },
       kMs - kUs, kMs},
      {"misaligned_products", "larger than a piece of 8",
       [](int64_t size) {
         return product(fmt::format("[[8192, {0}], [{0}, 4096]]", size).c_str(), "nvjet", 5 * kMs,
                        "c10::BFloat16", fmt::format("[[{}, 1], [4096, 1]]", size).c_str())
             .text();
       },
       8, 9},
      {"misaligned_products", "no multiple of 8",
       [](int64_t size) {
         return product(fmt::format("[[8192, {0}], [{0}, 4096]]", size).c_str(), "nvjet", 5 * kMs,
                        "c10::BFloat16", fmt::format("[[{}, 1], [4096, 1]]", size).c_str())
             .text();
       },
       1000, 1001},
      {"small_batch", "20 % of the step",
       [](int64_t other_ns) {
         return Training()
             .run("aten::mm", "nvjet", 2 * kMs, few_rows())
             .run("aten::relu", "relu", other_ns)
             .text();
       },
       8 * kMs, 8 * kMs - 25 * kUs},
  };
  for (const Limit& limit : limits) {
    SCOPED_TRACE(fmt::format("{}: {}", limit.rule, limit.what));
    EXPECT_EQ(said(limit.of(limit.without), limit.rule), "");
    EXPECT_NE(said(limit.of(limit.with), limit.rule), "");
  }
}

TEST(AdviceRoof, WhatRulesSayInFull) {
  struct Sentence {
    const char* rule;
    TraceText trace;
    const char* said;
  };
  const std::vector<Sentence> sentences = {
      {"fusible_kernels",
       fusible({kMs, 3 * kMs, 2 * kMs}, 4 * kMs)
           .run("aten::mm", "nvjet", kMs)
           .run("aten::cat", kCat, kMs)
           .run("aten::mul", kElementwise, kMs)
           .text(),
       R"(fusible_kernels high x 2.59204 [compile=off,on]
Kernels that a compiler would fuse: 61.5 %
61.5 % of the kernels' time in 5 element-wise and concatenating kernels that follow each other in 2 rows:
  torch.compile makes one of such a row
removable_ns 8e+06, step_share 0.614203, kernel_share 0.615385, rows 2
void at::native::vectorized_elementwise_kernel<4> 5025..8025 us
void at::native::vectorized_elementwise_kernel<4> 8025..10025 us
void at::native::vectorized_elementwise_kernel<4> 4025..5025 us
at::native::CatArrayBatchedCopy<OpaqueType<2u>> 11025..12025 us
void at::native::vectorized_elementwise_kernel<4> 12025..13025 us
)"},
      {"unfused_attention", attention(4 * kMs, 2).text(), R"(unfused_attention high x 1.66456 []
Attention that writes its scores to memory
a softmax of a product's result with a product behind it:
  scaled_dot_product_attention does all of it in one kernel, and never writes the scores
removable_ns 4.004e+06, step_share 0.399242, softmaxes 1
softmax_warp_forward 3027..7027 us
scale 3025..3026 us
scale 3026..3027 us
dropout 7027..7028 us
dropout 7028..7029 us
)"},
      {"unfused_attention",
       attention(4 * kMs, 1)
           .run("aten::_softmax", "softmax", kMs, sizes_of("[[64, 512, 512], []]"))
           .run("aten::bmm", "nvjet_b", kMs, sizes_of("[[64, 512, 512], [64, 512, 64]]"))
           .text(),
       R"(unfused_attention high x 1.71203 []
Attention that writes its scores to memory
2 softmaxes of a product's result with a product behind it:
  scaled_dot_product_attention does all of it in one kernel, and never writes the scores
removable_ns 5.002e+06, step_share 0.415898, softmaxes 2
softmax_warp_forward 3026..7026 us
softmax 10027..11027 us
scale 3025..3026 us
dropout 7026..7027 us
)"},
      {"misaligned_products",
       product("[[8192, 4097], [4097, 50257]]", "nvjet", 9 * kMs, "c10::BFloat16",
               "[[4097, 1], [50257, 1]]")
           .text(),
       R"(misaligned_products high x 2.2606 []
Products of sizes that Tensor Cores do not like
4,097, 50,257:
  pad such sizes (vocabulary, hidden, sequence) to a multiple of 8
removable_ns 5.59034e+06, step_share 0.55764, kernels 1
nvjet 25..9025 us
)"},
      {"misaligned_products",
       product("[[8192, 4096], [4096, 4096]]", "cutlass_80_gemm_align1", 9 * kMs).text(),
       R"(misaligned_products high x 5.0125 []
Products of sizes that Tensor Cores do not like
their kernels are for tensors that begin anywhere (align1):
  make slices contiguous
removable_ns 8.025e+06, step_share 0.800499, kernels 1
cutlass_80_gemm_align1 25..9025 us
)"},
      {"misaligned_products",
       product("[[8191, 4095], [4095, 4093]]", "cutlass_gemm_align1>", 9 * kMs,
               "c10::Float8_e4m3fn", "[[1, 8191], [1, 4095]]")
           .text(),
       R"(misaligned_products high x 5.0125 []
Products of sizes that Tensor Cores do not like
8,191, 4,095, 4,093:
  pad such sizes (vocabulary, hidden, sequence) to a multiple of 16
removable_ns 8.025e+06, step_share 0.800499, kernels 1
cutlass_gemm_align1> 25..9025 us
)"},
      {"misaligned_products",
       product("[[1001, 4095], [4095, 4093]]", "cutlass_80_tensorop_s1688gemm_align1", 9 * kMs,
               "float", "[[1, 1001], [1, 4095]]")
           .text(),
       R"(misaligned_products high x 5.0125 []
Products of sizes that Tensor Cores do not like
1,001, 4,095, 4,093:
  pad such sizes (vocabulary, hidden, sequence) to a multiple of 4
removable_ns 8.025e+06, step_share 0.800499, kernels 1
cutlass_80_tensorop_s1688gemm_align1 25..9025 us
)"},
      {"recomputation", recomputing(3 * kMs, 5 * kMs), R"(recomputation high x 1.51461 []
Computed again in backward: 3.0 ms a step
3.0 ms of GPU work a step:
  activation checkpointing trades it for memory. Where memory is left, checkpoint fewer blocks
removable_ns 2.73e+06, step_share 0.339764, recomputed_ns 3e+06
gemm 35..3035 us
)"},
      {"small_batch",
       Training()
           .run("aten::mm", "nvjet", 5 * kMs, few_rows())
           .run("aten::relu", "relu", kMs)
           .text(),
       R"(small_batch high x 3.0125 [batch_size=1..4096]
Products too small for the GPU: 5.0 ms a step
83.0 % of the step in products that memory binds:
  they read all weights for few rows, so a larger batch is nearly free
removable_ns 4.025e+06, step_share 0.66805, memory_bound_ns 5e+06
nvjet 25..5025 us
)"},
  };
  for (const Sentence& each : sentences) EXPECT_EQ(said(each.trace, each.rule), each.said);
}

TEST(AdviceRoof, OfRealTraces) {
  if (!real_trace("qwen05b_h100")) GTEST_SKIP() << "no shared traces here";
  const auto said = [](const char* name, const char* rule) {
    const auto trace = real_trace(name);
    if (!trace) return std::string("no such trace");
    for (const Finding& finding : advise(analyze(trace))) {
      if (finding.rule == rule) return finding.headline;
    }
    return std::string("nothing");
  };
  EXPECT_EQ(said("qwen05b_h100", "fusible_kernels"), "Kernels that a compiler would fuse: 51.9 %");
  // It computes 57 convolutions again, but communication is what its steps wait for.
  EXPECT_EQ(said("resnet_checkpointed_mi300x", "recomputation"), "nothing");
  // 42 TF32 products on align1 kernels, which are short of the roof by less than 2 % of the steps.
  EXPECT_EQ(said("diff_before_a100_rank3", "misaligned_products"), "nothing");
}

}  // namespace
}  // namespace redline::trace
