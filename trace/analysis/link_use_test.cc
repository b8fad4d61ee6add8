#include "trace/analysis/link_use.h"

#include <gtest/gtest.h>

namespace redline::trace {
namespace {

std::vector<RankSummary> ranks_on(const std::vector<std::string>& hosts,
                                  const char* gpu = "NVIDIA H100 80GB HBM3") {
  std::vector<RankSummary> traces(hosts.size());
  for (size_t i = 0; i < hosts.size(); ++i) {
    traces[i].facts.rank = static_cast<int>(i);
    traces[i].facts.world_size = static_cast<int>(hosts.size());
    traces[i].facts.host = hosts[i];
    DeviceProperties device;
    device.name = gpu;
    traces[i].peaks = device_peaks(device);
  }
  return traces;
}

Collective reduced(const char* name, double bus_bandwidth) {
  Collective row;
  row.name = name;
  row.bus_bandwidth = bus_bandwidth;
  return row;
}

TEST(LinkUse, IsKnownOfAJobThatIsWhollyOnOneHost) {
  EXPECT_EQ(link_peak(ranks_on({"a", "a"})), 450);
  EXPECT_EQ(link_peak(ranks_on({"a", "a"}, "AMD Instinct MI300X")), 448);
  EXPECT_EQ(link_peak(ranks_on({"a", "a"}, "NVIDIA A100-SXM4-40GB")), 300);
  EXPECT_FALSE(link_peak(ranks_on({"a", "b"}))) << "a network between";
  EXPECT_FALSE(link_peak(ranks_on({"", ""}))) << "no host is named";
  EXPECT_FALSE(link_peak({})) << "no trace";
  auto traces = ranks_on({"a", "a", "a"});
  traces.pop_back();
  EXPECT_FALSE(link_peak(traces)) << "who knows where the third is";
  traces.front().facts.rank.reset();
  EXPECT_FALSE(link_peak(traces)) << "who knows which these are";
}

TEST(LinkUse, IsNotKnownOfCardsThatAMachineMayJoin) {
  for (const char* gpu : {"NVIDIA H100 PCIe", "NVIDIA H100 NVL", "NVIDIA H200 NVL", "NVIDIA L4",
                          "NVIDIA A100 80GB PCIe", "NVIDIA H100 80GB HBM3 MIG 1g.10gb"}) {
    EXPECT_FALSE(link_peak(ranks_on({"a", "a"}, gpu))) << gpu;
  }
  auto unlike = ranks_on({"a", "a"});
  unlike.back() = ranks_on({"a", "a"}, "NVIDIA B200").back();
  EXPECT_FALSE(link_peak(unlike)) << "one of them is the slower";
}

TEST(LinkUse, IsWhatTheUserSaysAlsoBetweenHosts) {
  auto traces = ranks_on({"a", "b"});
  GivenPeaks given;
  given.link_gb_per_s = 50;
  for (RankSummary& summary : traces) given.apply_to(summary.peaks);
  EXPECT_EQ(link_peak(traces), 50);
  EXPECT_NE(traces.front().peaks.source, "given") << "the rest is the datasheet's";
}

TEST(LinkUse, IsThatOfKernels) {
  const Collective kernel = reduced("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 90e9);
  EXPECT_DOUBLE_EQ(*percent_of_link(kernel, 450), 20);
  EXPECT_FALSE(percent_of_link(kernel, std::nullopt));
  EXPECT_FALSE(percent_of_link(reduced("gloo:all_reduce", 1e9), 450)) << "it is on the host";
  Collective unknown = kernel;
  unknown.bus_bandwidth.reset();
  EXPECT_FALSE(percent_of_link(unknown, 450));
}

}  // namespace
}  // namespace redline::trace
