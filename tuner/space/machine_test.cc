#include "tuner/space/machine.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace redline::tuner {
namespace {

TEST(Machine, CoresThatItsCgroupDoesNotGrantAreNotThere) {
  namespace fs = std::filesystem;
  std::string root = ::testing::TempDir() + "machine_test.XXXXXX";
  ASSERT_NE(mkdtemp(root.data()), nullptr);
  fs::create_directories(root + "/proc/self");
  fs::create_directories(root + "/sys/fs/cgroup/job");
  std::ofstream(root + "/proc/self/cgroup") << "0::/job\n";
  std::ofstream(root + "/sys/fs/cgroup/job/cpu.max") << "50000 100000\n";
  EXPECT_EQ(detect_machine(root).cores, 1);
  EXPECT_FALSE(detect_machine(root).gpu);
  fs::remove_all(root);
}

}  // namespace
}  // namespace redline::tuner
