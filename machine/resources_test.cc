#include "machine/resources.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/fake_machine.h"

namespace redline::machine {
namespace {

namespace fs = std::filesystem;

class Resources : public ::testing::Test {
 protected:
  void SetUp() override {
    put("proc/meminfo", "MemTotal:       4096 kB\nMemFree: 1 kB\nMemAvailable:    2048 kB\n");
  }

  void put(const std::string& file, const std::string& text) const { machine_.put(file, text); }

  const redline::testing::FakeMachine machine_;
  const std::string& root_ = machine_.root();
};

constexpr int64_t kKib = 1024;

TEST_F(Resources, AreTheMachinesWhereNoGroupLimitsThem) {
  EXPECT_EQ(memory(root_).usable_bytes(), 4096 * kKib);
  EXPECT_EQ(memory(root_).usable_now_bytes(), 2048 * kKib);
  EXPECT_FALSE(cores(root_).quota);
  EXPECT_EQ(cores(root_).usable(), static_cast<int>(cores(root_).allowed.size()));
  EXPECT_FALSE(memory(root_ + "/none").usable_bytes());
}

TEST_F(Resources, TheTightestGroupOnTheWayUpCounts) {
  put("proc/self/cgroup", "0::/slice/job\n");
  put("sys/fs/cgroup/slice/job/cpu.max", "max 100000\n");
  put("sys/fs/cgroup/slice/cpu.max", "50000 100000\n");
  put("sys/fs/cgroup/slice/job/memory.max", "max\n");
  put("sys/fs/cgroup/slice/memory.max", "1048576\n");
  put("sys/fs/cgroup/slice/memory.current", "600000\n");
  put("sys/fs/cgroup/slice/memory.stat", "anon 5\ninactive_file 200000\n");
  EXPECT_EQ(cores(root_).quota, 0.5);
  EXPECT_EQ(cores(root_).usable(), 1);
  EXPECT_EQ(memory(root_).bytes, 4096 * kKib);
  EXPECT_EQ(memory(root_).usable_bytes(), 1024 * kKib);
  EXPECT_EQ(memory(root_).usable_now_bytes(), 1048576 - 400000);
}

TEST_F(Resources, GroupsOfTheFirstVersionCountToo) {
  put("proc/self/cgroup", "4:memory:/elsewhere\n3:cpu,cpuacct:/elsewhere\n0::/\n");
  put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000\n");
  put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "1048576\n");
  put("sys/fs/cgroup/memory/memory.usage_in_bytes", "1048000\n");
  put("sys/fs/cgroup/memory/memory.stat", "inactive_file 1\ntotal_inactive_file 1000\n");
  EXPECT_EQ(cores(root_).usable(), 1);
  EXPECT_EQ(memory(root_).limit_bytes, 1024 * kKib);
  EXPECT_EQ(memory(root_).left_bytes, 1048576 - 1047000);
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_FALSE(memory(root_).limit_bytes) << "what says no limit";
}

TEST_F(Resources, AQuotaBeyondTheCoresGrantsNone) {
  put("proc/self/cgroup", "0::/\n");
  put("sys/fs/cgroup/cpu.max", "100000000 100000\n");
  EXPECT_EQ(cores(root_).usable(), static_cast<int>(cores(root_).allowed.size()));
}

TEST_F(Resources, SharedMemoryIsThatOfItsFileSystem) {
  EXPECT_FALSE(shared_memory(root_));
  fs::create_directories(root_ + "/dev/shm");
  const auto shm = shared_memory(root_);
  ASSERT_TRUE(shm);
  EXPECT_GT(shm->bytes, 0);
  EXPECT_LE(shm->free_bytes + shm->used_bytes, shm->bytes);
}

}  // namespace
}  // namespace redline::machine
