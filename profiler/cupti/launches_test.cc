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

TEST(Launches, AnIdThatComesLaterFillsOnlyWhatLacks) {
  Launches launches;
  launches.add_external(1, false, 11);
  launches.add_call(1, 100, 7);
  launches.add_external(1, false, 12);
  launches.add_external(1, true, 5);
  launches.end_round();
  EXPECT_EQ(launches.find(1, 150)->external.op, 11U);
  EXPECT_EQ(launches.find(1, 150)->external.annotation, 5U);
  EXPECT_EQ(launches.find(1, 150)->thread, 7U);
  launches.add_external(1, true, 6);
  launches.end_round();
  EXPECT_EQ(launches.find(1, 150)->external.annotation, 5U);
  EXPECT_EQ(launches.ids_without_call(1).op, 0U);
  launches.add_external(2, false, 12);
  EXPECT_EQ(launches.ids_without_call(2).op, 12U);
  EXPECT_FALSE(launches.is_hidden(2));
  launches.add_hidden(2);
  EXPECT_TRUE(launches.is_hidden(2));
}

TEST(Launches, OfAnUnsortedListTheLatestBeginCounts) {
  Launches launches;
  for (const int64_t begin_ns : {300, 100, 200}) launches.add_call(1, begin_ns * 10'000'000, 7);
  EXPECT_EQ(launches.find(1, 2'500'000'000)->begin_ns, 2'000'000'000);
  EXPECT_EQ(launches.find(1, 2'000'000'000)->begin_ns, 2'000'000'000);
  EXPECT_EQ(launches.find(1, 999'999'999), nullptr);
  Launches one;
  one.add_call(1, 5'000'000, 7);
  EXPECT_NE(one.find(1, 4'000'000), nullptr);
  EXPECT_EQ(one.find(1, 3'999'999), nullptr);
}

TEST(Launches, TheNewerHalfOfHiddenCallsStays) {
  Launches launches;
  for (uint32_t i = 1; i <= Launches::kMost; ++i) launches.add_hidden(i);
  launches.end_round();
  EXPECT_TRUE(launches.is_hidden(1));
  launches.add_hidden(Launches::kMost + 1);
  launches.end_round();
  EXPECT_FALSE(launches.is_hidden(Launches::kMost / 2));
  EXPECT_TRUE(launches.is_hidden(Launches::kMost / 2 + 1));
}

TEST(Launches, OfCallsWithOneCorrelationTheOldestIsForgottenFirst) {
  Launches launches;
  for (const int64_t begin_ns : {0, 1'000'000'000}) launches.add_call(1, begin_ns, 7);
  for (uint32_t i = 2; i <= Launches::kMost; ++i) launches.add_call(i, i, 7);
  EXPECT_NE(launches.find(1, 500'000'000), nullptr);
  launches.forget_old();
  EXPECT_EQ(launches.find(1, 500'000'000), nullptr);
  EXPECT_NE(launches.find(1, 2'000'000'000), nullptr);
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
