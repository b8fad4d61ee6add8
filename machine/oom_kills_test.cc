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

TEST(OomKills, OfHoursAgoAreNotOfNow) {
  constexpr int64_t kSecondNs = 1'000'000'000;
  RecentOomKills recent;
  EXPECT_FALSE(recent.have_risen_to(4));
  for (int64_t second = 0; second <= 30; ++second) {
    recent.add(second * kSecondNs, second < 15 ? 4 : 5);
    EXPECT_EQ(recent.have_risen_to(5), second < 25) << second;
    EXPECT_TRUE(recent.have_risen_to(6)) << second;
  }
  recent.add(3600 * kSecondNs, 7);  // nobody looked meanwhile
  EXPECT_TRUE(recent.have_risen_to(7));
  recent.add(3610 * kSecondNs, 7);
  EXPECT_FALSE(recent.have_risen_to(7));
}

}  // namespace
}  // namespace redline::machine
