// Each version of NCCL's interface records the same.
#include <algorithm>

#include "profiler/nccl/testing_nccl.h"

namespace redline::nccl {
namespace {

template <typename Table>
class NcclVersion : public NcclWindow {};

struct V3 {
  static const PluginV3& table() { return ncclProfiler_v3; }
};
struct V4 {
  static const PluginV4& table() { return ncclProfiler_v4; }
};
struct V5 {
  static const PluginV5& table() { return ncclProfiler_v5; }
};
struct V6 {
  static const PluginV5& table() { return ncclProfiler_v6; }
};
struct V7 {
  static const PluginV5& table() { return ncclProfiler_v7; }
};
using Versions = ::testing::Types<V3, V4, V5, V6, V7>;
TYPED_TEST_SUITE(NcclVersion, Versions);

TYPED_TEST(NcclVersion, RecordsACollectiveItsProxyAndItsChannel) {
  const auto& table = TypeParam::table();
  this->begin();
  redline_range_push("all of it");
  communicate(table);
  redline_range_pop();
  const json trace = this->end();
  const auto group = this->only(trace, "call");
  const auto coll = this->only(trace, "collective");
  EXPECT_EQ(coll.name, "AllReduce");
  EXPECT_EQ(coll.args["Parent"], group.args["Event"]);
  EXPECT_EQ(coll.args["NCCL sequence"], 41);
  EXPECT_EQ(coll.args["Communicator"], "0xfedcba9876543210");
  EXPECT_EQ(coll.args["Communicator name"], "tp");
  EXPECT_EQ(coll.args["Rank"], 3);
  const bool tells_size = !std::is_same_v<TypeParam, V3>;
  EXPECT_EQ(coll.args.value("Group size", 0), tells_size ? 16 : 0);
  EXPECT_EQ(coll.args["dtype"], "ncclBfloat16");
  EXPECT_EQ(coll.args["Elements"], 1024);
  EXPECT_EQ(coll.args["Bytes"], 2048);
  EXPECT_EQ(coll.args["Algorithm"], "RING");
  EXPECT_EQ(coll.args["Protocol"], "SIMPLE");
  EXPECT_EQ(coll.args["Channels"], 1);
  auto proxies = this->slices(trace, "proxy");
  const auto is_op = [](const auto& each) { return each.second.name == "proxy send"; };
  const auto op = std::ranges::find_if(proxies, is_op);
  ASSERT_NE(op, proxies.end());
  EXPECT_EQ(op->second.args["Parent"], coll.args["Event"]);
  EXPECT_EQ(op->second.args["Peer"], 5);
  EXPECT_EQ(op->second.args["Bytes"], 2048);
  const auto channel = this->only(trace, "kernel channel");
  EXPECT_EQ(channel.name, "AllReduce");
  EXPECT_EQ(channel.args["Parent"], coll.args["Event"]);
  EXPECT_EQ(channel.args["NCCL sequence"], 41);
  EXPECT_GE(coll.end_us, op->second.end_us) << "it is over when its proxy is";
  const json counts{{"events", 3 + proxies.size()}, {"unfinished", 0}, {"dropped", 0}};
  EXPECT_EQ(trace["redline"]["nccl"], counts);
  for (const json& event : trace["traceEvents"]) {
    if (event.value("name", "") != "all of it") continue;
    EXPECT_LE(event["ts"], group.begin_us);
    EXPECT_LE(group.begin_us, coll.begin_us);
    EXPECT_GE(event["ts"].get<double>() + event["dur"].get<double>(), group.end_us);
  }
}

}  // namespace
}  // namespace redline::nccl
