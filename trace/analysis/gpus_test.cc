// What kernels' names tell: Tensor Cores and communication, with the libraries of several years.
#include "trace/analysis/gpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parsed_trace.h"
#include "trace/analysis/activity.h"
#include "trace/analysis/tables.h"
#include "trace/analysis/waiting_calls.h"

namespace redline::trace {
namespace {

using namespace redline::testing;
using ::testing::Not;

TEST(TensorCores, AreToldByTheNamesOfKernels) {
  const std::pair<const char*, bool> rows[] = {
      {"volta_fp16_s884gemm_fp16_128x64_ldg8_f2f_nn", true},
      {"volta_sgemm_128x64_nn", false},
      {"cutlass_80_simt_sgemm_128x32_8x5_nn_align1", false},
      {"nvjet_tst_64x64_64x16_2x1_2cta_v_bz_bias_TNT", true},
      {"sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x32", true},
      {"sm90_xmma_wgrad_implicit_gemm_indexed_e4m3e4m3_f32f32_f32_warpgroupsize1x1x1", true},
      // TensorRT-LLM's and FlashInfer's kernels for Blackwell.
      {"bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_et128x16_dynBatch_sm100f", true},
      {"fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausalP16VarSeqQ128Kv128PersistentContext",
       true},
      {"void deep_gemm::sm100_fp8_gemm_1d1d_impl<(cute::UMMA::Major)0>(unsigned int)", true},
      // FlashAttention 2, 3 and 4, and of each a kernel that only combines or converts.
      {"void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64>>()", true},
      {"void flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<64>>()",
       true},
      {"void flash::flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<64>>()", false},
      {"void flash::flash_bwd_dot_do_o_kernel<true>(flash::Flash_bwd_params)", false},
      {"void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<int>>>()", true},
      {"void cutlass::device_kernel<flash::FlashAttnFwdCombine<int>>()", false},
      {"kernel_cutlass_kernel_flash_attncuteflash_fwd_sm100FlashAttentionForwardSm100_object",
       true},
      {"void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, unsigned char>()", false},
      {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3", true},
      {"fmha_cutlassF_f32_aligned_64x64_rf_sm80(Params)", true},
      {"fmha_cutlassF_f32_aligned_64x64_rf_sm75(Params)", false},
      {"fmha_cutlassF_f16_aligned_64x64_rf_sm75(Params)", true},
      {"fmha_cutlassF_f16_notaligned_64x64_rf_sm50(Params)", false},
  };
  for (const auto& [name, uses] : rows) EXPECT_EQ(uses_tensor_cores(name), uses) << name;
}

TEST(KindOfProduct, IsToldByTheName) {
  const std::pair<const char*, WorkKind> rows[] = {
      {"volta_sgemm_128x64_nn", WorkKind::kFloat32Kernel},
      {"igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x128x32", WorkKind::kHalfKernel},
      {"void gemmSN_TN_kernel<__half, 128>(int)", WorkKind::kHalfKernel},
      {"Cijk_Ailk_Bljk_BBS_BH_MT64x64x64_MI16x16x16x1_SN_1LDSB0", WorkKind::kHalfKernel},
      {"Cijk_Alik_Bljk_B_BS_BH_Bias_HA_S_SAV_UserArgs_MT16x16x128", WorkKind::kHalfKernel},
      {"Custom_Cijk_Ailk_Bljk_F8NH_HHS_BH_Bias_AS_SAB_SAV", WorkKind::kHalfKernel},
      {"Cijk_Ailk_Bljk_HB_MT128x128x16_SE", WorkKind::kHalfKernel},
      {"Cijk_Ailk_Bljk_SB_MT16x16x16_SE", WorkKind::kOtherKernel},
      {"fmha_cutlassF_f32_aligned_64x64_rf_sm80(Params)", WorkKind::kTf32Kernel},
      {"fmha_cutlassF_bf16_aligned_64x64_rf_sm80(Params)", WorkKind::kHalfKernel},
      {"fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKv", WorkKind::kHalfKernel},
      {"void vllm::cross_device_reduce_1stage<float, 8>(int)", WorkKind::kCollectiveKernel},
      // FP64 and complex numbers have no faster type that would do.
      {"volta_dgemm_128x64_nn", WorkKind::kOtherKernel},
      {"volta_zgemm_64x64_nn", WorkKind::kOtherKernel},
      {"ampere_cgemm_64x64_tn", WorkKind::kOtherKernel},
      {"void dgemm_largek_lds64<true, false>(double*)", WorkKind::kOtherKernel},
      {"void gemmSN_NN_kernel<double, 128, 2>(int)", WorkKind::kOtherKernel},
      {"void cutlass::Kernel<cutlass_80_tensorop_d884gemm_64x64_16x4_nt_align1>(Params)",
       WorkKind::kOtherKernel},
      {"sm80_xmma_gemm_f64f64_f64f64_f64_tn_n_tilesize64x64x16", WorkKind::kOtherKernel},
      {"sm80_xmma_gemm_cf32cf32_cf32cf32_tn_n_tilesize64x64x16", WorkKind::kOtherKernel},
      {"magma_sgemm_batchedgemm_kernel", WorkKind::kFloat32Kernel},
      {"ampere_igemm_int8_128x128_ldg4_relu_stages_32x3_tn", WorkKind::kHalfKernel},
  };
  for (const auto& [name, kind] : rows)
    EXPECT_EQ(work_kind_of(Category::kKernel, name), kind) << name;
}

TEST(KindOfCall, IsToldByTheName) {
  const std::pair<const char*, WorkKind> rows[] = {
      {"hipMemcpyWithStream", WorkKind::kSynchronization},  // .item() on ROCm
      {"hipMemcpyAsync", WorkKind::kNone},
      {"hipExtLaunchKernel", WorkKind::kLaunch},
      {"hipModuleLaunchKernel", WorkKind::kLaunch},
      {"hipExtModuleLaunchKernel", WorkKind::kLaunch},
      {"urEventWait", WorkKind::kSynchronization},  // .item() on Intel's GPUs
      {"urQueueFinish", WorkKind::kSynchronization},
      {"urEnqueueEventsWait", WorkKind::kNone},
      {"cudaStreamWaitEvent", WorkKind::kNone},
  };
  for (const auto& [name, kind] : rows)
    EXPECT_EQ(work_kind_of(Category::kRuntime, name), kind) << name;
}

TEST(WaitingCalls, AreToldByTheName) {
  const std::pair<const char*, WaitingCall> rows[] = {
      {"cudaStreamSynchronize", WaitingCall::kSynchronises},
      {"hipDeviceSynchronize", WaitingCall::kSynchronises},
      {"urEventWait", WaitingCall::kSynchronises},
      {"urQueueFinish", WaitingCall::kSynchronises},
      {"urEnqueueUSMMemcpy", WaitingCall::kCopies},
      {"urEnqueueEventsWait", WaitingCall::kNone},
      {"cudaStreamWaitEvent", WaitingCall::kNone},
  };
  TraceText text;
  for (const auto& [name, kind] : rows) text.runtime(name, 0, 10);
  const auto trace = parsed(text.str());
  const std::vector<WaitingCall> kinds = waiting_calls_of(*trace);
  for (const auto& [name, kind] : rows)
    EXPECT_EQ(kinds[trace->find_string(name).value], kind) << name;
}

// Tries each way in which a trace says that its GPUs are AMD's.
TEST(Gpus, OfAmdHaveNoTensorCores) {
  const auto with = [](const char* top, const char* call) {
    return analysis_of(TraceText()
                           .top(top)
                           .step(0, 0, 2000)
                           .cpu_op("aten::mm", 0, 100)
                           .runtime(call, 10, 20, 1)
                           .kernel("igemm_fwd_gtcx3_nhwc_fp32_s1688", 100, 1900, on_stream(0, 1)));
  };
  const char* nvidia =
      R"("metadata": {"hip_runtime_version": "N/A"}, )"
      R"("deviceProperties": [{"id": 0, "name": "NVIDIA H100", "computeMajor": 9}])";
  const char* amd = R"("deviceProperties": [{"id": 0, "name": "AMD Instinct", "computeMajor": 9}])";
  const Analysis known = with(nvidia, "cudaLaunchKernel");
  EXPECT_DOUBLE_EQ(*known.gpus[0].tensor_core_share, 1);
  EXPECT_EQ(known.kernels[0].uses_tensor_cores, true);
  EXPECT_EQ(known.gpus[0].properties->compute_major, 9);
  EXPECT_EQ(with(amd, "launch").gpus[0].properties->compute_major, 0);
  for (const Analysis& analysis : {with(amd, "launch"), with(R"("roctracer_version": 4)", "launch"),
                                   with(R"("x": 1)", "hipLaunchKernel")}) {
    EXPECT_EQ(analysis.gpus[0].tensor_core_share, std::nullopt);
    EXPECT_EQ(analysis.gpus[0].tensor_core_eligible_share, std::nullopt);
    EXPECT_EQ(analysis.kernels[0].uses_tensor_cores, std::nullopt);
    EXPECT_THAT(advise(analysis), Not(HasRule("tensor_cores_unused")));
    EXPECT_THAT(advise(analysis), Not(HasRule("tf32_off")));
  }
}

// Whose properties Kineto does not write: Intel's and others are known by their calls.
TEST(Gpus, OfOtherMakersHaveNoTensorCores) {
  const auto with = [](const char* category, const char* call) {
    return analysis_of(TraceText()
                           .step(0, 0, 2000)
                           .cpu_op("aten::mm", 0, 100)
                           .slice(category, call, 10, 20, {.correlation = 1})
                           .kernel("gemm_kernel", 100, 1900, on_stream(0, 1)));
  };
  for (const Analysis& analysis :
       {with("xpu_runtime", "urEnqueueKernelLaunch"), with("privateuse1_runtime", "launch")}) {
    EXPECT_EQ(analysis.gpus.at(0).tensor_core_share, std::nullopt);
    EXPECT_EQ(analysis.gpus.at(0).tensor_core_eligible_share, std::nullopt);
    EXPECT_EQ(analysis.kernels.at(0).uses_tensor_cores, std::nullopt);
  }
  for (const char* call : {"cudaLaunchKernel", "cuLaunchKernel"}) {
    EXPECT_EQ(with("cuda_driver", call).gpus.at(0).tensor_core_share, 0) << call;
  }
  const Analysis alone = analysis_of(TraceText().step(0, 0, 2000).kernel("gemm_s884", 100, 1900));
  EXPECT_EQ(alone.gpus.at(0).tensor_core_share, 1) << "a sampled trace may have no calls";
}

struct RealGpu {
  const char* trace;
  std::optional<double> tensor_core_share;  // counted from the kernels' names, by hand
  int64_t communication_ns;                 // sum of the collectives' kernels, which do not overlap
};

void PrintTo(const RealGpu& real, std::ostream* out) { *out << real.trace; }

class GpusOfToday : public ::testing::TestWithParam<RealGpu> {};

TEST_P(GpusOfToday, AreMeasuredByTheNamesOfTheirKernels) {
  const auto trace = redline::testing::real_trace(GetParam().trace);
  if (!trace) GTEST_SKIP() << "no shared traces here";
  const GpuUse gpu = analyze(trace).gpus.at(0);
  ASSERT_EQ(gpu.tensor_core_share.has_value(), GetParam().tensor_core_share.has_value());
  if (gpu.tensor_core_share) {
    EXPECT_NEAR(*gpu.tensor_core_share, *GetParam().tensor_core_share, 5e-5);
  }
  EXPECT_EQ(gpu.communication_ns, GetParam().communication_ns);
}

INSTANTIATE_TEST_SUITE_P(Shared, GpusOfToday,
                         ::testing::Values(RealGpu{"vllm_eager_b200", 0.5970, 2'141'501},
                                           RealGpu{"bert_small_h100", 0.7650, 0},
                                           RealGpu{"qwen05b_h100", 0.3664, 0},
                                           RealGpu{"vit_h100", 0.7831, 0},
                                           RealGpu{"bert_small_mi300x", {}, 0},
                                           RealGpu{"resnet_checkpointed_mi300x", {}, 71'516'523}),
                         [](const auto& info) { return std::string(info.param.trace); });

TEST(GpusOfRocm, AreKnownWhereAllOfTheListAreOfOneKind) {
  const auto gpus = [](const char* second, const char* kernel) {
    const std::string gpu = R"({"id": 0, "name": "AMD Instinct MI300X", "numSms": 304})";
    return analysis_of(TraceText()
                           .top(R"("deviceProperties": [)" + gpu + ", " + second + "]")
                           .step(0, 0, 1000)
                           .kernel(kernel, 0, 600, {.pid = "9", .tid = "7"}));
  };
  const char* rocm = "Cijk_Ailk_Bljk_SB_MT16x16x16_SE";
  const char* same = R"({"id": 1, "name": "AMD Instinct MI300X", "numSms": 304})";
  const char* other = R"({"id": 1, "name": "AMD Radeon Graphics", "numSms": 4})";
  const Analysis alike = gpus(same, rocm);
  EXPECT_EQ(alike.gpus.at(0).name, "AMD Instinct MI300X");
  EXPECT_EQ(alike.peaks.gb_per_s, 5300);
  const Analysis unlike = gpus(other, rocm);
  EXPECT_EQ(unlike.gpus.at(0).name, "");
  EXPECT_FALSE(unlike.peaks.gb_per_s);
}

TEST(GpusOfRocm, OfTodayHaveNamesAndPeaks) {
  for (const char* name : {"bert_small_mi300x", "compiled_triton"}) {
    const auto trace = redline::testing::real_trace(name);
    if (!trace) GTEST_SKIP() << "no shared traces here";
    const Analysis analysis = analyze(trace);
    EXPECT_THAT(analysis.gpus.at(0).name, ::testing::HasSubstr("MI300X")) << name;
    EXPECT_EQ(analysis.peaks.gb_per_s, 5300) << name;
  }
}

TEST(WorkingDevices, DoMoreThanAHundredthOfWhatTheBusiestDoes) {
  const auto working = [](int64_t stray_ns) {
    const Analysis analysis =
        analysis_of(TraceText()
                        .kernel("gemm", 0, 60'000)
                        .kernel("fill", 0, stray_ns, {.pid = "1", .tid = "9"}));
    return working_devices(analysis.device_work);
  };
  EXPECT_EQ(working(599), (std::vector<int32_t>{0}));
  EXPECT_EQ(working(600), (std::vector<int32_t>{0, 1}));
}

}  // namespace
}  // namespace redline::trace
