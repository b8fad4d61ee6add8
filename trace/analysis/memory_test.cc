#include "trace/analysis/memory.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parsed_trace.h"
#include "trace/analysis/analysis.h"
#include "trace/read/reader.h"

namespace redline::trace {
namespace {

using namespace redline::testing;

struct Memory {
  int64_t time_us = 0;
  int64_t bytes = 0;
  int64_t address = 0;
  std::string more = {};
};

std::string instant(const Memory& memory) {
  return fmt::format(
      R"({{"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": {}, "args": )"
      R"({{"Device Type": 1, "Device Id": 0, "Addr": {}, "Bytes": {}{}}}}})",
      memory.time_us, memory.address, memory.bytes, memory.more);
}

TEST(Memory, PeakIsHeldByWhoAllocatedIt) {
  const Analysis analysis = analysis_of(TraceText()
                                            .cpu_op("aten::conv2d", 0, 100'000)
                                            .cpu_op("aten::empty", 10'000, 50'000)
                                            .cpu_op("aten::relu", 200'000, 300'000)
                                            .event(instant({20, 100, 0xA}))  // empty
                                            .event(instant({60, 30, 0xB}))   // conv2d
                                            .event(instant({70, -30, 0xB}))
                                            .event(instant({80, 40, 0xE}))
                                            .event(instant({250, 50, 0xC}))  // relu, at the peak
                                            .event(instant({260, -100, 0xA}))
                                            .event(instant({400, 20, 0xD})));
  ASSERT_EQ(analysis.memory.size(), 1U);
  const MemoryPeak& peak = analysis.memory[0];
  EXPECT_EQ(peak.allocated_bytes, 190);
  EXPECT_EQ(peak.peak_time_ns, 250'000);
  ASSERT_EQ(peak.holders.size(), 3U);
  EXPECT_EQ(peak.holders[0].name, "aten::empty");
  EXPECT_EQ(peak.holders[0].bytes, 100);
  EXPECT_EQ(peak.holders[1].name, "aten::relu");
  EXPECT_EQ(peak.holders[2].name, "aten::conv2d");
  EXPECT_EQ(peak.holders[2].bytes, 40);
  EXPECT_EQ(peak.holders[2].count, 1);
}

TEST(Memory, OfOneAmdGpuHasTheNumberOfItsWork) {
  const auto device_of = [](const char* launch, const char* second_gpu) {
    TraceText text = TraceText().event(instant({20, 100, 0xA})).runtime(launch, 0, 1'000, 1);
    text.kernel("k", 2'000, 3'000, {.pid = "2", .tid = "7", .correlation = 1});
    text.kernel("k", 4'000, 5'000, {.pid = second_gpu, .tid = "7"});
    return analysis_of(text).memory.at(0).device;
  };
  EXPECT_EQ(device_of("hipLaunchKernel", "2"), 2);
  EXPECT_EQ(device_of("hipLaunchKernel", "3"), 0) << "it may be either";
  EXPECT_EQ(device_of("cudaLaunchKernel", "2"), 0);
}

int64_t sum_of_holders(const MemoryPeak& peak) {
  int64_t bytes = peak.other_holders.bytes + peak.earlier_bytes + peak.unknown_bytes;
  for (const MemoryHolder& holder : peak.holders) bytes += holder.bytes;
  return bytes;
}

TEST(Memory, WhatIsOlderThanTheRecordingIsHeldToo) {
  const auto total = [](int64_t bytes) { return fmt::format(R"(, "Total Allocated": {})", bytes); };
  TraceText text;
  int64_t allocated = 1000;
  for (int i = 0; i < 12; ++i) {
    text.cpu_op(fmt::format("op{}", i), i * 10'000, i * 10'000 + 9'000);
    allocated += 20 - i;
    text.event(instant({i * 10 + 1, 20 - i, 0xA0 + i, total(allocated)}));
  }
  text.event(instant({200, -300, 0xF0, total(allocated - 300)}))  // older, released
      .event(instant({210, 400, 0xF1, total(allocated + 100)}))   // the peak
      .event(instant({220, -200, 0xF2, total(allocated - 100)}));
  const Analysis analysis = analysis_of(text);
  ASSERT_EQ(analysis.memory.size(), 1U);
  const MemoryPeak& peak = analysis.memory[0];
  EXPECT_EQ(peak.allocated_bytes, 1000 + 174 + 100);
  EXPECT_EQ(peak.earlier_bytes, 700) << "of 1000, 300 were released before the peak";
  EXPECT_EQ(peak.unknown_bytes, 0);
  EXPECT_EQ(peak.holders.size(), 10U);
  EXPECT_EQ(peak.other_holders.count, 3);
  EXPECT_EQ(peak.other_holders.bytes, 9 + 10 + 11);
  EXPECT_EQ(sum_of_holders(peak), peak.allocated_bytes);
}

TEST(Memory, WithoutAddressesOrTotalsNothingIsInvented) {
  const Analysis nameless =
      analysis_of(TraceText()
                      .cpu_op("a", 0, 100'000)
                      .event(instant({20, 100, 0, R"(, "Total Allocated": 900)"})));
  ASSERT_EQ(nameless.memory.size(), 1U);
  EXPECT_EQ(nameless.memory[0].earlier_bytes, 0);
  EXPECT_EQ(nameless.memory[0].unknown_bytes, 900);
  const Analysis old = analysis_of(TraceText()
                                       .cpu_op("a", 0, 100'000)
                                       .event(instant({20, 100, 0xA}))
                                       .event(instant({30, -70, 0xB}))
                                       .event(instant({40, 90, 0xC})));
  ASSERT_EQ(old.memory.size(), 1U);
  EXPECT_EQ(old.memory[0].allocated_bytes, 120);
  EXPECT_EQ(old.memory[0].earlier_bytes, -70);
  EXPECT_EQ(old.memory[0].reserved_bytes, std::nullopt);
  EXPECT_EQ(sum_of_holders(old.memory[0]), 120);
}

TEST(Memory, OfAPartOfTheRecordingThePeakIsItsOwn) {
  const Analysis analysis = analysis_of(TraceText()
                                            .cpu_op("aten::conv2d", 0, 100'000)
                                            .cpu_op("aten::relu", 200'000, 300'000)
                                            .event(instant({20, 100, 0xA}))
                                            .event(instant({60, 500, 0xB}))
                                            .event(instant({70, -500, 0xB}))
                                            .event(instant({250, 50, 0xC}))
                                            .event(instant({260, -50, 0xC})));
  EXPECT_EQ(analysis.memory.at(0).allocated_bytes, 600);
  const auto peak_within = [&](int64_t begin_ns, int64_t end_ns) {
    return memory_peaks_within(*analysis.trace, analysis.host_tree, {begin_ns, end_ns}).at(0);
  };
  const MemoryPeak later = peak_within(200'000, 300'000);
  EXPECT_EQ(later.allocated_bytes, 150);
  EXPECT_EQ(later.peak_time_ns, 250'000);
  ASSERT_EQ(later.holders.size(), 2U);
  EXPECT_EQ(later.holders[0].name, "aten::conv2d") << "what is older lives on";
  EXPECT_EQ(later.holders[1].name, "aten::relu");
  const MemoryPeak quiet = peak_within(100'000, 200'000);
  EXPECT_EQ(quiet.allocated_bytes, 100) << "without any event of its own";
  EXPECT_EQ(quiet.peak_time_ns, 100'000);
}

TEST(Memory, TimelineKeepsEachPeakOfManyEvents) {
  TraceText text;
  text.cpu_op("a", 0, 10);
  int64_t allocated = 0;
  for (int i = 0; i < 5000; ++i) {
    const int64_t bytes = i == 3333 ? 10'000 : i == 3334 ? -10'000 : 1;
    allocated += bytes;
    text.event(instant({i, bytes, 0,
                        fmt::format(R"(, "Total Allocated": {}, "Total Reserved": {})",
                                    allocated + 7, 2 * allocated)}));
  }
  const Analysis analysis = analysis_of(text);
  ASSERT_EQ(analysis.memory.size(), 1U);
  const auto& timeline = analysis.memory[0].timeline;
  EXPECT_LE(timeline.size(), 256U);
  EXPECT_GE(timeline.size(), 250U);
  EXPECT_EQ(analysis.memory[0].points.size(), 5000U);
  EXPECT_EQ(analysis.memory[0].allocated_bytes, 13'340);
  EXPECT_THAT(timeline, ::testing::Contains(::testing::AllOf(
                            ::testing::Field(&MemoryPoint::time_ns, 3'333'000),
                            ::testing::Field(&MemoryPoint::allocated_bytes, 13'340),
                            ::testing::Field(&MemoryPoint::reserved_bytes, 26'666))));
}

TEST(Memory, SumsBeyondTheirTypeStayAtItsLimit) {
  const Analysis analysis = analysis_of(TraceText()
                                            .cpu_op("aten::empty", 0, 100'000)
                                            .event(instant({20, INT64_MAX, 0xA}))
                                            .event(instant({30, INT64_MAX, 0xB})));
  ASSERT_EQ(analysis.memory.size(), 1U);
  EXPECT_EQ(analysis.memory[0].allocated_bytes, INT64_MAX);
}

TEST(Memory, NoEventsNoEntry) {
  EXPECT_TRUE(analysis_of(TraceText().cpu_op("a", 0, 1)).memory.empty());
}

}  // namespace
}  // namespace redline::trace
