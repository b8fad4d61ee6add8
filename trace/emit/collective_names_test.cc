#include "trace/emit/collective_names.h"

#include <gtest/gtest.h>

#include <iterator>
#include <utility>
#include <vector>

namespace redline::trace {
namespace {

constexpr int kKinds = static_cast<int>(CollectiveKind::kOther) + 1;

TEST(CollectiveNames, EachSpellingHasItsKind) {
  using Kind = CollectiveKind;
  const std::pair<const char*, Kind> rows[] = {
      {"nccl:all_reduce", Kind::kAllReduce},
      {"c10d::allreduce_", Kind::kAllReduce},
      {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
       Kind::kAllReduce},
      {"void vllm::cross_device_reduce_2stage<__half, 4>(vllm::RankData*)", Kind::kAllReduce},
      {"nccl:_all_gather_base", Kind::kAllGather},
      {"ALLGATHER", Kind::kAllGather},
      {"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", Kind::kReduceScatter},
      {"nccl:all_to_allv", Kind::kAllToAll},
      {"ucc:barrier", Kind::kBarrier},
      {"ncclDevKernel_Broadcast_RING_LL", Kind::kBroadcast},
      {"ncclDevKernel_SendRecv", Kind::kSendReceive},
      {"nccl:send 0->1", Kind::kSendReceive},
      {"nccl:recv 0<-1", Kind::kSendReceive},
      {"gloo:scatter", Kind::kScatter},
      {"gloo:gather", Kind::kGather},
      {"nccl:reduce", Kind::kReduce},
      {"nccl:coalesced", Kind::kOther},
      {"zzz", Kind::kOther},
      {"", Kind::kOther},
      {"f(allreduce)", Kind::kOther},  // types of arguments do not count
      {"void (anonymous namespace)::barrier_kernel(int)", Kind::kBarrier},
      {"allreduce (anonymous namespace)::f(int)", Kind::kOther},
  };
  for (const auto& [name, kind] : rows) {
    EXPECT_EQ(kind_name(collective_kind(name)), kind_name(kind)) << name;
  }
  for (int kind = 0; kind < kKinds; ++kind) {
    const auto each = static_cast<CollectiveKind>(kind);
    EXPECT_EQ(collective_kind(kind_name(each)), each) << kind_name(each);
  }
}

TEST(CollectiveNames, KernelsSayAlgorithmAndProtocol) {
  struct {
    const char* name;
    const char* algorithm;
    const char* protocol;
  } const rows[] = {
      {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "ring", "LL"},
      {"ncclDevKernel_AllReduce_Sum_f32_TREE_LL128", "tree", "LL128"},
      {"ncclDevKernel_AllGather_RING_SIMPLE", "ring", "Simple"},
      {"ncclDevKernel_AllReduce_NVLS_TREE_SIMPLE", "nvls_tree", "Simple"},
      {"ncclDevKernel_AllReduce_NVLS", "nvls", ""},
      {"ncclDevKernel_AllReduce_COLLNET_DIRECT_SIMPLE", "collnet_direct", "Simple"},
      {"ncclDevKernel_AllReduce_COLLNET_CHAIN_SIMPLE", "collnet_chain", "Simple"},
      {"ncclDevKernel_AllGather_PAT_SIMPLE", "pat", "Simple"},
      {"ncclDevKernel_SendRecv", "", ""},
      {"ncclDevKernel_XRING_LLX", "", ""},  // only parts of words
      {"ncclDevKernel_RINGS_xLL_RING", "ring", ""},
      {"ncclDevKernel_AllReduce(RING_LL)", "", ""},
      {"RING_LL_ncclDevKernel", "", ""},
      {"my_RING_LL_kernel", "", ""},  // no collective's
  };
  for (const auto& [name, algorithm, protocol] : rows) {
    EXPECT_EQ(kernel_algorithm(name), algorithm) << name;
    EXPECT_EQ(kernel_protocol(name), protocol) << name;
  }
}

TEST(CollectiveNames, BusBandwidthIsThatOfNcclTests) {
  struct {
    CollectiveKind kind;
    bool holds;
    double of_2, of_8;
  } const rows[] = {
      {CollectiveKind::kAllReduce, true, 1, 1.75},
      {CollectiveKind::kAllGather, true, 0.5, 0.875},
      {CollectiveKind::kReduceScatter, true, 0.5, 0.875},
      {CollectiveKind::kAllToAll, true, 0.5, 0.875},
      {CollectiveKind::kBarrier, true, 1, 1},
      {CollectiveKind::kBroadcast, false, 1, 1},
      {CollectiveKind::kReduce, false, 1, 1},
      {CollectiveKind::kGather, false, 0.5, 0.875},
      {CollectiveKind::kScatter, false, 0.5, 0.875},
      {CollectiveKind::kSendReceive, false, 1, 1},
      {CollectiveKind::kOther, false, 1, 1},
  };
  ASSERT_EQ(std::size(rows), static_cast<size_t>(kKinds));
  for (const auto& [kind, holds, of_2, of_8] : rows) {
    EXPECT_EQ(holds_all_ranks(kind), holds) << kind_name(kind);
    EXPECT_EQ(bus_factor(kind, 2), of_2) << kind_name(kind);
    EXPECT_EQ(bus_factor(kind, 8), of_8) << kind_name(kind);
  }
}

TEST(CollectiveNames, AnElementHasTheBytesOfItsType) {
  const std::pair<int64_t, std::vector<const char*>> rows[] = {
      {8, {"double", "Double", "long", "long int", "Long"}},
      {4, {"float", "Float", "int", "Int"}},
      {2, {"half", "Half", "c10::Half", "c10::BFloat16", "BFloat16", "short", "Short"}},
      {1, {"unsigned char", "Byte", "signed char", "Char", "char", "bool", "Bool"}},
      {1, {"Float8_e4m3fn", "Float8_e5m2", "Float8_e4m3fnuz", "Float8_e5m2fnuz", "Float8_e8m0fnu"}},
      {1, {"c10::Float8_e4m3fn", "c10::Float8_e5m2", "c10::Float8_e8m0fnu"}},
      {2, {"UInt16", "unsigned short", "short unsigned int"}},
      {4, {"UInt32", "unsigned int", "ComplexHalf", "c10::complex<c10::Half>"}},
      {8, {"UInt64", "unsigned long", "long unsigned int", "ComplexFloat", "c10::complex<float>"}},
      {16, {"ComplexDouble", "c10::complex<double>"}},
      {0, {"", "complex", "Floats", "c10::"}},
  };
  for (const auto& [bytes, types] : rows) {
    for (const char* type : types) EXPECT_EQ(element_bytes(type), bytes) << type;
  }
}

}  // namespace
}  // namespace redline::trace
