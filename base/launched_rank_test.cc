#include "base/launched_rank.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace redline {
namespace {

class LaunchedRank : public ::testing::Test {
 protected:
  LaunchedRank() { clear(); }
  ~LaunchedRank() override { clear(); }
  static void clear() {
    for (const auto& [rank, size] : kRankVariables) {
      unsetenv(rank);
      unsetenv(size);
    }
  }
};

TEST_F(LaunchedRank, IsWhatTheInnermostLauncherSays) {
  EXPECT_FALSE(launched_rank());
  setenv("PMI_RANK", "4", 1);
  EXPECT_FALSE(launched_rank());
  setenv("PMI_SIZE", "8", 1);
  EXPECT_EQ(launched_rank()->rank, 4);
  setenv("SLURM_PROCID", "3", 1);
  EXPECT_EQ(launched_rank()->rank,
            4);  // SLURM_PROCID does not count in a batch script, outside srun
  setenv("SLURM_STEP_NUM_TASKS", "8", 1);
  EXPECT_EQ(launched_rank()->rank, 3);
  EXPECT_EQ(launched_rank()->world_size, 8);
  setenv("OMPI_COMM_WORLD_RANK", "2", 1);
  setenv("OMPI_COMM_WORLD_SIZE", "8", 1);
  EXPECT_EQ(launched_rank()->rank, 2);
  setenv("RANK", "1", 1);  // torchrun below srun
  setenv("WORLD_SIZE", "16", 1);
  EXPECT_EQ(launched_rank()->rank, 1);
  for (const char* no_rank : {"one", "-1", "16"}) {
    setenv("RANK", no_rank, 1);
    EXPECT_EQ(launched_rank()->rank, 2) << no_rank;
  }
}

}  // namespace
}  // namespace redline
