#include "machine/oom_kills.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace redline::machine {
namespace {

TEST(OomKills, AreWhatTheKernelCounts) {
  const std::filesystem::path root =
      ::testing::TempDir() + "oom_kills_test." + std::to_string(getpid());
  EXPECT_EQ(oom_kills(root), 0);
  std::filesystem::create_directories(root / "proc");
  std::ofstream(root / "proc/vmstat") << "nr_free_pages 7\noom_kill_other 5\noom_kill 3\n";
  EXPECT_EQ(oom_kills(root), 3);
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace redline::machine
