#include "profiler/request/periodic_windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace redline::launch {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(PeriodicWindows, AWindowThatTakesLongPutsTheNextOneOff) {
  EXPECT_EQ(pause_after(seconds(1), minutes(10)), minutes(10));
  EXPECT_EQ(pause_after(seconds(12), minutes(10)), minutes(100));
}

TEST(PeriodicWindows, OfEachHourBeforeTheLastOneWindowStays) {
  std::vector<nanoseconds> begins;
  for (int i = 1; i <= 18; ++i) begins.emplace_back(minutes(10 * i));  // 0:10 to 3:00
  EXPECT_THAT(superfluous_windows(begins, minutes(60)), IsEmpty());
  EXPECT_THAT(superfluous_windows(begins, minutes(90)), ElementsAre(1));  // 0:20; 0:30 is recent
  // 0:20 to 0:50, and 1:10 to 1:50.
  EXPECT_THAT(superfluous_windows(begins, hours(3)), ElementsAre(1, 2, 3, 4, 6, 7, 8, 9, 10));
  EXPECT_THAT(superfluous_windows({}, hours(3)), IsEmpty());
}

}  // namespace
}  // namespace redline::launch
