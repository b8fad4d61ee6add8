#include "profiler/cupti/occupancy.h"

#include <gtest/gtest.h>

#include <string>

namespace redline::cupti {
namespace {

DeviceProperties v100() {
  return {.major = 7,
          .max_threads_per_sm = 2048,
          .warp_size = 32,
          .sms = 80,
          .registers_per_sm = 65536,
          .shared_memory_per_sm = 98304,
          .max_blocks_per_sm = 32};
}

struct Row {
  int64_t blocks, threads;
  int registers;
  int64_t shared;
  int percent;
  int64_t active;
  const char* limited_by;
};

TEST(Occupancy, IsKinetosWithTheLimitThatMakesIt) {
  const Row rows[] = {
      {576, 64, 126, 8448, 22, 8, "REGS"},  // exactly 22.5; in float, as in Kineto, it is less
      {672, 128, 50, 2064, 52, 9, "REGS"},
      {1, 128, 16, 0, 0, 16, "WARPS"},
      {100'000, 1024, 16, 0, 100, 2, "WARPS"},
      {100'000, 32, 16, 0, 50, 32, "BLOCKS"},
      {100'000, 256, 24, 49152, 25, 2, "SMEM"},
      {100'000, 100, 32, 0, 78, 16, "WARPS|REGS"},  // a block of 100 threads has 4 warps
  };
  for (const Row& row : rows) {
    const Occupancy found = estimate_occupancy(v100(), {.grid = {row.blocks, 1, 1},
                                                        .block = {row.threads, 1, 1},
                                                        .registers_per_thread = row.registers,
                                                        .shared_memory = row.shared});
    SCOPED_TRACE(row.threads);
    EXPECT_EQ(found.percent, row.percent);
    EXPECT_EQ(found.active_blocks, row.active);
    EXPECT_EQ(found.limited_by, row.limited_by);
  }
}

TEST(Occupancy, ThreadsBlocksAndSharedMemoryAreRoundedUp) {
  const auto active = [](DeviceProperties device, int64_t threads, int registers, int64_t shared) {
    const Occupancy found = estimate_occupancy(device, {.grid = {2, 3, 5},
                                                        .block = {threads, 1, 1},
                                                        .registers_per_thread = registers,
                                                        .shared_memory = shared});
    return std::to_string(found.active_blocks) + " " + found.limited_by;
  };
  DeviceProperties device = v100();
  EXPECT_EQ(active(device, 32, 32, 49'152), "2 SMEM");
  EXPECT_EQ(active(device, 32, 32, 49'153), "1 SMEM") << "256 bytes at a time";
  EXPECT_EQ(active(device, 32, 32, 48'896), "2 SMEM");
  EXPECT_EQ(active(device, 32, 32, 32'640), "3 SMEM");
  device.major = 8;  // 128 bytes at a time, and a kilobyte for the system
  EXPECT_EQ(active(device, 32, 32, 19'584), "5 SMEM");
  device.reserved_shared_memory = 1024;
  EXPECT_EQ(active(device, 32, 32, 32'640), "2 SMEM");
  EXPECT_EQ(active(device, 32, 32, 31'744), "3 SMEM");
  EXPECT_EQ(active(v100(), 33, 1, 0), "32 WARPS|BLOCKS");
  EXPECT_EQ(active(v100(), 65, 1, 0), "21 WARPS");
  EXPECT_EQ(active(v100(), 1024, 33, 0), "1 REGS") << "a warp's registers are 256 at a time";
  EXPECT_EQ(active(v100(), 96, 255, 0), "2 REGS") << "a quarter of them for each part of the SM";
  EXPECT_EQ(active(v100(), 32, 0, 0), "32 BLOCKS");
  device = v100();
  device.max_blocks_per_sm = 0;
  EXPECT_EQ(active(device, 32, 0, 0), "64 WARPS");
  device.max_blocks_per_sm = 1;
  EXPECT_EQ(active(device, 32, 0, 0), "1 BLOCKS");
}

TEST(Occupancy, BlocksAndWarpsAreThoseOfTheGrid) {
  const Occupancy found = estimate_occupancy(
      v100(),
      {.grid = {20, 2, 3}, .block = {8, 4, 3}, .registers_per_thread = 16, .shared_memory = 0});
  EXPECT_FLOAT_EQ(found.blocks_per_sm, 1.5F);
  EXPECT_FLOAT_EQ(found.warps_per_sm, 4.5F);
  EXPECT_EQ(found.percent, 7);
  EXPECT_EQ(
      estimate_occupancy(
          v100(),
          {.grid = {8, -1, 1}, .block = {32, 1, 1}, .registers_per_thread = 0, .shared_memory = 0})
          .blocks_per_sm,
      0);
}

TEST(Occupancy, NothingIsSaidOfAnUnknownDevice) {
  EXPECT_EQ(estimate_occupancy({}, {}).active_blocks, 0);
  const Launch launch{
      .grid = {1, 1, 1}, .block = {32, 1, 1}, .registers_per_thread = 0, .shared_memory = 0};
  for (int DeviceProperties::*field : {&DeviceProperties::sms, &DeviceProperties::warp_size,
                                       &DeviceProperties::max_threads_per_sm}) {
    DeviceProperties device = v100();
    device.*field = 0;
    EXPECT_EQ(estimate_occupancy(device, launch).active_blocks, 0);
    device.*field = -1;
    EXPECT_EQ(estimate_occupancy(device, launch).active_blocks, 0);
  }
  DeviceProperties smallest{.max_threads_per_sm = 1, .warp_size = 1, .sms = 1};
  EXPECT_EQ(
      estimate_occupancy(
          smallest,
          {.grid = {1, 1, 1}, .block = {1, 1, 1}, .registers_per_thread = 0, .shared_memory = 0})
          .percent,
      100);
  Launch none = launch;
  none.block[1] = 0;
  EXPECT_EQ(estimate_occupancy(v100(), none).active_blocks, 0);
}

}  // namespace
}  // namespace redline::cupti
