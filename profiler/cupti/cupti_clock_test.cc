#include "profiler/cupti/cupti_clock.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/clock.h"
#include "tests/stubs/stubs.h"

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
  EXPECT_EQ(clock.to_monotonic(400'000), 2'000'000);
}

TEST(CuptiClock, OnlyTheNewestReadingsAreKept) {
  CuptiClock clock;  // each microsecond of ours is one more of CUPTI's nanoseconds longer
  for (uint64_t i = 0; i <= 256; ++i)
    clock.add({1'000'000 + 1000 * i + i * i, static_cast<int64_t>(1000 * i)});
  EXPECT_EQ(clock.to_monotonic(1'000'000 + 1001), 1000);
  EXPECT_EQ(clock.to_monotonic(1'000'000 + 2004), 2000);
  EXPECT_EQ(clock.to_monotonic(1'000'000), 2) << "by the second reading, because the first is gone";
  EXPECT_EQ(clock.to_monotonic(1'000'000 + 1000 * 256 + 256 * 256), 256'000);
}

TEST(CuptiClock, ATimeThatStandsStillIsAnOffset) {
  CuptiClock clock;
  clock.add({500, 1'000});
  clock.add({500, 2'000});
  EXPECT_EQ(clock.to_monotonic(507), 1'007);
  CuptiClock other;
  other.add({500, 1'000});
  other.add({700, 1'000});
  EXPECT_EQ(other.to_monotonic(507), 1'007);
  EXPECT_EQ(other.to_monotonic(500), 1'000);
  CuptiClock fast;
  fast.add({0, 1'000});
  fast.add({10, 1'001});
  EXPECT_EQ(fast.to_monotonic(4), 1'000);
  EXPECT_EQ(fast.to_monotonic(5), 1'001);
  CuptiClock slow;
  slow.add({0, 1'000});
  slow.add({1, 1'010});
  EXPECT_EQ(slow.to_monotonic(2), 1'020);
}

uint64_t same_clock() { return static_cast<uint64_t>(monotonic_ns()); }
uint64_t other_clock() { return 77; }

TEST(CuptiClock, BothClocksAreReadAtOnce) {
  stub::reset_cupti();
  for (uint64_t (*clock)() : {same_clock, other_clock}) {
    stub::set_cupti_clock(clock);
    const auto library = *find_library();
    ASSERT_TRUE(library);
    const int64_t before_ns = monotonic_ns();
    const ClockReading reading = read_clocks(*library);
    EXPECT_GE(reading.monotonic_ns, before_ns);
    EXPECT_LE(reading.monotonic_ns, monotonic_ns());
    const auto expected = clock == same_clock ? reading.monotonic_ns : int64_t{77};
    EXPECT_EQ(static_cast<int64_t>(reading.cupti), expected);
  }
  stub::reset_cupti();
}

struct Call {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};
std::vector<Call>& calls() {
  static std::vector<Call> made;
  return made;
}
/// Gives the number of the call. Each takes longer than the one before.
uint64_t slower_each_time() {
  const int64_t begin_ns = monotonic_ns();
  const auto number = static_cast<int64_t>(calls().size()) + 1;
  while (monotonic_ns() < begin_ns + 200'000 * number) {
  }
  calls().push_back({begin_ns, monotonic_ns()});
  return static_cast<uint64_t>(number);
}

TEST(CuptiClock, OfSeveralReadingsTheQuickestCounts) {
  stub::reset_cupti();
  stub::set_cupti_clock(slower_each_time);
  const auto library = *find_library();
  ASSERT_TRUE(library);
  ClockReading reading;
  int64_t before_ns = 0;
  // Other work on the machine may hold up the first call for longer than the others take.
  for (int i = 0; i < 50 && reading.cupti != 1; ++i) {
    calls().clear();
    before_ns = monotonic_ns();
    reading = read_clocks(*library);
  }
  stub::reset_cupti();
  EXPECT_EQ(reading.cupti, 1u);
  ASSERT_GE(calls().size(), 2u);
  EXPECT_GE(reading.monotonic_ns, before_ns);
  EXPECT_LE(reading.monotonic_ns, calls()[1].begin_ns);
}

}  // namespace
}  // namespace redline::cupti
