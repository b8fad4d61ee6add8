// How long work waits for the record of its call, round by round.
#include <utility>

#include "profiler/cupti/activities.h"
#include "profiler/cupti/testing_window.h"

extern "C" int cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_size, uint8_t** record);

namespace redline::cupti {
namespace {

class Rounds : public GpuWindow {
 protected:
  static constexpr size_t kMemsetBytes = 88;  // in CUDA 13.0, as all sizes here
  static constexpr size_t kCallBytes = 40;

  Rounds() {
    library_.version = 130001;
    library_.get_callback_name = [](int domain, uint32_t, const char** name) {
      *name = domain == kDriverDomain ? "cuInit" : "cudaMemsetAsync_v3020";
      return kSuccess;
    };
    begin(false);
  }

  struct Bytes : std::vector<uint8_t> {
    template <typename Record>
    void add(const Record& record, size_t size) {
      const size_t begin = this->size();
      resize(begin + size);
      std::memcpy(data() + begin, &record, std::min(size, sizeof(record)));
    }
  };
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
  bytes.add(work(1), kMemsetBytes);
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
  Bytes bytes;
  for (const uint32_t correlation : {1U, 2U}) {
    ApiRecord hidden = launch_call(correlation, now(), 1);
    hidden.kind = Kind::kDriver;
    bytes.add(hidden, kCallBytes);
    bytes.add(work(correlation), kMemsetBytes);
  }
  const auto shown = [](uint32_t correlation) {
    Bytes call;
    call.add(launch_call(correlation, now() - 1000), kCallBytes);
    return call;
  };
  round(bytes);
  round();
  round(shown(1));
  round();
  round(shown(2));
  EXPECT_EQ(arrows(), 1U) << "of the first alone";
}

TEST_F(Rounds, OnlySoMuchWorkWaits) {
  constexpr size_t kMost = size_t{1} << 18, kAtOnce = 4096;
  Bytes bytes;
  for (size_t i = 0; i < kAtOnce; ++i) bytes.add(work(1), kMemsetBytes);
  round(bytes, kMost / kAtOnce + 1);
  EXPECT_EQ(without_call(), kAtOnce);
  round();  // makes room for as much again
  EXPECT_EQ(without_call(), kAtOnce + kMost / 2);
  round();
  EXPECT_EQ(without_call(), kAtOnce + kMost / 2);
}

}  // namespace
}  // namespace redline::cupti
