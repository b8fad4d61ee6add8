#include "machine/thread_times.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/fake_machine.h"

namespace redline::machine {
namespace {

TEST(ThreadTimes, AreTheFirstTwoColumnsOfSchedstat) {
  const testing::FakeMachine machine;
  const auto times_of = [&](const char* text) {
    machine.put("proc/12/task/34/schedstat", text);
    return thread_times("12", 34, machine.root());
  };
  const auto times = times_of("5000 700 9\n");
  ASSERT_TRUE(times);
  EXPECT_EQ(times->run_ns, 5000);
  EXPECT_EQ(times->wait_ns, 700);
  EXPECT_FALSE(times_of("5000\n"));
  EXPECT_FALSE(times_of(""));
  EXPECT_FALSE(thread_times("12", 35, machine.root()));
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
