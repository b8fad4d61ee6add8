#include "machine/thread_wait.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace redline::machine {
namespace {

TEST(ThreadWait, SaysWhatTheKernelKnows) {
  const std::string root = ::testing::TempDir() + "thread_wait." + std::to_string(getpid());
  const std::string folder = root + "/proc/7/task/8/";
  std::filesystem::create_directories(folder);
  const auto said = [&](char state, const std::string& call) {
    std::ofstream(folder + "stat") << "8 (a) R b) " << state << " 1 2 3\n";
    std::ofstream(folder + "syscall") << call << " 0x1 0x2\n";
    return std::string(thread_wait("7", 8, root));
  };
  EXPECT_EQ(said('S', std::to_string(SYS_futex)), "lock");
  EXPECT_EQ(said('S', std::to_string(SYS_clock_nanosleep)), "sleeps");
  EXPECT_EQ(said('S', std::to_string(SYS_read)), "io");
  EXPECT_EQ(said('S', std::to_string(SYS_getpid)), "");
  EXPECT_EQ(said('S', "running"), "runs");
  EXPECT_EQ(said('D', ""), "io");
  EXPECT_EQ(said('R', ""), "runs");
  EXPECT_EQ(said('T', std::to_string(SYS_futex)), "stopped");
  EXPECT_EQ(said('Z', ""), "gone");
  std::filesystem::remove_all(root);
  EXPECT_EQ(thread_wait("7", 8, root), "gone");
  EXPECT_EQ(thread_wait("self", gettid()), "runs");
}

}  // namespace
}  // namespace redline::machine
