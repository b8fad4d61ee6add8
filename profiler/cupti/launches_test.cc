#include "profiler/cupti/launches.h"

#include <gtest/gtest.h>

namespace redline::cupti {
namespace {

TEST(Launches, IdsFindTheirCallInAnyOrderAndAcrossRounds) {
  Launches launches;
  launches.add_external(1, false, 11);
  launches.add_call(1, 100, 7);
  launches.add_call(2, 200, 7);
  launches.add_external(2, false, 12);
  launches.add_external(3, false, 13);
  launches.add_external(3, true, 5);
  launches.end_round();
  launches.add_call(3, 300, 7);
  launches.end_round();
  EXPECT_EQ(launches.find(1, 150)->external.op, 11u);
  EXPECT_EQ(launches.find(2, 250)->external.op, 12u);
  EXPECT_EQ(launches.find(3, 350)->external.op, 13u);
  EXPECT_EQ(launches.find(3, 350)->external.annotation, 5u);
  EXPECT_EQ(launches.find(4, 350), nullptr);
}

TEST(Launches, TheLastCallBeforeTheWorkCounts) {
  Launches launches;
  for (const int64_t begin_ns : {5'000'000, 1'000'000'000}) launches.add_call(1, begin_ns, 7);
  EXPECT_EQ(launches.find(1, 900'000'000)->begin_ns, 5'000'000);
  EXPECT_EQ(launches.find(1, 1'000'000'001)->begin_ns, 1'000'000'000);
  EXPECT_EQ(launches.find(1, 4'500'000)->begin_ns, 5'000'000);  // within the clocks' error
  EXPECT_EQ(launches.find(1, 1'000'000), nullptr);
}

TEST(Launches, MemoryIsBounded) {
  Launches launches;
  for (uint32_t i = 1; i <= Launches::kMost + 10; ++i) {
    launches.add_call(i, i, 7);
    launches.add_external(2'000'000 + i, false, 1);
  }
  // Nothing is forgotten yet, because the work of these calls may be in the same round.
  EXPECT_NE(launches.find(1, 2), nullptr);
  launches.forget_old();
  EXPECT_EQ(launches.size(), Launches::kMost);
  EXPECT_EQ(launches.find(10, 11), nullptr);
  EXPECT_NE(launches.find(11, 12), nullptr);
  launches.end_round();
  launches.add_call(2'000'000 + Launches::kMost, 1, 7);
  EXPECT_EQ(launches.find(2'000'000 + Launches::kMost, 1)->external.op, 1u);
}

}  // namespace
}  // namespace redline::cupti
