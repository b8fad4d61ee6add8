#include "trace/emit/name_kinds.h"

#include <gtest/gtest.h>

namespace redline::trace {
namespace {

TEST(NameKinds, EachNameHasItsKind) {
  const std::pair<const char*, int> rows[] = {
      {"ProfilerStep#5", kStepName},
      {"ProfilerStep*", 0},
      {"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", kDataLoaderName},
      {"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__init__", 0},
      {"enumerate(DataPipe)#Batcher", kDataLoaderName},
      {"nccl:all_reduce", kCommunicationOpName},
      {"xccl:all_reduce", kCommunicationOpName},
      {"ucc:barrier", kCommunicationOpName},
      {"c10d::allreduce_", kCommunicationCallName},
      {"record_param_comms", kCommunicationCallName},
      {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", kCommunicationKernelName},
      {"ncclKernel_SendRecv", kCommunicationKernelName},
      {"ncclGroupEnd", 0},
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
