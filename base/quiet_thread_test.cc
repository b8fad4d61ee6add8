#include "base/quiet_thread.h"

#include <gtest/gtest.h>

#include <new>

namespace redline {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(PausingThread, GoesOnAfterEachPauseUntilItIsStopped) {
  PausingThread thread;
  std::atomic<int> looks = 0;
  ASSERT_TRUE(thread.start([&] {
    while (thread.pause(milliseconds(1))) ++looks;
  }));
  EXPECT_TRUE(thread.start([&] { looks = -1'000'000; })) << "it runs already";
  while (looks < 3) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_TRUE(thread.stop());
  EXPECT_FALSE(thread.stop());
}

TEST(PausingThread, StopsInTheMiddleOfAPauseAndCanStartAgain) {
  PausingThread thread;
  for (int run = 0; run < 2; ++run) {
    std::atomic<bool> pauses = false, goes_on = true;
    ASSERT_TRUE(thread.start([&] {
      EXPECT_FALSE(thread.stopping());
      pauses = true;
      goes_on = thread.pause(hours(1));
      EXPECT_TRUE(thread.stopping());
    }));
    while (!pauses) std::this_thread::sleep_for(milliseconds(1));
    EXPECT_TRUE(thread.stop());
    EXPECT_FALSE(goes_on);
  }
}

TEST(PausingThread, IsStoppedByItsDestructor) {
  bool has_ended = false;
  {
    PausingThread thread;
    ASSERT_TRUE(thread.start([&] { has_ended = !thread.pause(hours(1)); }));
  }
  EXPECT_TRUE(has_ended);
}

TEST(PausingThread, WithoutMemoryItEndsAndTheProgramGoesOn) {
  PausingThread thread;
  ASSERT_TRUE(thread.start([] { throw std::bad_alloc(); }));
  EXPECT_TRUE(thread.stop());
}

}  // namespace
}  // namespace redline
