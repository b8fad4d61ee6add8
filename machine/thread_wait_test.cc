#include "machine/thread_wait.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/fake_machine.h"

namespace redline::machine {
namespace {

TEST(ThreadWait, SaysWhatTheKernelKnows) {
  const testing::FakeMachine machine;
  const auto said = [&](char state, const std::string& call) {
    machine.put("proc/7/task/8/stat", std::string("8 (a) R b) ") + state + " 1 2 3\n");
    machine.put("proc/7/task/8/syscall", call + " 0x1 0x2\n");
    return std::string(thread_wait("7", 8, machine.root()));
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
  machine.remove("proc");
  EXPECT_EQ(thread_wait("7", 8, machine.root()), "gone");
  EXPECT_EQ(thread_wait("self", gettid()), "runs");
}

}  // namespace
}  // namespace redline::machine
