#include "trace/analysis/streams.h"

#include <gtest/gtest.h>

#include "tests/parsed_trace.h"
#include "trace/analysis/analysis.h"

namespace redline::trace {
namespace {

using namespace redline::testing;

TEST(Launches, OneGraphLaunchStartsManyKernels) {
  const auto launches = analysis_of(TraceText()
                                        .runtime("cudaGraphLaunch", 100, 200, 1)
                                        .runtime("cudaLaunchKernel", 300, 310, 2)
                                        .kernel("a", 250, 260, on_stream(7, 1))
                                        .kernel("b", 260, 400, on_stream(7, 1))
                                        .kernel("c", 400, 450, on_stream(7, 1))
                                        .kernel("d", 450, 500, on_stream(7, 2))
                                        .kernel("no launch", 500, 600, on_stream(7, 9)))
                            .launches;
  ASSERT_TRUE(launches);
  EXPECT_EQ(launches->count, 4);
  EXPECT_EQ(launches->calls, 2);
  EXPECT_EQ(launches->graph_launches, 1);
  EXPECT_EQ(launches->graph_count, 3);
  EXPECT_EQ(launches->short_count, 2);  // a and c, shorter than the graph's launch
  EXPECT_DOUBLE_EQ(launches->host_ns.mean, (3 * 100 + 10) / 4.0);
  EXPECT_DOUBLE_EQ(launches->device_ns.max, 140);
  EXPECT_DOUBLE_EQ(launches->delay_ns.mean, (50 + 60 + 200 + 140) / 4.0);
}

TEST(Launches, AKernelThatBeginsInsideItsCallHasNoDelay) {
  const auto launches = analysis_of(TraceText()
                                        .runtime("cudaLaunchKernel", 100, 200, 1)
                                        .kernel("a", 150, 260, on_stream(7, 1)))
                            .launches;
  EXPECT_EQ(launches->delay_ns.max, 0);
}

TEST(Launches, WithoutAnyThereAreNoStatistics) {
  EXPECT_FALSE(analysis_of(TraceText().kernel("a", 0, 10)).launches);
}

TEST(Queues, AreAsLongAsWhatWaits) {
  const auto queues = analysis_of(TraceText()
                                      .runtime("cudaLaunchKernel", 0, 5, 1)
                                      .runtime("cudaLaunchKernel", 10, 15, 2)
                                      .runtime("cudaLaunchKernel", 20, 25, 3)
                                      .kernel("a", 40, 50, on_stream(7, 1))
                                      .kernel("b", 50, 60, on_stream(7, 2))
                                      .kernel("c", 60, 70, on_stream(7, 3))
                                      .runtime("cudaLaunchKernel", 30, 35, 4)
                                      .kernel("d", 31, 70, on_stream(9, 4)))
                          .queues;
  ASSERT_EQ(queues.size(), 2U);
  EXPECT_EQ(queues[0].stream, 7);
  EXPECT_EQ(queues[0].length.count, 6);
  EXPECT_EQ(queues[0].length.max, 3);
  EXPECT_DOUBLE_EQ(queues[0].length.mean, (1 + 2 + 3 + 2 + 1 + 0) / 6.0);
  EXPECT_DOUBLE_EQ(queues[0].time_mean, (10 * 1 + 10 * 2 + 20 * 3 + 10 * 2 + 10 * 1) / 60.0);
  EXPECT_EQ(queues[0].full_ns, 0);
  EXPECT_EQ(queues[1].stream, 9);
  EXPECT_EQ(queues[1].length.max, 1);
}

TEST(Queues, ChangesOfADeviceAreThoseOfAllItsStreams) {
  const Analysis analysis = analysis_of(TraceText()
                                            .runtime("cudaLaunchKernel", 0, 5, 1)
                                            .runtime("cudaLaunchKernel", 10, 15, 2)
                                            .kernel("a", 20, 30, on_stream(7, 1))
                                            .kernel("b", 12, 30, on_stream(9, 2)));
  std::vector<std::pair<int64_t, int64_t>> points;
  for (const QueuePoint& point : queue_changes(*analysis.trace, analysis.device_work, 0)) {
    points.emplace_back(point.time_ns - analysis.trace->begin_ns(), point.length);
  }
  const std::vector<std::pair<int64_t, int64_t>> expected{{0, 1}, {10, 2}, {12, 1}, {20, 0}};
  EXPECT_EQ(points, expected);
  EXPECT_TRUE(queue_changes(*analysis.trace, analysis.device_work, 5).empty());
}

TEST(Queues, AreFullFromTheTwentyFourthAboveAThousand) {
  TraceText text;
  for (uint32_t i = 1; i <= 1030; ++i) {
    text.runtime("cudaLaunchKernel", i * 10, i * 10 + 5, i);
    text.kernel("k", 20'000 + i * 10, 20'000 + i * 10 + 5, on_stream(7, i));
  }
  const auto queues = analysis_of(text).queues;
  ASSERT_EQ(queues.size(), 1U);
  EXPECT_EQ(queues[0].length.max, 1030);
  // The queue is full from the 1024th launch to the 7th begin, which leaves 1023.
  EXPECT_EQ(queues[0].full_ns, (20'000 + 70) - 10'240);
}

// A graph waits in the queue as one launch.
TEST(Queues, OfGraphsAreNotFullByTheirKernels) {
  const auto full_ns = [](int graphs, int kernels) {
    TraceText text;
    for (int i = 0; i < graphs * kernels; ++i) {
      const auto id = static_cast<uint32_t>(1 + i / kernels);
      if (i % kernels == 0) text.runtime("cudaGraphLaunch", id * 10, id * 10 + 5, id);
      text.kernel("k", 20'000 + i * 10, 20'000 + i * 10 + 5, on_stream(7, id));
    }
    return analysis_of(text).queues.at(0).full_ns;
  };
  EXPECT_EQ(full_ns(4, 1500), 0);
  // 1030 graphs of two kernels: full from the 1024th launch to the first kernel of the 7th graph.
  EXPECT_EQ(full_ns(1030, 2), (20'000 + 120) - 10'240);
}

TEST(Idle, GapsByReasonAndStream) {
  const Analysis analysis = analysis_of(TraceText()
                                            .runtime("cudaLaunchKernel", 0, 1, 1)
                                            .runtime("cudaLaunchKernel", 1, 2, 2)
                                            .runtime("cudaLaunchKernel", 2, 3, 3)
                                            .runtime("cudaLaunchKernel", 90'000, 90'010, 4)
                                            .kernel("a", 10, 100, on_stream(7, 1))
                                            .kernel("b", 150, 200, on_stream(7, 2))
                                            .kernel("c", 40'000, 50'000, on_stream(7, 3))
                                            .kernel("d", 90'020, 90'030, on_stream(7, 4))
                                            .kernel("e", 0, 10, on_stream(9)));
  ASSERT_EQ(analysis.stream_idle.size(), 2U);
  const IdleGaps& gaps = analysis.stream_idle[0].gaps;
  EXPECT_EQ(gaps.kernel_wait_ns, 50);
  EXPECT_EQ(gaps.other_ns, 39'800);
  EXPECT_EQ(gaps.host_wait_ns, 40'020);
  EXPECT_EQ(analysis.stream_idle[1].stream, 9);
  EXPECT_EQ(analysis.idle->host_wait_ns, 40'020);
}

// HTA's threshold is documented as 30 ns and works as 30 us.
TEST(Idle, SchedulingTakesLessThanThirtyMicroseconds) {
  const auto idle_of = [](int64_t gap_ns) {
    return *analysis_of(TraceText()
                            .runtime("cudaLaunchKernel", 0, 1, 1)
                            .runtime("cudaLaunchKernel", 1, 2, 2)
                            .kernel("a", 10, 100, on_stream(7, 1))
                            .kernel("b", 100 + gap_ns, 200 + gap_ns, on_stream(7, 2)))
                .idle;
  };
  EXPECT_EQ(idle_of(29'999).kernel_wait_ns, 29'999);
  EXPECT_EQ(idle_of(30'000).other_ns, 30'000);
}

// Negative times come from a clock that was set back, or from a base time before 1970.
TEST(Idle, NoGapBeforeTheFirstKernelAtANegativeTime) {
  const auto idle = analysis_of(TraceText()
                                    .kernel("a", -700'000, -600'000, on_stream(7))
                                    .kernel("b", -590'000, -500'000, on_stream(7)))
                        .idle;
  EXPECT_EQ(idle->kernel_wait_ns, 10'000);
  EXPECT_EQ(idle->other_ns, 0);
}

TEST(Idle, NoGapUnderALongerKernelOfTheSameStream) {
  const Analysis analysis = analysis_of(TraceText()
                                            .kernel("long", 0, 1000, on_stream(7))
                                            .kernel("short", 100, 200, on_stream(7))
                                            .kernel("next", 1500, 1600, on_stream(7)));
  EXPECT_EQ(analysis.idle->kernel_wait_ns, 500);
}

}  // namespace
}  // namespace redline::trace
