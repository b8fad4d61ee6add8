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
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(AdviceConvolution, LayoutTransposes) {
  const auto transposing = [](const char* kernel) {
    return gpu_step(60 * kMs).kernel(kernel, 60 * kMs + kUs, 63 * kMs + kUs, on_stream(7));
  };
  const auto findings = advice_on(transposing("void cudnn::ops::nchwToNhwcKernel<float>"));
  EXPECT_NEAR(*only(findings, "layout_transposes").estimated_speedup, 100 / 97.0, 1e-9);
  EXPECT_EQ(only(findings, "layout_transposes").knob, "channels_last=off,on");
  EXPECT_THAT(advice_on(transposing("elementwise")), Not(HasRule("layout_transposes")));
}

TEST(AdviceConvolution, ChannelsLastIsALayoutOfImages) {
  const auto cure = [](std::initializer_list<const char*> convolutions) {
    TraceText text =
        gpu_step(60 * kMs).kernel("nchwToNhwcKernel", 61 * kMs, 64 * kMs, on_stream(7));
    for (const char* name : convolutions) text.cpu_op(name, kMs, 2 * kMs);
    const auto findings = advice_on(text);
    const Finding& finding = only(findings, "layout_transposes");
    return finding.detail.substr(finding.detail.find(": ") + 2) + " [" + finding.knob + "]";
  };
  const char* images = "a channels_last model needs none [channels_last=off,on]";
  EXPECT_EQ(cure({"aten::_convolution"}), images) << "compiled";
  EXPECT_EQ(cure({"aten::conv1d", "aten::conv2d"}), images);
  EXPECT_EQ(cure({"aten::conv_transpose2d", "aten::conv3d"}), images);
  EXPECT_EQ(cure({"aten::conv3d", "aten::conv1d"}),
            "a model and inputs in memory_format=torch.channels_last_3d need none []");
  EXPECT_EQ(cure({"aten::conv_transpose1d"}),
            "Conv1d has no other layout, but Conv2d of height 1 in channels_last needs none []");
}

TEST(AdviceConvolution, ContiguousCopiesOfConvolutionsAreLayoutTransposes) {
  const auto copying = [](const char* around) {
    return gpu_step(60 * kMs)
        .cpu_op(around, 10 * kMs, 11 * kMs)
        .cpu_op("aten::contiguous", 10 * kMs + kUs, 11 * kMs - kUs)
        .runtime("cudaLaunchKernel", 10 * kMs + 2 * kUs, 10 * kMs + 4 * kUs, 2)
        .kernel("copy", 60 * kMs + kUs, 63 * kMs + kUs, on_stream(7, 2));
  };
  EXPECT_THAT(advice_on(copying("aten::_convolution")), HasRule("layout_transposes"));
  EXPECT_THAT(advice_on(copying("aten::cat")), Not(HasRule("layout_transposes")));
}

TraceText convolutions(const char* benchmark, const char* last_shape,
                       int64_t kernel_ns = 10 * kMs - 4 * kUs) {
  TraceText text;
  text.top(gpu("V100", 7, 0));
  for (int i = 0; i < 3; ++i) {
    const auto id = static_cast<uint32_t>(i + 1);
    const int64_t begin_ns = i * 10 * kMs;
    text.step(i, begin_ns, begin_ns + 10 * kMs);
    text.slice(
        "cpu_op", "aten::cudnn_convolution", begin_ns + kUs, begin_ns + kMs,
        {.args = fmt::format(
             R"("Concrete Inputs": ["", "", "[1, 1]", "[0, 0]", "[1, 1]", "1", {}, "False"], )"
             R"("Input Dims": [[{}, 3, 224, 224], [64, 3, 7, 7]])",
             benchmark, i == 2 ? last_shape : "32")});
    text.runtime("cudaLaunchKernel", begin_ns + 2 * kUs, begin_ns + 3 * kUs, id);
    text.kernel("k", begin_ns + 4 * kUs, begin_ns + 4 * kUs + kernel_ns, on_stream(7, id));
  }
  return text;
}

TEST(AdviceConvolution, CudnnBenchmarkOff) {
  const auto findings = advice_on(convolutions(R"("False")", "32"));
  EXPECT_THAT(findings, ElementsAre(Field(&Finding::rule, "cudnn_benchmark_off")));
  EXPECT_EQ(findings[0].knob, "cudnn_benchmark=off,on");
  EXPECT_EQ(findings[0].estimated_speedup, std::nullopt);
  EXPECT_EQ(findings[0].detail,
            "100.0 % of the step in convolutions, 1 forward call with the same shapes in each of 3 "
            "steps: torch.backends.cudnn.benchmark=True measures once");
  EXPECT_NE(said(convolutions(R"("False")", "32", 200 * kUs), "cudnn_benchmark_off"), "");
  EXPECT_EQ(said(convolutions(R"("False")", "32", 200 * kUs - 1), "cudnn_benchmark_off"), "");
  EXPECT_THAT(advice_on(convolutions(R"("True")", "32")), IsEmpty());
  EXPECT_THAT(advice_on(convolutions(R"("False")", "17")), IsEmpty()) << "shapes vary";
  EXPECT_THAT(advice_on(convolutions(R"("")", "32")), IsEmpty()) << "the trace does not tell";
}

}  // namespace
}  // namespace redline::trace
