// How a window with a GPU ends: with its work, before the process does, or in need.
#include "profiler/cupti/cupti_source.h"

#include <gmock/gmock.h>
#include <pthread.h>

#include <thread>

#include "profiler/cupti/testing_source.h"

namespace redline::cupti {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST_F(FreshSource, TheEndWaitsForWorkThatIsUnderWayAndNeverForTheGpuItself) {
  const int before = stub::cuda_synchronizations();
  CuptiSource patient;
  begin(false);
  patient.enable({});
  run_kernel();
  stub::keep_buffer_of(0, 5);
  patient.disable();
  EXPECT_EQ(events(end(), "kernel").size(), 1u);
  EXPECT_EQ(stub::forced_buffers(), 0) << "it came by itself";
  // To synchronize would end the capture of a graph in another thread.
  EXPECT_EQ(stub::cuda_synchronizations(), before);
}

TEST_F(FreshSource, AGpuThatHangsKeepsTheEndNoLongerThanItMay) {
  begin(false);
  source_.enable({});
  stub::call(launch_call(1, now()));
  stub::keep_buffer_of(0);
  source_.disable();
  EXPECT_EQ(events(end(), "cuda_runtime").size(), 1u);
  EXPECT_EQ(stub::forced_buffers(), 1);
  EXPECT_FALSE(source_.waits_for_gpus());
}

TEST_F(FreshSource, WhatCuptiHoldsIsForcedOutBeforeTheProcessEnds) {
  set("REDLINE_GPU_FLUSH_MS", "60000");  // nothing comes by itself
  begin(false);
  source_.enable({});
  stub::call(launch_call(1, now()));
  stub::keep_buffer_of(0);
  source_.flush_before_exit();
  EXPECT_EQ(stub::forced_buffers(), 1);
  stub::set_cuda_initialized(false);
  source_.let_go(std::chrono::steady_clock::now() + std::chrono::hours(1));
  EXPECT_FALSE(profiler::wants_external_ids());
  const int flushes = stub::cupti_calls("cuptiActivityFlushAll");
  source_.flush_before_exit();
  source_.give_up("torch.profiler");
  source_.disable();
  EXPECT_EQ(stub::cupti_calls("cuptiActivityFlushAll"), flushes) << "CUDA may be half destroyed";
  const json trace = end();
  EXPECT_EQ(events(trace, "cuda_runtime").size(), 1u);
  EXPECT_EQ(trace["redline"]["gpu"]["records"], 1);
  EXPECT_FALSE(trace["redline"]["gpu"].contains("failed_flush"));
  EXPECT_EQ(trace["cupti_version"], 130001);
  ASSERT_EQ(trace["deviceProperties"].size(), 1U) << "known before CUDA ended";
  EXPECT_EQ(trace["deviceProperties"][0]["name"], "NVIDIA A100");
}

TEST_F(FreshSource, AFlushThatHangsKeepsTheProcessFromItsEndNoLongerThanItMay) {
  set("REDLINE_GPU_FLUSH_MS", "1");
  // Never destroyed, as in a job: its thread may outlive this test.
  static auto* const source = new CuptiSource(kShortWait);
  stub::hang_flushes(true);
  begin(false);
  source->enable({});
  while (stub::cupti_calls("cuptiActivityFlushAll") == 0) std::this_thread::yield();
  stub::set_cuda_initialized(false);  // to ask the driver would hang, too
  source->let_go(std::chrono::steady_clock::now());
  const json trace = end();
  EXPECT_EQ(trace["redline"]["gpu"]["failed_flush"],
            "CUPTI or the driver did not answer when the process ended");
  EXPECT_EQ(trace["deviceProperties"].size(), 1U);
  EXPECT_EQ(stub::cupti_calls("cuptiActivityGetNumDroppedRecords"), 0);
  stub::hang_flushes(false);
  // It is asked for after the thread has used what the window left.
  while (stub::cupti_calls("cuptiActivityGetNumDroppedRecords") == 0) std::this_thread::yield();
}

TEST_F(FreshSource, OutsideOfAWindowNothingHappens) {
  static_cast<void>(recorded());
  const int flushes = stub::cupti_calls("cuptiActivityFlushAll");
  ::testing::internal::CaptureStderr();
  source_.flush_before_exit();
  source_.give_up("torch.profiler");
  source_.disable();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(stub::cupti_calls("cuptiActivityFlushAll"), flushes);
}

TEST_F(FreshSource, AProcessThatEndsDoesNotWaitForAGpu) {
  CuptiSource patient(std::chrono::hours(1));
  begin(false);
  patient.enable({});
  stub::call(launch_call(1, now()));
  stub::keep_buffer_of(0);
  std::thread ending([&] { patient.disable(); });
  while (!patient.waits_for_gpus()) std::this_thread::yield();
  EXPECT_FALSE(profiler::wants_external_ids()) << "the window is over";
  patient.hurry();
  ending.join();
  EXPECT_EQ(events(end(), "cuda_runtime").size(), 1u);
}

TEST_F(FreshSource, TellsWhereCuptiDoesNotGiveWhatItHas) {
  stub::fail_cupti("cuptiActivityFlushAll", 999);
  const json trace = recorded();
  EXPECT_EQ(events(trace, "user_annotation").size(), 1u);
  EXPECT_THAT(std::string(trace["redline"]["gpu"]["failed_flush"]),
              HasSubstr("CUPTI_ERROR_UNKNOWN"));
  EXPECT_THAT(said_, HasSubstr("redline: CUPTI did not hand over all its records: "));
  EXPECT_EQ(std::count(said_.begin(), said_.end(), '\n'), 1);
  stub::fail_cupti("cuptiActivityFlushAll", 0);
  EXPECT_FALSE(recorded()["redline"]["gpu"].contains("failed_flush")) << "of the window before";
}

// Each of these windows would end a minute later, and so be noticed.
TEST_F(FreshSource, TheEndWaitsForNoInterval) {
  set("REDLINE_GPU_FLUSH_MS", "60000");
  for (int window = 0; window < 4; ++window) {
    EXPECT_EQ(events(recorded(), "kernel").size(), 1u);
  }
}

/// While it lives, no thread can begin: its stack would need more than all memory.
class NoThreadsLeft {
 public:
  NoThreadsLeft() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t huge;
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, size_t{1} << 47);
    pthread_setattr_default_np(&huge);
    pthread_attr_destroy(&huge);
  }
  ~NoThreadsLeft() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  NoThreadsLeft(const NoThreadsLeft&) = delete;
  NoThreadsLeft& operator=(const NoThreadsLeft&) = delete;

 private:
  pthread_attr_t before_;
};

TEST_F(FreshSource, AWindowThatHasBegunNeedsNoFurtherThreadToEnd) {
  begin(false);
  source_.enable({});
  stub::call(launch_call(1, now()));
  {
    const NoThreadsLeft none;
    source_.disable();
  }
  EXPECT_EQ(events(end(), "cuda_runtime").size(), 1u);
}

TEST_F(FreshSource, WithoutAThreadNothingBeginsAndTheTraceSaysSo) {
  for (const bool uses_cuda : {true, false}) {
    stub::reset_cupti();
    stub::set_cuda_initialized(uses_cuda);
    begin(false);
    {
      const NoThreadsLeft none;
      source_.enable({});
    }
    EXPECT_FALSE(stub::is_enabled(Kind::kConcurrentKernel));
    EXPECT_EQ(stub::subscriber(), "");
    source_.give_up("torch.profiler");
    source_.disable();
    EXPECT_EQ(end()["redline"]["gpu"]["off"], "the system has no thread left");
  }
}

}  // namespace
}  // namespace redline::cupti
