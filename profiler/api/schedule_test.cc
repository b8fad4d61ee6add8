#include "profiler/schedule.h"

#include <gtest/gtest.h>

#include <string>

#include "profiler/c_api.h"

namespace redline {
namespace {

/// One letter for each step: - none, w warm-up, R record, S record and save.
std::string states(const Schedule& schedule, int64_t steps) {
  std::string letters;
  for (int64_t step = 0; step < steps; ++step) {
    letters += "-wRS"[static_cast<int>(schedule.action(step))];
  }
  return letters;
}

TEST(Schedule, RepeatsItsCycle) {
  EXPECT_EQ(states({.wait = 1, .warmup = 1, .active = 3}, 11), "-wRRS-wRRS-");
  EXPECT_EQ(states({.skip_first = 2, .wait = 1, .warmup = 0, .active = 1}, 8), "---S-S-S");
  EXPECT_EQ(states({.wait = 1, .warmup = 1, .active = 2, .repeat = 2}, 11), "-wRS-wRS---");
  EXPECT_EQ(states({}, 3), "SSS");
}

TEST(Schedule, DoesNothingWhereItMakesNoSense) {
  EXPECT_EQ(states({.active = 0}, 3), "---");
  EXPECT_EQ(states({.wait = -1}, 3), "---");
  EXPECT_EQ(Schedule{}.action(-1), Schedule::Action::kNone);
}

TEST(Schedule, IsTheSameInC) {
  const Schedule schedule = {.skip_first = 1, .wait = 2, .warmup = 1, .active = 2, .repeat = 2};
  for (int64_t step = 0; step < 20; ++step) {
    EXPECT_EQ(redline_schedule_action(1, 2, 1, 2, 2, step),
              static_cast<int>(schedule.action(step)));
  }
}

}  // namespace
}  // namespace redline
