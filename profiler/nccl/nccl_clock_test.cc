// Time stamps of the GPU, which has a clock of its own.
#include "profiler/nccl/testing_nccl.h"

namespace redline::nccl {
namespace {

TEST_F(NcclWindow, StampsOfTheGpuTellHowLongAChannelRan) {
  begin();
  communicate(ncclProfiler_v5);
  const json trace = end();
  const Slice channel = only(trace, "kernel channel");
  EXPECT_NEAR(channel.end_us - channel.begin_us, 50, 0.01);
}

class Stamps : public NcclWindow {
 protected:
  Stamps() {
    begin();
    int mask = 0;
    context_ = init(ncclProfiler_v5, mask);
  }
  void* channel(uint64_t ptimer) {
    DescrV5 made = descr<DescrV5>(kKernelCh);
    made.kernel_ch.ptimer = ptimer;
    return start(ncclProfiler_v5, context_, made);
  }
  static void stamp(void* channel, uint64_t ptimer) {
    StateArgs args = {.ptimer = ptimer};
    ncclProfiler_v5.record_event_state(channel, kKernelChStop, &args);
  }
  static void stop(void* event) { ncclProfiler_v5.stop_event(event); }
  /// A moment in the trace.
  void mark() { stop(start(ncclProfiler_v5, context_, descr<DescrV5>(kGroup))); }
  /// The channels or the marks, in the order of their begins.
  static std::vector<Slice> in_order(const json& trace, const std::string& category) {
    std::vector<Slice> found;
    for (const auto& [id, slice] : slices(trace, category)) found.push_back(slice);
    return found;
  }

  void* context_ = nullptr;
};

TEST_F(Stamps, AreSeenLaterThanTheyWereTaken) {
  stop(channel(1'000'000));
  const int64_t later_ns = monotonic_ns() + 2'000'000;
  while (monotonic_ns() < later_ns) {
  }
  void* second = channel(1'001'000);  // a microsecond after the first one
  mark();
  stop(second);  // without a stamp of its own
  stop(channel(0));
  const json trace = end();
  const auto channels = in_order(trace, "kernel channel");
  ASSERT_EQ(channels.size(), 3U);
  EXPECT_NEAR(channels[1].begin_us, channels[0].begin_us + 1, 0.01);
  EXPECT_GT(channels[1].end_us, only(trace, "call").begin_us) << "it ends now";
  EXPECT_GE(channels[2].begin_us, channels[1].end_us) << "it begins now";
}

TEST_F(Stamps, AtTheEndTellMoreOfTheClock) {
  void* first = channel(1'000'000);
  stamp(first, 11'000'000);
  stop(first);
  mark();
  void* second = channel(11'000'000);  // when the first one ended
  ncclProfiler_v5.record_event_state(second, kKernelChStop, nullptr);
  stop(second);
  void* third = channel(0);
  stamp(third, 1'000'000'000'000);
  stop(third);
  mark();
  const json trace = end();
  const auto channels = in_order(trace, "kernel channel");
  const auto marks = in_order(trace, "call");
  ASSERT_EQ(channels.size(), 3U);
  EXPECT_NEAR(channels[0].end_us - channels[0].begin_us, 10'000, 0.01);
  EXPECT_LE(channels[1].begin_us, marks[0].begin_us);
  EXPECT_LE(channels[2].end_us, marks[1].begin_us) << "nobody knows when it began";
}

TEST_F(NcclWindow, PhasesOfKernelsLieAtTheGpusTimes) {
  setenv("NCCL_PROFILE_EVENT_MASK", "32768", 1);
  begin();
  int mask = 0;
  void* context = init(ncclProfiler_v7, mask);
  unsetenv("NCCL_PROFILE_EVENT_MASK");
  EXPECT_EQ(static_cast<uint64_t>(mask), kKernelPhase | kKernelCh) << "as NCCL needs it";
  DescrV5 made = descr<DescrV5>(kKernelPhase);
  made.kernel_phase = {3, 0, "initial_sync", 1'000'000};
  void* phase = start(ncclProfiler_v7, context, made);
  StateArgs stamp = {.ptimer = 1'030'000};
  ncclProfiler_v7.record_event_state(phase, static_cast<EventState>(31), &stamp);
  ncclProfiler_v7.stop_event(phase);
  const json trace = end();
  const Slice slice = only(trace, "kernel channel");
  EXPECT_EQ(trace["redline"]["nccl"]["events"], 1);
  EXPECT_EQ(ncclProfiler_v7.finalize(context), kSuccess);
  EXPECT_EQ(slice.name, "initial_sync");
  EXPECT_EQ(slice.args["Channel"], 3);
  EXPECT_NEAR(slice.end_us - slice.begin_us, 30, 0.01);
}

TEST(Communicator, ClocksStandAsTheLeastDelaySays) {
  const Communicator communicator(0);
  constexpr int64_t kAhead = 5'000'000'000;  // so far the GPU's clock is ahead
  EXPECT_EQ(communicator.to_host(kAhead + 1000, 1500), 1500) << "delay 500";
  EXPECT_EQ(communicator.to_host(kAhead + 2000, 2100), 2100) << "delay 100";
  EXPECT_EQ(communicator.to_host(kAhead + 3000, 3900), 3100);
  const int64_t later = 10'000'000'000;
  EXPECT_EQ(communicator.to_host(static_cast<uint64_t>(kAhead + later), later + 700), later + 700)
      << "what was known long ago is no longer";
}

}  // namespace
}  // namespace redline::nccl
