#include "trace/analysis/roofline.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/parsed_trace.h"
#include "trace/read/reader.h"
#include "trace/report/report_roofline.h"
#include "trace/report/roofline_plot.h"

namespace redline::trace {
namespace {

using namespace redline::testing;

// A product of 1000 x 1000 x 1000 in 16 bits: 2e9 operations, 6e6 bytes.
std::string product_inputs(const char* rows) {
  return std::string(R"("Input Dims": [[)") + rows +
         R"(, 1000], [1000, 1000]], "Input type": ["c10::BFloat16", "c10::BFloat16"], )"
         R"("Input Strides": [[1000, 1], [1000, 1]], "Concrete Inputs": ["", ""])";
}

TraceText on_h100() {
  TraceText text;
  text.top(R"("deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132,
           "totalGlobalMem": 85000000000, "computeMajor": 9, "computeMinor": 0}])");
  return text;
}

// An operator inside aten::linear with a kernel that takes `length_ns`.
void add_product(TraceText& text, uint32_t number, const char* rows, int64_t length_ns) {
  const int64_t at_ns = number * 100'000;
  text.cpu_op("aten::linear", at_ns, at_ns + 50'000, {.args = R"("Input Dims": [[1]])"});
  text.cpu_op("aten::mm", at_ns + 1'000, at_ns + 40'000, {.args = product_inputs(rows)});
  text.runtime("cudaLaunchKernel", at_ns + 2'000, at_ns + 3'000, number);
  text.kernel("nvjet_tst", at_ns + 5'000, at_ns + 5'000 + length_ns, on_stream(7, number));
}

TEST(Roofline, RowsAreOperatorsByShapeWithTheirKernels) {
  TraceText text = on_h100();
  add_product(text, 1, "1000", 4'000);
  add_product(text, 2, "1000", 6'000);
  add_product(text, 3, "2000", 8'000);
  const Analysis analysis = analysis_of(text);
  const auto& rows = analysis.shapes.rows;
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(analysis.trace->string(rows[0].name), "aten::mm");
  EXPECT_EQ(rows[0].input_dims, "[[1000, 1000], [1000, 1000]]");
  EXPECT_EQ(rows[0].count, 2);
  EXPECT_EQ(rows[0].device_ns, 10'000);
  EXPECT_EQ(rows[0].work.flops, 2'000'000'000);
  ASSERT_EQ(rows[0].kernels.size(), 1U);
  EXPECT_EQ(rows[0].kernels[0].count, 2);
  EXPECT_EQ(rows[1].work.flops, 4'000'000'000);
  EXPECT_EQ(analysis.shapes.outside_ns, 0);
}

TEST(Roofline, WithoutAGpuOperatorsWithoutAFormulaAreRowsToo) {
  TraceText text;
  const auto add = [&](const char* name, int64_t begin_ns, int64_t end_ns) {
    text.cpu_op(name, begin_ns, end_ns,
                {.args = R"("Input Dims": [[4]], "Input type": ["float"])"});
  };
  add("aten::outer_one", 0, 9'000);
  add("aten::has_no_formula", 1'000, 6'000);
  add("aten::view", 6'000, 7'000);
  add("aten::relu", 10'000, 20'000);
  add("aten::has_no_formula", 11'000, 12'000);
  add("autograd::engine::evaluate_function: ReluBackward0", 30'000, 31'000);
  const Analysis analysis = analysis_of(text);
  const auto& rows = analysis.shapes.rows;
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(analysis.trace->string(rows[0].name), "aten::relu");
  EXPECT_EQ(analysis.trace->string(rows[1].name), "aten::has_no_formula");
  EXPECT_FALSE(rows[1].work.is_modelled());
  EXPECT_EQ(rows[1].host_ns, 5'000) << "what relu calls belongs to relu";
}

TEST(Roofline, ComparesWithThePeakThatBinds) {
  TraceText text = on_h100();
  add_product(text, 1, "1000", 4'000);
  const Analysis analysis = analysis_of(text);
  const RooflinePoint point =
      roofline_point(*analysis.names, analysis.shapes.rows.at(0), analysis.peaks);
  EXPECT_DOUBLE_EQ(*point.tflops_per_s, 500);
  EXPECT_DOUBLE_EQ(*point.gb_per_s, 1500);
  EXPECT_EQ(point.type, PeakType::kBf16);
  EXPECT_EQ(point.bound, Bound::kCompute);
  EXPECT_NEAR(*point.percent_of_peak, 100 * 500 / 989.4, 1e-9);
  EXPECT_NEAR(static_cast<double>(*point.lost_ns), 4'000 - 2e9 / 989.4e3, 1);
}

// 4 MB over PCIe in 400 us are far from the bandwidth of the GPU's memory, which does not limit it.
TEST(Roofline, WhatComesFromTheHostHasNoRoof) {
  for (const char* copy : {"Memcpy HtoD (Pinned -> Device)", "Memcpy DtoD (Device -> Device)"}) {
    TraceText text = on_h100();
    text.cpu_op("aten::copy_", 0, 40'000,
                {.args = R"("Input Dims": [[1000000], [1000000], []], )"
                         R"("Input type": ["float", "float", "Scalar"])"});
    text.runtime("cudaMemcpyAsync", 2'000, 3'000, 1);
    text.slice("gpu_memcpy", copy, 5'000, 405'000, on_stream(7, 1));
    const Analysis analysis = analysis_of(text);
    const RooflinePoint point =
        roofline_point(*analysis.names, analysis.shapes.rows.at(0), analysis.peaks);
    const bool has_roof = std::string(copy).find("DtoD") != std::string::npos;
    EXPECT_EQ(point.percent_of_peak.has_value(), has_roof) << copy;
    EXPECT_EQ(point.lost_ns.has_value(), has_roof) << copy;
    EXPECT_DOUBLE_EQ(*point.gb_per_s, 20) << "both ends";
  }
}

// 2 * 4 * 8 * 8192^2 * 256 operations by flop_counter, of which the mask leaves half: 555.7 us.
TEST(Roofline, CausalAttentionIsDrawnBelowItsRoof) {
  TraceText text = on_h100();
  const std::string tensor = "[4, 8, 8192, 128]", type = R"("c10::BFloat16")";
  text.cpu_op(
      "aten::_scaled_dot_product_flash_attention", 0, 40'000,
      {.args = fmt::format(
           R"("Input Dims": [{0}, {0}, {0}, [], [], [], []], "Input type": [{1}, {1}, {1}, )"
           R"("Scalar", "Scalar", "Scalar", "Scalar"], )"
           R"("Concrete Inputs": ["", "", "", "0.", "True", "False", ""])",
           tensor, type)});
  text.runtime("cudaLaunchKernel", 2'000, 3'000, 1);
  text.kernel("flash_fwd_kernel", 5'000, 5'000 + 694'600, on_stream(7, 1));
  const std::vector<RankSummary> summaries = {analysis_of(text)};
  const std::vector<RooflineRow> rows = shown_roofline_rows(summaries);
  const RooflinePlot plot = roofline_plot(rows);
  ASSERT_EQ(plot.circles.size(), 1U);
  EXPECT_GT(*rows[0].point.tflops_per_s, 989.4);
  EXPECT_LT(plot.circles[0].y, plot.roofs.at(0).peak_y);
  EXPECT_THAT(roofline_hint(rows[0]), ::testing::HasSubstr(": 792 TFLOP/s, 80.0 % of peak, "));
}

TEST(Roofline, WithoutPeaksThereIsNoRoof) {
  TraceText text;
  add_product(text, 1, "1000", 4'000);
  const Analysis analysis = analysis_of(text);
  const RooflinePoint point =
      roofline_point(*analysis.names, analysis.shapes.rows.at(0), analysis.peaks);
  EXPECT_DOUBLE_EQ(*point.tflops_per_s, 500);
  EXPECT_FALSE(point.percent_of_peak);
  EXPECT_FALSE(point.bound);
  EXPECT_FALSE(point.lost_ns);
}

TEST(Roofline, WithoutShapesThereAreNoRows) {
  TraceText text = on_h100();
  text.cpu_op("aten::mm", 0, 40'000).runtime("cudaLaunchKernel", 2'000, 3'000, 1);
  text.kernel("nvjet_tst", 5'000, 9'000, on_stream(7, 1));
  EXPECT_TRUE(analysis_of(text).shapes.rows.empty());
}

// DTensor calls the product anew with this rank's part, and may copy before it does.
TEST(Roofline, AnOperatorOfATensorSubclassCountsAsWhatItWraps) {
  const auto sizes = [](const char* right) {
    return fmt::format(
        R"("Input Dims": [[1024, 1024], [1024, {}]], "Input type": ["float", "float"])", right);
  };
  for (const bool has_gpu : {true, false}) {
    TraceText text = on_h100();
    text.cpu_op("aten::mm", 0, 40'000, {.args = sizes("2048")});
    text.cpu_op("PythonSubclass", 1'000, 39'000, {.args = sizes("2048")});
    text.cpu_op("aten::copy_", 2'000, 9'000, {.args = sizes("512")});
    text.cpu_op("aten::mm", 10'000, 30'000, {.args = sizes("512")});
    if (has_gpu) {
      text.runtime("cudaLaunchKernel", 3'000, 4'000, 1)
          .runtime("cudaLaunchKernel", 12'000, 13'000, 2);
      text.kernel("copy", 5'000, 6'000, on_stream(7, 1))
          .kernel("gemm", 14'000, 20'000, on_stream(7, 2));
    }
    const Analysis analysis = analysis_of(text);
    ASSERT_EQ(analysis.shapes.rows.size(), 2U);
    EXPECT_EQ(analysis.trace->string(analysis.shapes.rows[0].name), "aten::mm");
    EXPECT_EQ(analysis.shapes.rows[0].work.flops, 2LL * 1024 * 1024 * 512);
    EXPECT_EQ(analysis.shapes.rows[0].count, 1);
    EXPECT_EQ(analysis.trace->string(analysis.shapes.rows[1].name), "aten::copy_");
  }
}

TEST(Roofline, TheModelsUseNeedsMostOfTheTimeModelled) {
  TraceText text = on_h100();
  add_product(text, 1, "1000", 4'000);
  const auto use_of = [](const Analysis& analysis) {
    return model_use(*analysis.names, analysis.shapes, analysis.steps, analysis.peaks);
  };
  const Analysis known = analysis_of(text);
  const ModelUse use = use_of(known);
  EXPECT_EQ(use.flops_per_step, 2'000'000'000);
  EXPECT_EQ(use.modelled_share, 1);
  const auto step_ns = static_cast<double>(known.steps.at(0).window.length_ns());
  EXPECT_NEAR(*use.mfu, 2e9 / 989.4e3 / step_ns, 1e-9);
  EXPECT_THAT(model_use_line({known}), ::testing::HasSubstr(": 2.00 GFLOP a "));
  text.cpu_op("my::operator", 200'000, 240'000, {.args = R"("Input Dims": [[1]])"});
  text.runtime("cudaLaunchKernel", 202'000, 203'000, 2);
  text.kernel("mine", 205'000, 206'000, on_stream(7, 2));
  EXPECT_FALSE(use_of(analysis_of(text)).mfu);
  EXPECT_EQ(use_of(analysis_of(text)).modelled_share, 0.8);
}

TEST(Roofline, ListsNestedVeryDeepAreNoSizes) {
  TraceText text = on_h100();
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  text.cpu_op("aten::mm", 0, 40'000, {.args = "\"Input Dims\": " + deep});
  text.runtime("cudaLaunchKernel", 2'000, 3'000, 1);
  text.kernel("nvjet_tst", 5'000, 9'000, on_stream(7, 1));
  const Analysis analysis = analysis_of(text);
  ASSERT_EQ(analysis.shapes.rows.size(), 1U);
  EXPECT_EQ(analysis.shapes.rows[0].input_dims, "");
  EXPECT_FALSE(analysis.shapes.rows[0].work.flops);
}

TEST(Roofline, WhatCheckpointingComputesAgainCountsApart) {
  const auto trace = redline::testing::real_trace("resnet_checkpointed_mi300x");
  if (!trace) GTEST_SKIP() << "no shared traces here";
  const Analysis analysis = analyze(trace);
  int64_t again = 0, again_ns = 0, flops_again = 0;
  for (const OperatorShape& row : analysis.shapes.rows) {
    if (trace->string(row.name) != "aten::convolution") continue;
    again += row.recomputed_count;
    again_ns += row.recomputed_ns;
    flops_again += row.recomputed_step_count * row.work.needed_flops.value_or(0);
  }
  EXPECT_EQ(again, 57) << "all but the stem's three";
  EXPECT_EQ(again_ns, 2'316'072) << "kernels and memsets";
  const ModelUse use = model_use(*analysis.names, analysis.shapes, analysis.steps, analysis.peaks);
  EXPECT_EQ(use.recomputed_flops_per_step, flops_again / 3);
  EXPECT_EQ(use.flops_per_step.value_or(0) + use.recomputed_flops_per_step.value_or(0),
            140'395'069'440);
}

DevicePeaks peaks_of(const char* name, int64_t memory_bytes, int multiprocessors) {
  DeviceProperties device;
  device.name = name;
  device.memory_bytes = memory_bytes;
  device.multiprocessors = multiprocessors;
  return device_peaks(device);
}

TEST(DevicePeaks, AreKnownByTheWholeName) {
  constexpr int64_t kGb = 1'000'000'000;
  EXPECT_EQ(peaks_of("NVIDIA H100 PCIe", 80 * kGb, 114).of(PeakType::kBf16), 756);
  EXPECT_EQ(peaks_of("NVIDIA A100-PG509-200", 42 * kGb, 108).gb_per_s, 1555);
  EXPECT_EQ(peaks_of("NVIDIA A10", 24 * kGb, 72).of(PeakType::kFp16), 125);
  EXPECT_EQ(peaks_of("NVIDIA L4", 24 * kGb, 58).gb_per_s, 300);
  EXPECT_EQ(peaks_of("AMD Instinct MI300X VF", 192 * kGb, 304).of(PeakType::kFp8), 2614.9);
  EXPECT_FALSE(peaks_of("Tesla V100-SXM2-32GB", 32 * kGb, 80).of(PeakType::kBf16));
  for (const char* other : {"NVIDIA A10G", "NVIDIA GH200 480GB", "NVIDIA GB200", "NVIDIA A30",
                            "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "NVIDIA GeForce RTX 3090 Ti",
                            "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA GeForce RTX 4090 D",
                            "NVIDIA GeForce RTX 5090 D v2", ""}) {
    EXPECT_TRUE(peaks_of(other, 24 * kGb, 80).source.empty()) << other;
  }
}

TEST(DevicePeaks, ComputationIsScaledByTheMultiprocessors) {
  EXPECT_DOUBLE_EQ(*peaks_of("NVIDIA H100 80GB HBM3", 0, 66).of(PeakType::kBf16), 989.4 / 2);
  EXPECT_DOUBLE_EQ(*peaks_of("NVIDIA H100 80GB HBM3", 0, 0).of(PeakType::kBf16), 989.4);
}

TEST(DevicePeaks, MayBeGiven) {
  GivenPeaks given;
  ASSERT_TRUE(read_peak_tflops("bf16=500,fp32=20.5", given));
  DevicePeaks peaks = peaks_of("NVIDIA H200", 0, 132);
  given.apply_to(peaks);
  EXPECT_EQ(peaks.of(PeakType::kBf16), 500);
  EXPECT_EQ(peaks.of(PeakType::kFp16), 989.5);
  EXPECT_EQ(peaks.source, "given");
  for (const char* wrong : {"", "bf17=3", "bf16", "bf16=", "bf16=0", "-3", "bf16=1,,"}) {
    EXPECT_FALSE(read_peak_tflops(wrong, given)) << wrong;
  }
}

TEST(DevicePeaks, APartOfAModuleHasNone) {
  EXPECT_EQ(peaks_of("AMD Instinct MI300X VF", 0, 304).gb_per_s, 5300);
  for (const int units : {38, 76, 152}) {  // CPX, QPX, DPX
    const DevicePeaks part = peaks_of("AMD Instinct MI300X", 0, units);
    EXPECT_FALSE(part.gb_per_s || part.link_gb_per_s || part.of(PeakType::kBf16)) << units;
  }
  EXPECT_FALSE(peaks_of("AMD Instinct MI300A", 0, 76).gb_per_s);
}

TEST(DevicePeaks, AreOfTheDeviceThatTheProcessWorksOn) {
  const auto peaks = [](int64_t stray_ns) {
    return analysis_of(on_h100()
                           .kernel("gemm", 0, 60'000)
                           .kernel("fill", 0, stray_ns, {.pid = "1", .tid = "9"}))
        .peaks;
  };
  EXPECT_EQ(peaks(10).gb_per_s, 3352);
  EXPECT_FALSE(peaks(6'000).gb_per_s);
}

// Tensile's, hipBLASLt's and MIOpen's names.
TEST(Roofline, TypesOfFp32ProductsOnAmd) {
  const std::pair<const char*, std::optional<PeakType>> rows[] = {
      {"Cijk_Ailk_Bljk_SB_MT64x64x16_SE", PeakType::kFp32},
      {"Cijk_Alik_Bljk_S_B_Bias_HA_S_SAV_UserArgs_MT16x16x32", PeakType::kFp32},
      {"igemm_fwd_gtcx3_nhwc_fp32_bx0_ex1_bt64x64x16", PeakType::kFp32},
      {"Cijk_Alik_Bljk_S_MX_B_Bias_HA_S_SAV_UserArgs_MT16x16x32", PeakType::kTf32},
      {"Cijk_Alik_Bljk_SX_B_UserArgs_MT16x16x32", PeakType::kTf32},
      {"ck_gemm_xf32", PeakType::kTf32},
      {"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT16x16x32", std::nullopt}};
  for (const auto& [kernel, type] : rows) {
    TraceText text;
    text.top(R"("deviceProperties": [{"id": 0, "name": "AMD Instinct MI300X", "numSms": 304}])");
    text.cpu_op(
        "aten::mm", 0, 1'000,
        {.args = R"("Input Dims": [[64, 64], [64, 64]], "Input type": ["float", "float"])"});
    text.runtime("hipLaunchKernel", 100, 200, 1).kernel(kernel, 300, 900, on_stream(7, 1));
    const Analysis analysis = analysis_of(text);
    ASSERT_EQ(analysis.shapes.rows.size(), 1U);
    EXPECT_EQ(roofline_point(*analysis.names, analysis.shapes.rows[0], analysis.peaks).type, type)
        << kernel;
  }
}

}  // namespace
}  // namespace redline::trace
