#include "profiler/cupti/cupti_clock.h"

#include <gtest/gtest.h>

namespace redline::cupti {
namespace {

TEST(CuptiClock, OursStaysAsItIs) {
  CuptiClock clock;
  EXPECT_EQ(clock.to_monotonic(1234567890123), 1234567890123);
  clock.add({1000, 1000});
  clock.add({500'000'000, 500'000'000});
  for (const uint64_t time : {1ULL, 999ULL, 250'000'007ULL, 900'000'001ULL}) {
    EXPECT_EQ(clock.to_monotonic(time), static_cast<int64_t>(time));
  }
}

TEST(CuptiClock, UnixTimeIsAnOffsetAlsoBeforeTheSecondReading) {
  constexpr uint64_t kUnix = 1'795'298'734'000'000'000;
  CuptiClock clock;
  clock.add({kUnix, 5'000});
  EXPECT_EQ(clock.to_monotonic(kUnix + 77), 5'077);
  EXPECT_EQ(clock.to_monotonic(kUnix - 77), 4'923);
}

TEST(CuptiClock, CyclesAreScaledAndDriftIsFollowed) {
  CuptiClock clock;  // runs at 2 cycles per ns, then 4
  clock.add({10'000'000, 1'000'000});
  clock.add({20'000'000, 6'000'000});
  clock.add({40'000'000, 11'000'000});
  EXPECT_EQ(clock.to_monotonic(12'000'000), 2'000'000);
  EXPECT_EQ(clock.to_monotonic(24'000'000), 7'000'000);
  EXPECT_EQ(clock.to_monotonic(44'000'000), 12'000'000);
  EXPECT_EQ(clock.to_monotonic(8'000'000), 0);
}

TEST(CuptiClock, AClockThatIsSetBackPutsNothingAside) {
  CuptiClock clock;
  clock.add({1'000'000, 1'000'000});
  clock.add({400'000, 2'000'000});
  clock.add({1'400'000, 3'000'000});
  EXPECT_EQ(clock.to_monotonic(900'000), 2'500'000);
}

}  // namespace
}  // namespace redline::cupti
