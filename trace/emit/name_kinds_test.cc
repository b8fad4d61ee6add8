#include "trace/emit/name_kinds.h"

#include <gtest/gtest.h>

namespace redline::trace {
namespace {

TEST(NameKinds, EachNameHasItsKind) {
  const std::pair<const char*, int> rows[] = {
      {"ProfilerStep#5", kStepName},
      {"unfinished ProfilerStep#5", kStepName},
      {"unfinished ranges", 0},
      {"ProfilerStep*", 0},
      {"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", kDataLoaderName},
      {"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__init__", 0},
      {"enumerate(DataPipe)#Batcher", kDataLoaderName},
      {"nccl:all_reduce", kCommunicationOpName},
      {"xccl:all_reduce", kCommunicationOpName},
      {"ucc:barrier", kCommunicationOpName},
      {"c10d::allreduce_", kCommunicationCallName},
      {"_c10d_functional::wait_tensor", kCommunicationCallName},
      {"record_param_comms", kCommunicationCallName},
      {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", kCommunicationKernelName},
      {"ncclKernel_SendRecv", kCommunicationKernelName},
      {"ncclGroupEnd", 0},
      {"void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)",
       kCommunicationKernelName},
      {"void one_shot_all_reduce_kernel<float, 16, 8>(float**)", kCommunicationKernelName},
      {"void vllm::cross_device_reduce_2stage<__half, 4>(vllm::RankData*)",
       kCommunicationKernelName},
      {"void tensorrt_llm::kernels::ar_fusion::allreduce_fusion_kernel_oneshot_lamport<8>(int)",
       kCommunicationKernelName},
      {"void barrier_on_stream_kernel_threadgroup<(threadgroup_t)1>(int, int)",
       kCommunicationKernelName},
      {"void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)", kCommunicationKernelName},
      {"mscclKernel_Sum_half_Simple_false(ncclDevComm*)", kCommunicationKernelName},
      // Kernels that only prepare communication, or only mention it, do not count.
      {"void deep_ep::layout::get_dispatch_layout<256>(long const*)", 0},
      {"void add_kernel<float>(multimem_pointer*)", 0},
      {"aten::mm", kMatrixOpName},
      {"aten::convolution_backward", kMatrixOpName},
      {"aten::mm_", 0},
      {"MmBackward0", kBackwardName},
      {"torch::autograd::AccumulateGrad", kBackwardName},
      {"Optimizer.zero_grad#SGD.zero_grad", kOptimizerName},
      {"", 0},
  };
  for (const auto& [name, kinds] : rows) EXPECT_EQ(name_kinds(name), kinds) << name;
}

TEST(NameKinds, OnlySomeCollectivesRunOnTheHost) {
  EXPECT_TRUE(is_host_collective("gloo:all_reduce"));
  EXPECT_TRUE(is_host_collective("mpi:all_reduce"));
  EXPECT_FALSE(is_host_collective("nccl:all_reduce"));
  EXPECT_FALSE(is_host_collective("xccl:all_reduce"));
  EXPECT_FALSE(is_host_collective("record_param_comms"));
}

}  // namespace
}  // namespace redline::trace
