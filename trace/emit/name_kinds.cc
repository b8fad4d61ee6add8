#include "trace/emit/name_kinds.h"

#include <array>

#include "base/text_search.h"

namespace redline::trace {
namespace {

struct PrefixKind {
  std::string_view prefix;
  NameKind kind;
};

// Some of these are whole names; no longer name begins with them.
constexpr std::array<PrefixKind, 14> kPrefixes = {{
    {"ProfilerStep#", kStepName},
    {"unfinished ProfilerStep#", kStepName},
    {"enumerate(DataPipe)#", kDataLoaderName},
    {"nccl:", kCommunicationOpName},
    {"xccl:", kCommunicationOpName},
    {"gloo:", kCommunicationOpName},
    {"mpi:", kCommunicationOpName},
    {"ucc:", kCommunicationOpName},
    {"c10d::", kCommunicationCallName},
    {"_c10d_functional::", kCommunicationCallName},  // DTensor's, and those of compiled code
    {"record_param_comms", kCommunicationCallName},
    {"Optimizer.", kOptimizerName},
    {"autograd::engine::evaluate_function: ", kBackwardName},
    {"torch::autograd::", kBackwardName},
}};

// The plugin's "Tensor Cores eligible" operators, with their names of today.
constexpr std::array<std::string_view, 26> kMatrixNames = {"aten::conv1d",
                                                           "aten::conv2d",
                                                           "aten::conv3d",
                                                           "aten::conv_tbc",
                                                           "aten::conv_transpose1d",
                                                           "aten::conv_transpose2d",
                                                           "aten::conv_transpose3d",
                                                           "aten::convolution",
                                                           "aten::_convolution",
                                                           "aten::cudnn_convolution",
                                                           "aten::mkldnn_convolution",
                                                           "aten::convolution_backward",
                                                           "aten::cudnn_convolution_backward",
                                                           "aten::mkldnn_convolution_backward",
                                                           "aten::prelu",
                                                           "aten::addmm",
                                                           "aten::addmv",
                                                           "aten::addr",
                                                           "aten::matmul",
                                                           "aten::mm",
                                                           "aten::mv",
                                                           "aten::linear",
                                                           "aten::addbmm",
                                                           "aten::baddbmm",
                                                           "aten::bmm",
                                                           "aten::chain_matmul"};

// Parts of the names of collectives that are not NCCL's: PyTorch's symmetric memory (multimem_,
// one-shot, two-shot) and its operators on NVSHMEM; NVSHMEM itself; the all-reduces of vLLM, SGLang
// and AITER (cross_device_reduce), TensorRT-LLM and FlashInfer; DeepEP; RCCL's MSCCL.
constexpr std::array<std::string_view, 16> kCollectiveParts = {"multimem_",
                                                               "one_shot_all_",
                                                               "two_shot_all_",
                                                               "exchangeSplitAndOffset",
                                                               "allToAllV",
                                                               "_on_stream_kernel",
                                                               "nvshmemi_",
                                                               "cross_device_reduce_",
                                                               "oneShotAllReduce",
                                                               "twoShotAllReduce",
                                                               "allreduce_fusion_kernel",
                                                               "deep_ep::intranode",
                                                               "deep_ep::internode",
                                                               "mscclKernel_",
                                                               "OneShotAllReduce",
                                                               "TwoShotAllReduce"};

}  // namespace

bool is_communication_kernel(std::string_view name) {
  if (name.starts_with("nccl")) return contains(name, "Kernel");
  // Types of arguments follow the first '('; they do not count.
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  const size_t anonymous = name.find(kAnonymous);
  const size_t own = anonymous == std::string_view::npos ? 0 : anonymous + kAnonymous.size();
  name = name.substr(0, name.find('(', own));
  return contains_any(name, kCollectiveParts);
}

uint8_t name_kinds(std::string_view name) {
  if (name.starts_with("aten::")) return is_any(name, kMatrixNames) ? kMatrixOpName : 0;
  for (const auto& [prefix, kind] : kPrefixes) {
    if (name.starts_with(prefix)) return kind;
  }
  if (is_communication_kernel(name)) return kCommunicationKernelName;
  if (name.starts_with("enumerate(DataLoader)#") && name.ends_with(".__next__")) {
    return kDataLoaderName;
  }
  // "MmBackward0" (all that traces of 2021 have), "CompiledFunctionBackward".
  return contains(name, "Backward") ? kBackwardName : 0;
}

bool is_host_collective(std::string_view name) {
  return (name_kinds(name) & kCommunicationOpName) != 0 && !name.starts_with("nccl:") &&
         !name.starts_with("xccl:");
}

}  // namespace redline::trace
