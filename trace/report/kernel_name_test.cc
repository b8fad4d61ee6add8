#include "trace/report/kernel_name.h"

#include <gtest/gtest.h>

#include <random>

#include "base/terminal.h"

namespace redline::trace {
namespace {

TEST(KernelName, ShowsWhereTheRowsOfATableDiffer) {
  const std::string gemm = "sm80_xmma_gemm_f32f32_f32f32_f32_";
  const std::string tail = "_warpsize2x2x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas";
  const std::string a = gemm + "tn_n_tilesize128x128x8_stage3" + tail;
  const std::string b = gemm + "nn_n_tilesize128x128x8_stage3" + tail;
  const std::string c = gemm + "nn_n_tilesize64x64x8_stage3" + tail;
  const std::string multiply =
      "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, "
      "float, at::native::MulFunctor<float> >, at::detail::Array<char*, 3> >(int)";
  const std::string by_scalar =
      "void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float, float, "
      "float, at::native::MulFunctor<float> >, at::detail::Array<char*, 2> >(int)";
  const std::vector<std::string_view> names = {a, "gemm", b, c, a, multiply, by_scalar, ""};
  EXPECT_EQ(short_kernel_names(names, 38),
            (std::vector<std::string>{
                "sm80_xmma_g…tn_n_tilesize128x128x8_st…", "gemm",
                "sm80_xmma_g…nn_n_tilesize128x128x8_st…", "sm80_xmma_g…nn_n_tilesize64x64x8_stag…",
                "sm80_xmma_g…tn_n_tilesize128x128x8_st…", "vectorized_elementwise_ke…<MulFunctor>",
                "vectorized_elementwise_ke…<MulFunctor>", ""}));
  const std::vector<std::string_view> both = {multiply, by_scalar};
  EXPECT_EQ(short_kernel_names(both, 52),
            (std::vector<std::string>{"vectorized_elementwise_kernel<MulFunctor> BinaryFun…",
                                      "vectorized_elementwise_kernel<MulFunctor> AUnaryFun…"}));
  EXPECT_EQ(short_kernel_names(both, 51),
            std::vector<std::string>(2, "vectorized_elementwise_kernel<MulFunctor>"))
      << "ten columns are too few";
  EXPECT_EQ(short_kernel_names(std::vector<std::string_view>{a, "gemm", a}, 38)[0],
            short_kernel_name(a, 38))
      << "nothing looks alike";
  const std::string letters(40, 'x'), u = letters + "ü" + letters, o = letters + "ö" + letters;
  EXPECT_EQ(short_kernel_names(std::vector<std::string_view>{u, o}, 20),
            (std::vector<std::string>{"xxxxx…üxxxxxxxxxxxx…", "xxxxx…öxxxxxxxxxxxx…"}));
}

TEST(KernelName, KeepsATableWithinItsWidth) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    const size_t width = 12 + random() % 40;
    std::vector<std::string> names(1 + random() % 6);
    for (std::string& name : names) {
      const size_t length = random() % 80;
      while (name.size() < length) name += "ab_<,>(x"[random() % 8];
    }
    const auto shown =
        short_kernel_names(std::vector<std::string_view>(names.begin(), names.end()), width);
    ASSERT_EQ(shown.size(), names.size());
    for (const std::string& text : shown) EXPECT_LE(columns(text), width) << text;
  }
}

TEST(KernelName, KeepsTheTellingPart) {
  struct Row {
    const char* name;
    const char* shown;
  };
  for (const Row& row : {
           Row{"volta_sgemm_128x64_nn", "volta_sgemm_128x64_nn"},
           Row{"void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>(float, "
               "float, cudnnTensorStruct)",
               "bn_bw_1C11_kernel_new<flo…,512,true,1>"},
           Row{"void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, "
               "float, float, at::native::MulFunctor<float> >, at::detail::Array<char*, 3> >(int, "
               "at::native::BinaryFunctor<float, float, float, at::native::MulFunctor<float> >, "
               "at::detail::Array<char*, 3>)",
               "vectorized_elementwise_ke…<MulFunctor>"},
           Row{"void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous "
               "namespace)::launch_clamp_scalar(at::TensorIteratorBase&, c10::Scalar)::"
               "{lambda()#1}::operator()() const::{lambda(float)#1}, at::detail::Array<char*, 2> "
               ">(int)",
               "vectorized_eleme…<launch_clamp_scalar>"},
           Row{"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_256x64_16x4_nn_align4>("
               "cutlass_80_tensorop_s1688gemm_256x64_16x4_nn_align4::Params)",
               "cutlass_80_tensorop_s1688…x4_nn_align4"},
           Row{"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
               "ncclDevKernel_AllReduce_S…_f32_RING_LL"},
           Row{"std::enable_if<!(false), void>::type internal::gemvx::kernel<int, float, false, 6, "
               "cublasGemvParamsEx<int, cublasGemvTensorStridedBatched<float const>, float> >("
               "cublasGemvParamsEx<int, cublasGemvTensorStridedBatched<float const>, float>)",
               "gemvx_kernel<int,float,fa…oat>,float>>"},
           // The comparison's > closes no template.
           Row{"std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type "
               "vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, float)",
               "fused_add_rms_norm_kernel<BFloat16,8>"},
           Row{"void a::Kernel<a::Layout<((4)<(8)), 2>, 3>(int)", "Kernel<Layout<((4)<(8)),2>,3>"},
           Row{"void gemmSN_NN_kernel<float, 128, 2, 4, 8, 4, 4, false, "
               "cublasGemvTensorStridedBatched<float const> >(int)",
               "gemmSN_NN_kernel<float,12…ched<float>>"},
           Row{"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::"
               "(anonymous namespace)::TensorListScalarListMetadata<float, 1>, at::native::"
               "(anonymous namespace)::BinaryOpScalarListFunctor<float, 1, 1, 0>, "
               "std::divides<float> >(int)",
               "multi_tensor_apply_kernel<divides>"},
           Row{"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::"
               "TensorListMetadata<2>, at::native::UnaryOpFunctor<float, 2, 1, 1>, "
               "at::native::Sqrt<float> >(int)",
               "multi_tensor_apply_kernel<Sqrt>"},
           Row{"Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pageable -> Device)"},
           Row{"aten::addmm", "aten::addmm"},
           Row{"torch/nn/linear.py(7): forward", "torch/nn/linear.py(7): forward"},
           Row{"<built-in method mul>", "<built-in method mul>"},
           Row{"", ""},
           Row{")", ")"},
           Row{"a<b", "a<b"},
           Row{"((", "(("},
       }) {
    const std::string shown = short_kernel_name(row.name, 38);
    EXPECT_LE(columns(shown), 38);
    EXPECT_EQ(shown, row.shown);
  }
}

TEST(OperatorName, LosesItsMiddleOrWhatFollowsItsMark) {
  EXPECT_EQ(short_operator_name("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 30),
            "enumerate(DataLoader)#_Single…");
  EXPECT_EQ(short_operator_name("0123456789", 7), "0123…89");
}

TEST(KernelName, TakesAnyText) {
  constexpr std::string_view kPieces[] = {"<",
                                          ">",
                                          "(",
                                          ")",
                                          "::",
                                          ",",
                                          " ",
                                          "void ",
                                          "float",
                                          "Kernel",
                                          "a",
                                          "\xc3",
                                          "\xa4",
                                          "(anonymous namespace)::",
                                          "{lambda()#1}",
                                          "MulFunctor",
                                          "0",
                                          "\n"};
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string name;
    for (size_t pieces = random() % 12; pieces > 0; --pieces) {
      name += kPieces[random() % std::size(kPieces)];
    }
    const size_t width = 1 + random() % 30;
    EXPECT_LE(columns(short_kernel_name(name, width)), width) << name;
    EXPECT_LE(columns(short_operator_name(name, width)), width) << name;
  }
}

}  // namespace
}  // namespace redline::trace
