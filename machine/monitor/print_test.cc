#include "machine/monitor/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace redline::monitor {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr int64_t kGib = int64_t{1} << 30;

Snapshot busy_machine() {
  Snapshot snapshot;
  snapshot.time_ns = 5;
  snapshot.interval_ns = 1'000'000'000;
  snapshot.host = {.name = "node7",
                   .busy = 0.375,
                   .cores = {{0, 0.75}, {1, 0.0}},
                   .load = 1.5,
                   .memory_bytes = 16 * kGib,
                   .memory_used_bytes = 4 * kGib,
                   .shm_bytes = 8 * kGib,
                   .shm_used_bytes = 0,
                   .disk_read = 12.3e6,
                   .disk_written = 0};
  snapshot.driver = "580.65.06";
  GpuState gpu = {.name = "NVIDIA H200", .uuid = "GPU-1", .xids = {13, 79}};
  gpu.now = {.busy = 0.97,
             .memory_busy = 0.41,
             .memory_bytes = 140 * kGib,
             .memory_used_bytes = 70 * kGib,
             .power_w = 512.3,
             .power_limit_w = 700,
             .sm_clock_mhz = 1980,
             .memory_clock_mhz = 3201,
             .temperature_c = 64,
             .throttle_reasons = nvml::kPowerCap,
             .ecc_corrected = 3,
             .ecc_uncorrected = 0};
  gpu.traffic = {.pcie_received = 12e9, .pcie_sent = 2.04e9, .nvlink_received = 99.96e9};
  snapshot.gpus = {gpu, {.index = 1}, {.index = 2, .name = "NVIDIA H200"}};
  snapshot.gpus[2].now.is_lost = true;
  return snapshot;
}

TEST(MonitorText, IsATableOf80Columns) {
  const std::string text = as_text(busy_machine(), {.colour = false, .utf8 = true});
  EXPECT_EQ(text,
            "node7                                                         driver 580.65.06\n"
            "CPU         38 %  2 cores, load 1.50                      ███████▌\n"
            "cores             ▇▁\n"
            "memory      25 %  4.0 GiB of 16.0 GiB                     █████\n"
            "/dev/shm     0 %  0 B of 8.0 GiB\n"
            "disk              read 12.3 MB/s, written 0 B/s\n"
            "\n"
            "GPU                          busy  memory                       power       SM\n"
            "  0 NVIDIA H200              97 %    50 % of 140.0 GiB   512 of 700 W 1980 MHz\n"
            "    64 °C · memory bus 41 % · GB/s in/out: PCIe 12.0/2.0, NVLink 100.0/n/a\n"
            "    slowed by power cap · 3 corrected ECC errors · Xid 13 · Xid 79\n"
            "  1 n/a                       n/a     n/a of n/a                  n/a      n/a\n"
            "    n/a · memory bus n/a · GB/s in/out: PCIe n/a, NVLink n/a\n"
            "  2 NVIDIA H200            lost: it fell off the bus; the driver's log says more\n");
}

TEST(MonitorText, KeepsTo80ColumnsAndToAsciiWhereAskedTo) {
  Snapshot snapshot = busy_machine();
  snapshot.host.name = std::string(100, 'x');
  snapshot.host.cores.resize(500, {0, 0.5});
  snapshot.gpus[0].name = "NVIDIA GB300 NVL72 with a very long name indeed";
  snapshot.gpus[0].xids.assign(1000, 119);
  snapshot.gpus[0].now.throttle_reasons = ~uint64_t{0};
  snapshot.gpus[0].now.ecc_corrected = ~uint64_t{0};
  std::istringstream lines(as_text(snapshot, {.colour = false, .utf8 = false}));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80U) << line;
    EXPECT_TRUE(std::ranges::all_of(line, [](char c) { return c > 0; })) << line;
  }
}

TEST(MonitorText, WithoutAGpuIsOfTheHost) {
  Snapshot snapshot = busy_machine();
  snapshot.gpus.clear();
  EXPECT_THAT(as_text(snapshot, {}), HasSubstr("none: no NVIDIA driver shows one here"));
  snapshot.driver_error = "Driver/library version mismatch";
  EXPECT_THAT(as_text(snapshot, {}),
              HasSubstr("GPUs              Driver/library version mismatch\n"));
  snapshot.host = {.name = "in a small container"};
  EXPECT_THAT(as_text(snapshot, {}), HasSubstr("memory       n/a  "));
}

TEST(MonitorJson, SaysNullWhereNothingIsTold) {
  const std::string text = as_json(busy_machine(), json::array({1}));
  EXPECT_EQ(text.find("{\"schema\":\"redline.monitor/1\""), 0U);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  const json whole = json::parse(text);
  EXPECT_EQ(whole["host"]["memory_used_bytes"], 4 * kGib);
  EXPECT_EQ(whole["host"]["cores"][0], json({{"core", 0}, {"busy", 0.75}}));
  EXPECT_EQ(whole["gpus"][0]["throttled"], json({"power cap"}));
  EXPECT_EQ(whole["gpus"][0]["pcie_sent_bytes_per_s"], 2'040'000'000);
  EXPECT_EQ(whole["gpus"][0]["xids"], json({13, 79}));
  EXPECT_EQ(whole["gpus"][1]["busy"], json());
  EXPECT_EQ(whole["gpus"][1]["throttled"], json());
  EXPECT_EQ(whole["gpus"][2]["lost"], true);
  EXPECT_EQ(whole["jobs"], json({1}));
}

}  // namespace
}  // namespace redline::monitor
