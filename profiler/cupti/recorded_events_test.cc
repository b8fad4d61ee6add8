#include "profiler/cupti/recorded_events.h"

#include <gtest/gtest.h>

namespace redline::cupti {
namespace {

CudaEventRecord recorded(uint32_t correlation, uint32_t event = 55, uint32_t stream = 20) {
  return {Kind::kCudaEvent, correlation, 1, stream, event, 0};
}

TEST(RecordedEvents, AWaitMeansTheLastRecordBeforeIt) {
  RecordedEvents events;
  for (const uint32_t correlation : {30u, 10u, 20u}) events.add(recorded(correlation));
  EXPECT_EQ(events.find(1, 55, 10), nullptr);
  EXPECT_EQ(events.find(1, 55, 11)->correlation, 10u);
  EXPECT_EQ(events.find(1, 55, 20)->correlation, 10u);
  EXPECT_EQ(events.find(1, 55, 99)->correlation, 30u);
  EXPECT_EQ(events.find(2, 55, 99), nullptr);
  EXPECT_EQ(events.find(1, 56, 99), nullptr);
}

TEST(RecordedEvents, NumbersOfCallsStartAnew) {
  RecordedEvents events;
  for (const uint32_t correlation : {0xFFFFFFF0u, 3u}) events.add(recorded(correlation));
  EXPECT_EQ(events.find(1, 55, 1)->correlation, 0xFFFFFFF0u);
  EXPECT_EQ(events.find(1, 55, 9)->correlation, 3u);
}

TEST(RecordedEvents, FewStayForEver) {
  RecordedEvents events;
  for (uint32_t event = 0; event < 10; ++event) events.add(recorded(event, event));
  for (int round = 0; round < 10; ++round) events.end_round();
  for (uint32_t event = 0; event < 10; ++event) EXPECT_NE(events.find(1, event, 99), nullptr);
}

TEST(RecordedEvents, OfTooManyTheLaterHalfStays) {
  RecordedEvents events;
  constexpr uint32_t kCount = RecordedEvents::kMostEvents + 2;
  for (uint32_t event = 0; event < kCount; ++event) events.add(recorded(event + 1, event));
  events.end_round();
  EXPECT_EQ(events.size(), kCount / 2);
  EXPECT_EQ(events.find(1, kCount / 2 - 1, kCount + 1), nullptr);
  EXPECT_NE(events.find(1, kCount / 2, kCount + 1), nullptr);
}

TEST(RecordedEvents, AreBoundedAndTheLatestStay) {
  RecordedEvents events;
  uint32_t correlation = 0;
  for (uint32_t event = 0; event < 3 * RecordedEvents::kMostEvents; ++event) {
    events.add(recorded(++correlation, event));
    if (event % 1000 == 0) events.end_round();
  }
  events.end_round();
  EXPECT_LE(events.size(), RecordedEvents::kMostEvents);
  EXPECT_NE(events.find(1, 3 * RecordedEvents::kMostEvents - 1, correlation + 1), nullptr);
  const uint32_t first = correlation + 1;
  for (int i = 0; i < 1000; ++i) events.add(recorded(++correlation));
  events.end_round();
  EXPECT_EQ(events.find(1, 55, first + 1), nullptr);
  EXPECT_EQ(events.find(1, 55, correlation)->correlation, correlation - 1);
}

}  // namespace
}  // namespace redline::cupti
