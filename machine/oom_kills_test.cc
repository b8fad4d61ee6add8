#include "machine/oom_kills.h"

#include <gtest/gtest.h>

#include "tests/fake_machine.h"

namespace redline::machine {
namespace {

TEST(OomKills, AreWhatTheKernelCounts) {
  const testing::FakeMachine machine;
  EXPECT_EQ(oom_kills(machine.root()), 0);
  machine.put("proc/vmstat", "nr_free_pages 7\noom_kill_other 5\noom_kill 3\n");
  EXPECT_EQ(oom_kills(machine.root()), 3);
}

}  // namespace
}  // namespace redline::machine
