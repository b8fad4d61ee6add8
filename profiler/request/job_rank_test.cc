#include "profiler/request/options.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace redline::profiler {
namespace {

class JobRankTest : public ::testing::Test {
 protected:
  JobRankTest() { clear(); }
  ~JobRankTest() override { clear(); }
  static void clear() {
    for (const char* name : {"RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                             "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "PMI_RANK", "PMI_SIZE"}) {
      unsetenv(name);
    }
  }
};

TEST_F(JobRankTest, IsWhatTheInnermostLauncherSays) {
  EXPECT_FALSE(job_rank());
  setenv("PMI_RANK", "4", 1);
  EXPECT_FALSE(job_rank());
  setenv("PMI_SIZE", "8", 1);
  EXPECT_EQ(job_rank()->rank, 4);
  setenv("SLURM_PROCID", "3", 1);
  EXPECT_EQ(job_rank()->rank, 4);  // SLURM_PROCID does not count in a batch script, outside srun
  setenv("SLURM_STEP_NUM_TASKS", "8", 1);
  EXPECT_EQ(job_rank()->rank, 3);
  EXPECT_EQ(job_rank()->world_size, 8);
  setenv("OMPI_COMM_WORLD_RANK", "2", 1);
  setenv("OMPI_COMM_WORLD_SIZE", "8", 1);
  EXPECT_EQ(job_rank()->rank, 2);
  setenv("RANK", "1", 1);  // torchrun below srun
  setenv("WORLD_SIZE", "16", 1);
  EXPECT_EQ(job_rank()->rank, 1);
  for (const char* no_rank : {"one", "-1", "16"}) {
    setenv("RANK", no_rank, 1);
    EXPECT_EQ(job_rank()->rank, 2) << no_rank;
  }
}

TEST_F(JobRankTest, DecidesWhoIsRecorded) {
  const auto request = parse_record_request(R"({"ranks": [0, 3]})");
  ASSERT_TRUE(request) << request.error();
  EXPECT_FALSE(is_excluded(*request));  // the rank is not known yet
  setenv("WORLD_SIZE", "4", 1);
  setenv("RANK", "3", 1);
  EXPECT_FALSE(is_excluded(*request));
  setenv("RANK", "1", 1);
  EXPECT_TRUE(is_excluded(*request));
  EXPECT_FALSE(is_excluded(*parse_record_request("{}")));
  EXPECT_FALSE(parse_record_request(R"({"ranks": [-1]})"));
  EXPECT_FALSE(parse_record_request(R"({"ranks": 0})"));
}

}  // namespace
}  // namespace redline::profiler
