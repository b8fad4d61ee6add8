#include "machine/thread_times.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace redline::machine {
namespace {

TEST(ThreadTimes, AreTheFirstTwoColumnsOfSchedstat) {
  const std::string root = ::testing::TempDir() + "thread_times." + std::to_string(getpid());
  const std::string folder = root + "/proc/12/task/34";
  std::filesystem::create_directories(folder);
  const auto times_of = [&](const char* text) {
    std::ofstream(folder + "/schedstat") << text;
    return thread_times("12", 34, root);
  };
  const auto times = times_of("5000 700 9\n");
  ASSERT_TRUE(times);
  EXPECT_EQ(times->run_ns, 5000);
  EXPECT_EQ(times->wait_ns, 700);
  EXPECT_FALSE(times_of("5000\n"));
  EXPECT_FALSE(times_of(""));
  EXPECT_FALSE(thread_times("12", 35, root));
  std::filesystem::remove_all(root);
}

TEST(ThreadTimes, GrowWhileAThreadRuns) {
  const auto before = thread_times("self", gettid());
  if (!before) GTEST_SKIP() << "this kernel keeps no schedstat";
  // The kernel brings them up to date now and then, so the thread computes until they grow.
  while (thread_times("self", gettid())->run_ns == before->run_ns) {
  }
}

}  // namespace
}  // namespace redline::machine
