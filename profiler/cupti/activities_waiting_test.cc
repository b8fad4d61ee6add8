// How long work waits for the record of its call, round by round.

#include "profiler/cupti/activities.h"
#include "profiler/cupti/testing_buffer.h"
#include "profiler/cupti/testing_window.h"

namespace redline::cupti {
namespace {

class Rounds : public GpuWindow {
 protected:
  Rounds() {
    library_.version = 130001;
    library_.get_callback_name = [](int domain, uint32_t, const char** name) {
      *name = domain == kDriverDomain ? "cuInit" : "cudaMemsetAsync_v3020";
      return kSuccess;
    };
    begin(false);
  }

  using Bytes = FilledBytes;
  static MemsetRecord work(uint32_t correlation) {
    return {.kind = Kind::kMemset,
            .bytes = 4,
            .start = now(),
            .end = now(),
            .context = 1,
            .stream = 7,
            .correlation = correlation};
  }
  void round(Bytes bytes = {}, size_t times = 1, bool is_flushed = true) {
    const std::vector<BufferPool::Filled> buffers(times, {bytes.data(), bytes.size()});
    activities_.add_round(buffers, cuptiActivityGetNextRecord, is_flushed);
  }
  [[nodiscard]] uint64_t without_call() const { return activities_.counts().without_call; }
  [[nodiscard]] size_t arrows() {
    activities_.finish();
    return events(end(), "ac2g").size() / 2;
  }

  Library library_;
  DeviceTable devices_;
  AnnotationNames names_;
  CollectiveNotes collectives_;
  Activities activities_{library_, devices_, names_, collectives_};
};

TEST_F(Rounds, WorkWhoseCallNeverComesIsGivenUpAfterFortyFlushes) {
  Bytes bytes;
  bytes.add(work(1));
  round(bytes);
  for (int flush = 1; flush < 40; ++flush) {
    round({}, 1, false);  // not flushed: CUPTI may hold the call back
    round();
    ASSERT_EQ(without_call(), 0U) << flush;
  }
  round();
  EXPECT_EQ(without_call(), 1U);
  EXPECT_EQ(arrows(), 0U);
}

TEST_F(Rounds, ACallThatIsShownMayFollowAHiddenOneForTwoFlushes) {
  const uint64_t called = now();
  Bytes bytes;
  for (const uint32_t correlation : {1U, 2U}) {
    ApiRecord hidden = launch_call(correlation, now(), 1);
    hidden.kind = Kind::kDriver;
    bytes.add(hidden);
    bytes.add(work(correlation));
  }
  const auto shown = [called](uint32_t correlation) {
    Bytes call;
    call.add(launch_call(correlation, called));
    return call;
  };
  round(bytes);
  round();
  round(shown(1));
  round();
  round(shown(2));
  EXPECT_EQ(arrows(), 1U) << "of the first alone";
}

TEST_F(Rounds, TimesBeforeTheMachineBeganOrFarAheadAreOfAnotherClock) {
  activities_.see_clocks({1000, 500});
  const auto timed = [this](uint64_t start, uint64_t end) {
    MemsetRecord set = work(1);
    set.start = start;
    set.end = end;
    Bytes bytes;
    bytes.add(set);
    const uint64_t before = activities_.counts().timed;
    round(bytes);
    return activities_.counts().timed > before;
  };
  EXPECT_FALSE(timed(499, 2000));
  EXPECT_FALSE(timed(500, 2000));
  EXPECT_TRUE(timed(501, 2000));
  EXPECT_EQ(activities_.counts().other_clock, 2U);
  constexpr uint64_t kMinute = 60'000'000'000;
  EXPECT_TRUE(timed(now(), now() + 59 * kMinute));
  EXPECT_FALSE(timed(now(), now() + 61 * kMinute));
  EXPECT_EQ(activities_.counts().other_clock, 3U);
  EXPECT_FALSE(timed(2000, 1999) || timed(0, 2000) || timed(2000, 0));
  EXPECT_EQ(activities_.counts().incomplete, 3U);
}

TEST_F(Rounds, AnAnnotationWaitsForMoreOfItsWork) {
  names_.add(7, "forward");
  const uint64_t begun = now();
  for (const uint32_t correlation : {1U, 2U}) {
    Bytes bytes;
    bytes.add(
        ExternalCorrelationRecord{Kind::kExternalCorrelation, kAnnotationIds, 7, correlation, 0});
    bytes.add(launch_call(correlation, begun));
    MemsetRecord set = work(correlation);
    set.start = begun + 10'000 * correlation;
    set.end = set.start + 1000;
    bytes.add(set);
    round(bytes);
  }
  activities_.finish();
  const auto spans = events(end(), "gpu_user_annotation");
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0]["dur"], 11.002);
}

TEST_F(Rounds, OnlySoManyCallsAreKept) {
  const auto calls = [](uint32_t first, size_t count) {
    Bytes bytes;
    for (size_t i = 0; i < count; ++i) {
      bytes.add(launch_call(first + static_cast<uint32_t>(i), now()));
    }
    return bytes;
  };
  constexpr size_t kAtOnce = 4096;
  round(calls(1, 2));
  round(calls(3, kAtOnce), Launches::kMost / kAtOnce - 1);
  round(calls(3, kAtOnce - 1));
  Bytes bytes;
  for (const uint32_t correlation : {1U, 2U}) bytes.add(work(correlation));
  round(bytes);
  EXPECT_EQ(arrows(), 1U) << "of the second alone";
  EXPECT_EQ(without_call(), 1U);
}

TEST_F(Rounds, OfAnEventOnlyTheLastRecordsAreKept) {
  Bytes records;
  for (uint32_t i = 1; i <= RecordedEvents::kMostOfEvent + 1; ++i) {
    records.add(CudaEventRecord{Kind::kCudaEvent, i, 1, 20, 55, 0});
  }
  round(records);
  Bytes waits;
  for (const uint32_t correlation : {2U, 3U}) {
    waits.add(
        SynchronizationRecord{Kind::kSynchronization, 2, now(), now(), correlation, 1, 7, 55});
  }
  round(waits);
  activities_.finish();
  const auto all = events(end(), "cuda_sync");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_FALSE(all[0]["args"].contains("wait_on_stream")) << "of a record that is forgotten";
  EXPECT_EQ(all[1]["args"]["wait_on_cuda_event_record_corr_id"], 2);
}

TEST_F(Rounds, OnlySoMuchWorkWaits) {
  constexpr size_t kMost = size_t{1} << 18, kAtOnce = 4096;
  Bytes bytes;
  for (size_t i = 0; i < kAtOnce; ++i) bytes.add(work(1));
  round(bytes, kMost / kAtOnce + 1);
  EXPECT_EQ(without_call(), kAtOnce);
  round();  // makes room for as much again
  EXPECT_EQ(without_call(), kAtOnce + kMost / 2);
  round();
  EXPECT_EQ(without_call(), kAtOnce + kMost / 2);
}

}  // namespace
}  // namespace redline::cupti
