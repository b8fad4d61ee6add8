#include "profiler/cupti/occupancy.h"

#include <gtest/gtest.h>

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

TEST(Occupancy, NothingIsSaidOfAnUnknownDevice) {
  EXPECT_EQ(estimate_occupancy({}, {}).active_blocks, 0);
}

}  // namespace
}  // namespace redline::cupti
