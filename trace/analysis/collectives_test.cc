#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parsed_trace.h"
#include "trace/analysis/communication.h"

namespace redline::trace {
namespace {

using namespace redline::testing;

struct Found {
  std::shared_ptr<const Trace> trace;
  Communication communication;
};

Found find(const TraceText& text) {
  const auto trace = parsed(text.str());
  EXPECT_TRUE(trace);
  const NameKinds names(*trace);
  return {trace, find_communication(*trace, names, find_device_work(*trace, names),
                                    build_host_tree(*trace, names))};
}

TEST(CollectiveNames, OfOtherLibrariesThanNccl) {
  EXPECT_EQ(collective_kind("void (anonymous namespace)::multimem_all_reduce_kernel<float>(int)"),
            CollectiveKind::kAllReduce);
  EXPECT_EQ(collective_kind("void vllm::cross_device_reduce_1stage<float, 8>(vllm::RankData*)"),
            CollectiveKind::kAllReduce);
  EXPECT_EQ(collective_kind("void allToAllV(void*)"), CollectiveKind::kAllToAll);
}

TEST(CollectiveNames, KindInEverySpelling) {
  const std::pair<const char*, CollectiveKind> rows[] = {
      {"nccl:all_reduce", CollectiveKind::kAllReduce},
      {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
       CollectiveKind::kAllReduce},
      {"allreduce", CollectiveKind::kAllReduce},
      {"allreduce_coalesced", CollectiveKind::kAllReduce},
      {"nccl:_all_gather_base", CollectiveKind::kAllGather},
      {"_reduce_scatter_base", CollectiveKind::kReduceScatter},
      {"nccl:all_to_all", CollectiveKind::kAllToAll},
      {"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", CollectiveKind::kSendReceive},
      {"nccl:reduce", CollectiveKind::kReduce},
      {"gloo:scatter", CollectiveKind::kScatter},
      {"broadcast_oop", CollectiveKind::kBroadcast},
      {"ncclDevKernel_Generic(x)", CollectiveKind::kOther}};
  for (const auto& [name, kind] : rows) EXPECT_EQ(collective_kind(name), kind) << name;
}

TEST(CollectiveNames, AlgorithmAndProtocolOfTheKernel) {
  const std::tuple<const char*, const char*, const char*> rows[] = {
      {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)", "ring", "LL"},
      {"ncclKernel_AllReduce_TREE_LL128_Sum_float(ncclWorkElem)", "tree", "LL128"},
      {"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", "ring", "Simple"},
      {"ncclDevKernel_AllReduce_Sum_bf16_NVLS_TREE_SIMPLE", "nvls_tree", "Simple"},
      {"ncclDevKernel_AllReduce_Sum_f16_COLLNET_DIRECT_SIMPLE()", "collnet_direct", "Simple"},
      {"ncclDevKernel_Generic(RING_LL)", "", ""},
      {"void my_RING_LL_kernel()", "", ""}};
  for (const auto& [name, algorithm, protocol] : rows) {
    EXPECT_EQ(kernel_algorithm(name), algorithm) << name;
    EXPECT_EQ(kernel_protocol(name), protocol) << name;
  }
}

// The figures are those of nccl-tests' own tables: 8 ranks, 1 GB in 10 ms.
TEST(CollectiveNames, BusBandwidthAsNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::kAllReduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::kAllGather, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::kReduceScatter, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::kAllToAll, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::kBroadcast, 8), 1);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::kReduce, 8), 1);
}

TEST(Collectives, ArgsOfTheKernel) {
  const std::string args =
      R"("Collective name": "reduce_scatter", "In msg nelems": 4096, "Out msg nelems": 1024, )"
      R"("Group size": 4, "dtype": "BFloat16", "Process Group Name": "7", )"
      R"("Process Group Ranks": "[0, 1, 2, 3]", "Seq": 41)";
  const Found found = find(TraceText().rank(0, 64).kernel(
      "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", 0, 1000, on_stream(9, 0, args)));
  ASSERT_EQ(found.communication.table.size(), 1U);
  const Collective& row = found.communication.table[0];
  EXPECT_EQ(row.group, "7");
  EXPECT_EQ(row.ranks, 4);
  EXPECT_EQ(row.bytes, 8192);
  EXPECT_EQ(row.first_seq, 41);
  EXPECT_TRUE(row.seq_recorded);
  EXPECT_EQ(row.algorithm(), "ring");
  EXPECT_DOUBLE_EQ(*row.algorithm_bandwidth, 8192 / 1e-6);
  EXPECT_DOUBLE_EQ(*row.bus_bandwidth, 8192 / 1e-6 * 0.75);
}

// In traces from before 2023 only the operators around the launch tell about a collective.
TEST(Collectives, ArgsOfTheOperatorsAroundTheLaunch) {
  const Found found =
      find(TraceText()
               .rank(1, 4)
               .cpu_op("record_param_comms", 0, 100,
                       {.args = R"("Process Group Name": "2", "Group size": 4, "Seq": 5)"})
               .slice("user_annotation", "nccl:_all_gather_base", 10, 90,
                      {.args = R"("Input Dims": [[256, 4]], "Input type": ["c10::Half"])"})
               .runtime("cudaLaunchKernel", 20, 30, 3)
               .kernel("ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclWorkElem)", 200, 400,
                       on_stream(9, 3))
               .slice("user_annotation", "nccl:all_to_all", 500, 590,
                      {.args = R"("Input Dims": [[8]], "Input type": ["long"])"})
               .runtime("cudaLaunchKernel", 520, 530, 4)
               .kernel("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", 600, 700,
                       on_stream(9, 4)));
  const auto& calls = found.communication.collectives.calls;
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].kind, CollectiveKind::kAllGather);
  EXPECT_EQ(calls[0].bytes, 256 * 4 * 2 * 4);  // all that four ranks gather
  EXPECT_EQ(calls[0].seq, 5);
  EXPECT_TRUE(calls[0].seq_recorded);
  EXPECT_EQ(calls[1].kind, CollectiveKind::kAllToAll);
  EXPECT_EQ(calls[1].bytes, 64);
  EXPECT_FALSE(calls[1].seq_recorded);
}

TEST(Collectives, WithoutSequenceNumbersCallsOfASizeAreCounted) {
  TraceText text;
  text.rank(0, 2);
  const auto gloo = [&](int64_t at, int elements) {
    text.slice("user_annotation", "gloo:all_reduce", at, at + 10,
               {.tid = "2",
                .args = fmt::format(R"("Input Dims": [[{}]], "Input type": ["float"])", elements)});
  };
  gloo(0, 10), gloo(20, 99), gloo(40, 10), gloo(60, 10);
  const auto& found = find(text).communication;
  std::vector<int64_t> seq;
  for (const CollectiveCall& call : found.collectives.calls) seq.push_back(call.seq);
  EXPECT_THAT(seq, ::testing::ElementsAre(0, 0, 1, 2));
  ASSERT_EQ(found.table.size(), 2U);
  EXPECT_EQ(found.table[0].bytes, 120);
  EXPECT_EQ(found.table[0].last_seq, 2);
  EXPECT_DOUBLE_EQ(*found.table[0].bus_bandwidth, 120 / 30e-9);  // 2 (n - 1) / n = 1
}

TEST(Collectives, GroupSizesOfDistributedInfo) {
  const Found found =
      find(TraceText()
               .top(R"("distributedInfo": {"rank": 0, "world_size": 16, "pg_config": [)"
                    R"({"pg_name": "3", "pg_size": 2}, {"pg_name": 4}, 5]})")
               .kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0, 10,
                       on_stream(9, 0, R"("Process Group Name": "3")"))
               .kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 20, 30,
                       on_stream(9, 0, R"("Process Group Name": "8")"))
               .kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 40, 50, on_stream(9)));
  std::vector<int> ranks;
  for (const CollectiveCall& call : found.communication.collectives.calls) {
    ranks.push_back(call.ranks);
  }
  EXPECT_THAT(ranks, ::testing::ElementsAre(2, 0, 16));
}

TEST(Collectives, ComputationOnEveryStreamHidesThem) {
  const Found found =
      find(TraceText()
               .rank(0, 2)
               .kernel("gemm", 0, 300, on_stream(7))
               .kernel("gemm", 250, 400, on_stream(8))
               .kernel("gemm", 800, 900, on_stream(8))
               .kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 100, 1000, on_stream(9)));
  EXPECT_EQ(found.communication.table.at(0).exposed_ns, 400 + 100);
  EXPECT_EQ(total_ns(found.communication.exposed), 500);
}

// DTensor's operators are called within others, which wait for them.
TEST(Collectives, OperatorsThatWaitForThemHideNothing) {
  const Found found =
      find(TraceText()
               .rank(0, 2)
               .cpu_op("PythonSubclass", 0, 1000)
               .cpu_op("_c10d_functional::wait_tensor", 200, 700)
               .cpu_op("aten::mm", 0, 300, {.tid = "3"})
               .slice("user_annotation", "gloo:all_reduce", 100, 600, {.tid = "2"}));
  EXPECT_EQ(found.communication.table.at(0).exposed_ns, 300);
  EXPECT_EQ(total_ns(found.communication.exposed), 300);
}

// NCCL's annotations end once the kernel is launched, and here the GPU is not recorded.
TEST(Collectives, WhatOnlyTheEnqueueingTellsHasNoTimes) {
  TraceText text;
  text.rank(0, 2).step(0, 0, 1000);
  const auto call = [&](const std::string& name, int64_t begin_ns, int64_t end_ns) {
    text.slice("user_annotation", name, begin_ns, end_ns,
               {.tid = "2", .args = R"("Input Dims": [[1000]], "Input type": ["float"])"});
  };
  call("nccl:all_reduce", 0, 40), call("nccl:all_reduce", 100, 140), call("xccl:barrier", 200, 210);
  const Communication nccl = find(text).communication;
  ASSERT_EQ(nccl.table.size(), 2U);
  for (const Collective& row : nccl.table) {
    EXPECT_EQ(row.total_ns, std::nullopt) << row.name;
    EXPECT_EQ(row.exposed_ns, std::nullopt);
    EXPECT_EQ(row.algorithm_bandwidth, std::nullopt);
    EXPECT_EQ(row.bus_bandwidth, std::nullopt);
  }
  EXPECT_EQ(nccl.table[0].count, 2);
  EXPECT_EQ(nccl.table[0].bytes, 8000);
  EXPECT_EQ(nccl.table[0].kind, CollectiveKind::kAllReduce);
  EXPECT_FALSE(nccl.is_timed);
  EXPECT_EQ(total_ns(nccl.exposed), 0);
  EXPECT_EQ(redline::testing::analysis_of(text).exposed_communication_ns, std::nullopt);

  call("gloo:all_reduce", 300, 310);
  const Communication both = find(text).communication;
  EXPECT_EQ(both.table.front().name, "gloo:all_reduce") << "those of known length first";
  EXPECT_EQ(both.table.front().total_ns, 10);
  EXPECT_TRUE(both.table.front().bus_bandwidth);
  EXPECT_EQ(total_ns(both.exposed), 10);
  EXPECT_FALSE(both.is_timed);
}

}  // namespace
}  // namespace redline::trace
