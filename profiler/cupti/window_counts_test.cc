// What is lost of a window, cannot be read or comes late is counted, and counts for that window.
#include "profiler/cupti/testing_source.h"

namespace redline::cupti {
namespace {

using nlohmann::json;

TEST_F(GpuWindow, CountsWhatIsLostOrCannotBeRead) {
  begin();
  const uint64_t begun = now();
  stub::drop_records(12);
  std::vector<uint8_t> marker(56);
  marker[0] = 12;
  stub::emit_raw(marker);
  KernelRecord unfinished = kernel(1, begun);
  unfinished.end = 0;
  stub::emit_record(unfinished);
  KernelRecord backwards = kernel(2, begun);
  backwards.end = begun - 1;
  stub::emit_record(backwards);
  std::vector<uint8_t> cut(20);
  cut[0] = static_cast<uint8_t>(Kind::kConcurrentKernel);
  stub::emit_raw(cut, 1);
  std::vector<uint8_t> nonsense(64);
  nonsense[0] = 200;
  stub::emit_raw(nonsense, 2);
  redline_range_push("on the CPU");
  redline_range_pop();
  const json trace = end();
  const json& gpu = trace["redline"]["gpu"];
  EXPECT_EQ(gpu["dropped"], 12);
  EXPECT_EQ(gpu["unknown"], 1);
  EXPECT_EQ(gpu["truncated"], 2);
  EXPECT_EQ(gpu["incomplete"], 2);
  EXPECT_EQ(events(trace, "user_annotation").size(), 1u);
  EXPECT_TRUE(events(trace, "kernel").empty());
  begin();
  const json next = end();
  for (const char* count : {"dropped", "unknown", "truncated", "incomplete"}) {
    EXPECT_EQ(next["redline"]["gpu"][count], 0) << "of the window before: " << count;
  }
}

/// A test that may have taken all buffers.
class Buffers : public FreshSource {
 protected:
  ~Buffers() override { give_back(); }
  void take_all() {
    while (pool_.room() > 0) taken_.push_back(pool_.take(true));
  }
  void give_back() {
    for (uint8_t* buffer : taken_) pool_.complete(buffer, 0);
    taken_.clear();
  }
  /// What a window counts that finds no free buffer.
  [[nodiscard]] json gpu_of_window(uint32_t version) {
    const auto source = window_of_version(version);
    take_all();
    stub::emit_record(kernel(1, now()));
    source->disable();
    give_back();
    return end()["redline"]["gpu"];
  }

  BufferPool& pool_ = shared_state().pool;
  std::vector<uint8_t*> taken_;
};

TEST_F(Buffers, AreRefusedAndCountedWhereCuptiBearsIt) {
  for (const uint32_t version : {kVersion12_9, 130001U}) {
    const json gpu = gpu_of_window(version);
    EXPECT_EQ(gpu["buffers_refused"], 1) << version;
    EXPECT_EQ(gpu["dropped"], 1) << "CUPTI says so, too";
    EXPECT_EQ(gpu["records"], 0);
  }
  const json gpu = gpu_of_window(kVersion12_9 - 1);  // would crash
  EXPECT_EQ(gpu["buffers_refused"], 0);
  EXPECT_EQ(gpu["records"], 1);
}

TEST_F(Buffers, OfAnotherToolCountForTheWindowInWhichTheyCome) {
  begin(false);
  source_.enable({});
  uint8_t foreign[8] = {};
  pool_.complete(foreign, sizeof(foreign));
  source_.disable();
  EXPECT_EQ(end()["redline"]["gpu"]["foreign_buffers"], 1);
  EXPECT_EQ(recorded()["redline"]["gpu"]["foreign_buffers"], 0);
}

TEST_F(Buffers, ThatCuptiKeepsFromAnEarlierWindowHoldNobodyUp) {
  begin(false);
  source_.enable({});
  stub::call(launch_call(1, now()));
  stub::hold_buffers(true);
  source_.disable();
  static_cast<void>(end());
  EXPECT_EQ(pool_.out(), 1U);
  CuptiSource patient(std::chrono::hours(1));
  begin(false);
  patient.enable({});
  patient.disable();  // would wait for the hour
  static_cast<void>(end());
  EXPECT_EQ(pool_.out(), 1U);
}

TEST_F(Buffers, WhoseCallNeverComesAreGivenUpFlushByFlush) {
  set("REDLINE_GPU_FLUSH_MS", "1");
  begin(false);
  source_.enable({});
  const uint64_t begun = now();
  stub::emit_record(kernel(1, begun + 500), 1);
  stub::wait_for_flushes(60);  // more than it waits for
  stub::emit_record(launch_call(1, begun), 1);
  source_.disable();
  const json trace = end();
  EXPECT_EQ(trace["redline"]["gpu"]["without_call"], 1);
  EXPECT_TRUE(events(trace, "ac2g").empty());
}

}  // namespace
}  // namespace redline::cupti
