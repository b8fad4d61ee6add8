#include "profiler/log/open_slices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace redline::profiler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

OpenSlice::Fields beginning_at(int64_t begin_ns) {
  return {.begin_ns = begin_ns, .number = static_cast<uint64_t>(begin_ns)};
}

std::vector<int64_t> seen(const OpenSlices& slices, int64_t since_ns = 0) {
  std::vector<int64_t> begins;
  slices.visit(since_ns, [&](const Record& record) { begins.push_back(record.begin_ns); });
  return begins;
}

TEST(OpenSlices, AreSeenUntilTheyEndInWhateverOrder) {
  OpenSlices slices;
  OpenSlice* outer = slices.begin(beginning_at(1));
  OpenSlice* middle = slices.begin(beginning_at(2));
  OpenSlice* inner = slices.begin(beginning_at(3));
  EXPECT_THAT(seen(slices), ElementsAre(1, 2, 3));
  EXPECT_THAT(seen(slices, 2), ElementsAre(2, 3));
  middle->end(false);
  EXPECT_THAT(seen(slices), ElementsAre(1, 3));
  inner->end(false);
  OpenSlice* next = slices.begin(beginning_at(4));
  EXPECT_THAT(seen(slices), ElementsAre(1, 4));
  next->end(false);
  outer->end(false);
  EXPECT_THAT(seen(slices), IsEmpty());
}

TEST(OpenSlices, WhatStaysToBeSeenLeavesItsPlaceToTheNext) {
  OpenSlices slices;
  slices.begin(beginning_at(1))->end(true);
  EXPECT_THAT(seen(slices), ElementsAre(1));
  OpenSlice* next = slices.begin(beginning_at(2));
  EXPECT_THAT(seen(slices), ElementsAre(2));
  next->end(false);
}

TEST(OpenSlices, TooManyAreRefusedUntilOneEnds) {
  OpenSlices slices;
  std::vector<OpenSlice*> open;
  for (int64_t begin_ns = 1; OpenSlice* slice = slices.begin(beginning_at(begin_ns)); ++begin_ns) {
    open.push_back(slice);
    ASSERT_LT(open.size(), 10'000u);
  }
  EXPECT_EQ(seen(slices).size(), open.size());
  open.back()->end(false);
  EXPECT_EQ(slices.begin(beginning_at(1)), open.back());
}

TEST(OpenSlices, AReaderSeesNoneThatIsHalfWritten) {
  constexpr int64_t kSlices = 200'000;
  OpenSlices slices;
  std::atomic<bool> running = true;
  std::jthread owner([&] {
    for (int64_t begin_ns = 1; begin_ns <= kSlices; ++begin_ns) {
      slices.begin(beginning_at(begin_ns))->end(false);
    }
    running = false;
  });
  while (running) {
    slices.visit(0, [](const Record& record) {
      ASSERT_EQ(record.of.op.function_id, static_cast<uint64_t>(record.begin_ns));
    });
  }
}

TEST(UnfinishedSlices, AreThoseThatNobodyRecords) {
  OpenSlices slices;
  for (int64_t begin_ns : {1, 2, 3}) static_cast<void>(slices.begin(beginning_at(begin_ns)));
  UnfinishedSlices unfinished;
  unfinished.add(slices, 2, 4711);
  unfinished.was_recorded(record_of(beginning_at(3)));
  ASSERT_EQ(unfinished.slices().size(), 1u);
  EXPECT_EQ(unfinished.slices()[0].record.begin_ns, 2);
  EXPECT_EQ(unfinished.slices()[0].tid, 4711u);
}

}  // namespace
}  // namespace redline::profiler
