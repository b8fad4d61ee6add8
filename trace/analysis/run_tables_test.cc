#include "trace/analysis/run_tables.h"

#include <gtest/gtest.h>

#include "tests/parsed_trace.h"

namespace redline::trace {
namespace {

using namespace redline::testing;

// RCCL's kernels have one name for all that they do.
TraceText of_generic_kernels(int rank) {
  TraceText text;
  text.rank(rank, 2, "nccl").step(0, 0, 10 * kMs);
  uint32_t number = 0;
  for (const char* kind : {"allreduce", "_allgather_base"}) {
    ++number;
    const int64_t at_ns = number * kMs;
    text.runtime("hipExtLaunchKernel", at_ns, at_ns + kUs, number);
    text.kernel("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", at_ns + 2 * kUs,
                at_ns + number * 100 * kUs + 2 * kUs,
                on_stream(7, number,
                          fmt::format(R"("Collective name": "{}", "In msg nelems": 1000000, )"
                                      R"("Out msg nelems": 1000000, "dtype": "Float", )"
                                      R"("Group size": 2, "Process Group Name": "0")",
                                      kind)));
  }
  return text;
}

TEST(RunTables, CollectivesOfOneNameStayApartByKind) {
  const std::vector<RankSummary> ranks = {analysis_of(of_generic_kernels(0)),
                                          analysis_of(of_generic_kernels(1))};
  const auto rows = merged_collectives(ranks);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].kind, CollectiveKind::kAllGather);
  EXPECT_EQ(rows[0].total_ns, 400 * kUs);
  EXPECT_EQ(rows[1].kind, CollectiveKind::kAllReduce);
  EXPECT_EQ(rows[1].count, 2);
  EXPECT_DOUBLE_EQ(*rows[1].bus_bandwidth, *ranks[0].collectives[1].bus_bandwidth);
}

TEST(RunTables, OperatorsOfRanksAddUp) {
  const auto rank = [](int number) {
    TraceText text;
    text.rank(number, 2).step(0, 0, 10 * kMs);
    text.cpu_op("aten::linear", 0, 5 * kMs).cpu_op("aten::addmm", kMs, 3 * kMs);
    text.runtime("cudaLaunchKernel", 2 * kMs, 2 * kMs + kUs, 1);
    text.kernel("gemm", 3 * kMs, (5 + number) * kMs, on_stream(7, 1));
    return analysis_of(text);
  };
  const auto rows = merged_operators({rank(0), rank(1)});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].name, "aten::linear");
  EXPECT_EQ(rows[0].count, 2);
  EXPECT_EQ(rows[0].total_ns, 10 * kMs);
  EXPECT_EQ(rows[0].self_ns, 6 * kMs);
  EXPECT_EQ(rows[0].device_self_ns, 0);
  EXPECT_EQ(rows[0].device_total_ns, 5 * kMs);
  EXPECT_EQ(rows[1].name, "aten::addmm");
  EXPECT_EQ(rows[1].device_self_ns, 5 * kMs);
  EXPECT_EQ(rows[1].device_total_ns, 5 * kMs);
}

}  // namespace
}  // namespace redline::trace
