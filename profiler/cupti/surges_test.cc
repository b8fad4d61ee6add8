// CUPTI may begin to give kernels without times, until it is switched off and on.
#include "profiler/cupti/cupti_source.h"

#include <gmock/gmock.h>

#include <thread>

#include "profiler/cupti/testing_source.h"

namespace redline::cupti {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

/// Whether kernels were switched off and on again, after so many kinds had been switched on.
bool is_on_anew(int enabled) {
  return stub::cupti_calls("cuptiActivityEnable") > enabled &&
         stub::is_enabled(Kind::kConcurrentKernel);
}

TEST_F(FreshSource, SaysThatKernelsComeWithoutTimesAndSwitchesThemOnAnew) {
  begin(false);
  ::testing::internal::CaptureStderr();
  source_.enable({});
  const int enabled = stub::cupti_calls("cuptiActivityEnable");
  stub::hold_buffers(true);  // so that all are read at once
  KernelRecord unstamped = kernel(1, now());
  unstamped.start = unstamped.end = 0;
  for (int i = 0; i < 1500; ++i) stub::emit_record(unstamped);
  for (int i = 0; i < 700; ++i) stub::emit_record(kernel(1, now()));
  stub::call(launch_call(1, now()), 2);
  stub::keep_buffer_of(2);  // the record of its work has not come yet
  stub::hold_buffers(false);
  while (!is_on_anew(enabled)) shared_state().pool.wake();
  EXPECT_EQ(stub::forced_buffers(), 1);
  source_.disable();
  const json trace = end();
  EXPECT_EQ(trace["redline"]["gpu"]["incomplete"], 1500);
  EXPECT_EQ(trace["redline"]["gpu"]["incomplete_surges"], 1);
  EXPECT_EQ(events(trace, "cuda_runtime").size(), 1u);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("redline: CUPTI gives most kernels without times (1500 of the last 2200 "
                        "records), so the trace lacks them"));
  EXPECT_EQ(recorded()["redline"]["gpu"]["incomplete_surges"], 0) << "of the window before";
}

TEST_F(FreshSource, KernelsAreSwitchedOnAnewOnlySoOften) {
  set("REDLINE_GPU_FLUSH_MS", "1");
  begin(false);
  source_.enable({});
  // Little more than a surge: what of it is read after the surge was seen must be no second one.
  const auto lose_times = [] {
    KernelRecord unstamped = kernel(1, now());
    unstamped.start = unstamped.end = 0;
    for (int i = 0; i < 2400; ++i) stub::emit_record(unstamped);
  };
  for (int surge = 0; surge < 4; ++surge) {
    const int enabled = stub::cupti_calls("cuptiActivityEnable");
    lose_times();
    while (!is_on_anew(enabled)) std::this_thread::yield();
  }
  const int enabled = stub::cupti_calls("cuptiActivityEnable");
  lose_times();
  stub::wait_for_flushes(100);
  EXPECT_EQ(stub::cupti_calls("cuptiActivityEnable"), enabled);
  source_.disable();
  EXPECT_EQ(end()["redline"]["gpu"]["incomplete"], 5 * 2400);
}

TEST_F(FreshSource, WhereHalfTheKernelsHaveTimesNothingIsSwitchedOnAnew) {
  set("REDLINE_GPU_FLUSH_MS", "1");
  begin(false);
  source_.enable({});
  const int enabled = stub::cupti_calls("cuptiActivityEnable");
  KernelRecord unstamped = kernel(1, now());
  unstamped.start = unstamped.end = 0;
  for (int i = 0; i < 1000; ++i) {  // fewer records than these together are not judged
    stub::emit_record(unstamped);
    stub::emit_record(kernel(1, now()));
  }
  stub::wait_for_flushes(100);
  EXPECT_EQ(stub::cupti_calls("cuptiActivityEnable"), enabled);
  for (int i = 0; i < 2000; ++i) stub::emit_record(unstamped);  // so few are enough
  while (!is_on_anew(enabled)) std::this_thread::yield();
  source_.disable();
  const json gpu = end()["redline"]["gpu"];
  EXPECT_EQ(gpu["incomplete"], 3000);
  EXPECT_EQ(gpu["incomplete_surges"], 1);
}

}  // namespace
}  // namespace redline::cupti
