#include "machine/nvml/gpu_reading.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/nvml/xid_watch.h"
#include "tests/variables.h"

namespace redline::nvml {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class NvmlStub : public ::testing::Test, protected testing::Variables {
 protected:
  [[nodiscard]] nvmlDevice_t device() const {
    nvmlDevice_t handle = nullptr;
    EXPECT_EQ(REDLINE_NVML(library_, nvmlDeviceGetHandleByIndex_v2, 0, &handle), kSuccess);
    return handle;
  }

  const Library library_{REDLINE_STUB_NVML};
};

TEST_F(NvmlStub, TellsTheStateOfAGpu) {
  const GpuReading now = GpuReader(library_, device()).read(false);
  EXPECT_EQ(now.busy, 0.97);
  EXPECT_EQ(now.memory_busy, 0.41);
  EXPECT_EQ(now.memory_used_bytes, 703LL << 20);
  EXPECT_EQ(now.power_w, 512.3);
  EXPECT_EQ(now.power_limit_w, 700);
  EXPECT_EQ(now.sm_clock_mhz, 1980);
  EXPECT_EQ(now.memory_clock_mhz, 3201);
  EXPECT_EQ(now.temperature_c, 64);
  EXPECT_THAT(throttle_names(now.throttle_reasons.value_or(0)), ElementsAre("power cap", "heat"));
  EXPECT_EQ(now.ecc_corrected, 3U);
  EXPECT_EQ(now.ecc_uncorrected, 0U);
  EXPECT_FALSE(now.is_lost);
  EXPECT_EQ(now.failures, 0U);
}

TEST_F(NvmlStub, CountsTrafficInBytes) {
  GpuReader reader(library_, device());
  const GpuReading before = reader.read(true);
  const GpuReading now = reader.read(true);
  EXPECT_GT(*now.pcie_received_bytes, *before.pcie_received_bytes);
  EXPECT_EQ(*now.nvlink_sent_bytes % 1024, 0U);
  EXPECT_FALSE(now.pcie_received_rate);
}

TEST_F(NvmlStub, AnOlderGpuMeasuresItsTrafficWhereThereIsTimeForIt) {
  set("REDLINE_STUB_OLD", 1);
  GpuReader reader(library_, device());
  EXPECT_FALSE(reader.read(false).pcie_received_rate);
  const GpuTraffic traffic = traffic_between({}, reader.read(true));
  EXPECT_EQ(traffic.pcie_received, 3e9);
  EXPECT_EQ(traffic.pcie_sent, 1e9);
  EXPECT_FALSE(traffic.nvlink_sent);
}

TEST_F(NvmlStub, CountersThatRunOverUnnoticedAreLeftOutAndCounted) {
  set("REDLINE_STUB_NARROW", 1);
  const GpuReading now = GpuReader(library_, device()).read(false);
  EXPECT_FALSE(now.pcie_received_bytes || now.nvlink_sent_bytes);
  EXPECT_EQ(now.narrow_counters, 4U);
  EXPECT_EQ(now.failures, 0U);
}

TEST_F(NvmlStub, WhyClocksAreLowIsToldUnderItsNewNameAndItsOldOne) {
  for (const char* driver : {"NEW", "OLD"}) {
    set(driver, 1);
    const GpuReading now = GpuReader(library_, device()).read(false);
    EXPECT_EQ(now.throttle_reasons, kPowerCap | kSoftwareThermal) << driver;
    set(driver, 0);
  }
}

TEST_F(NvmlStub, WithoutPermissionNothingIsTold) {
  set("REDLINE_STUB_DENIED", 1);
  const GpuReading now = GpuReader(library_, device()).read(true);
  EXPECT_FALSE(now.busy || now.power_w || now.pcie_received_bytes || now.pcie_received_rate);
  EXPECT_FALSE(now.is_lost);
  EXPECT_EQ(now.failures, 0U);
}

TEST_F(NvmlStub, APartOfAGpuHasNoLoadOfItsOwn) {
  set("REDLINE_STUB_MIG", 2);
  const GpuReading now = GpuReader(library_, device()).read(false);
  EXPECT_FALSE(now.busy);
  EXPECT_TRUE(now.memory_used_bytes);
}

TEST_F(NvmlStub, WhatIsNoLongerToldIsCounted) {
  GpuReader reader(library_, device());
  static_cast<void>(reader.read(false));
  set("REDLINE_STUB_DENIED", 1);
  EXPECT_GE(reader.read(false).failures, 8U);
}

TEST_F(NvmlStub, AGpuThatFallsOffTheBusIsNotAskedFurther) {
  set("REDLINE_STUB_LOST_AFTER", 0);
  const GpuReading now = GpuReader(library_, device()).read(true);
  EXPECT_TRUE(now.is_lost);
  EXPECT_FALSE(now.memory_used_bytes || now.power_w || now.ecc_corrected);
}

TEST(Nvml, FunctionsThatALibraryLacksTellNothing) {
  const Library other("libm.so.6");
  ASSERT_TRUE(other.loaded());
  const GpuReading now = GpuReader(other, nullptr).read(true);
  EXPECT_FALSE(now.busy || now.is_lost || now.memory_bytes || now.pcie_sent_rate);
  XidWatch watch(other);
  EXPECT_FALSE(watch.add(nullptr));
  EXPECT_THAT(watch.take(), IsEmpty());
}

TEST(Nvml, TrafficIsOfTheTimeBetween) {
  const GpuReading before = {
      .time_ns = 1'000'000'000, .pcie_sent_bytes = 500, .nvlink_received_bytes = 9};
  const GpuReading now = {
      .time_ns = 1'500'000'000, .pcie_sent_bytes = 1500, .nvlink_received_bytes = 8};
  const GpuTraffic traffic = traffic_between(before, now);
  EXPECT_EQ(traffic.pcie_sent, 2000);
  EXPECT_FALSE(traffic.nvlink_received) << "counted from the start again";
  EXPECT_FALSE(traffic.pcie_received);
}

TEST_F(NvmlStub, TellsOfAnXidOnce) {
  XidWatch watch(library_);
  ASSERT_TRUE(watch.add(device()));
  EXPECT_THAT(watch.take(), IsEmpty());
  set("REDLINE_STUB_XID", 79);
  const auto xids = watch.take();
  ASSERT_EQ(xids.size(), 1U);
  EXPECT_EQ(xids[0].number, 79U);
  EXPECT_EQ(xids[0].device, device());
  EXPECT_THAT(watch.take(), IsEmpty());
}

}  // namespace
}  // namespace redline::nvml
