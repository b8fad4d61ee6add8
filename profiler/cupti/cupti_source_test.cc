// Windows with a GPU, for which the stub libcupti.so stands, and windows in which CUPTI fails in
// each of the ways that it can.
#include "profiler/cupti/cupti_source.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <set>
#include <thread>
#include <utility>

#include "profiler/cupti/testing_source.h"
#include "profiler/source/gpu_work.h"
#include "profiler/source/run_metadata.h"

namespace redline::cupti {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST_F(GpuWindow, TenWindowsAreTenCompleteTraces) {
  for (uint32_t window = 0; window < 10; ++window) {
    begin();
    const uint64_t begun = now();
    for (uint32_t i = 0; i < 500; ++i) {
      const uint32_t correlation = window * 500 + i + 1;
      stub::call(launch_call(correlation, begun + i));
      stub::emit_record(kernel(correlation, begun + i + 1000));
    }
    const json trace = end();
    EXPECT_EQ(events(trace, "kernel").size(), 500u);
    EXPECT_EQ(events(trace, "cuda_runtime").size(), 500u);
    EXPECT_EQ(events(trace, "ac2g").size(), 1000u);
    EXPECT_FALSE(stub::is_enabled(Kind::kConcurrentKernel));
  }
  // This call would lose the first kernels of each later window, and change others' times.
  EXPECT_EQ(stub::cupti_calls("cuptiActivityRegisterTimestampCallback"), 0);
}

TEST_F(GpuWindow, NothingIsEnabledInsideAWindowAndNothingIsLeftAfterIt) {
  begin(true, true);
  const int enabled = stub::cupti_calls("cuptiActivityEnable");
  profiler::push_external_id(profiler::ExternalIdKind::kOperator, 1, "");
  stub::call(launch_call(1, now()));
  profiler::pop_external_id(profiler::ExternalIdKind::kOperator);
  EXPECT_EQ(stub::cupti_calls("cuptiActivityEnable"), enabled);
  static_cast<void>(end());
  for (uint32_t kind = 0; kind < 64; ++kind) {
    EXPECT_FALSE(stub::is_enabled(Kind{kind})) << "kind " << kind;
  }
  EXPECT_EQ(stub::cupti_calls("cuptiActivityDisable"), enabled) << "each of them once";
  // Operators need no time for GPUs any more.
  EXPECT_FALSE(profiler::wants_external_ids());
  const int pushed = stub::cupti_calls("cuptiActivityPushExternalCorrelationId");
  profiler::push_external_id(profiler::ExternalIdKind::kOperator, 2, "");
  EXPECT_EQ(stub::cupti_calls("cuptiActivityPushExternalCorrelationId"), pushed);
  // cuptiFinalize ends CUPTI for all its users, and is safe only within a callback of CUDA.
  EXPECT_EQ(stub::cupti_calls("cuptiFinalize"), 0);
}

class GpuRing : public GpuWindow {
 protected:
  GpuRing() { set("REDLINE_GPU_FLUSH_MS", "1"); }

  void begin_ring() const {
    testing::begin_recording(
        {{"directory", folder_.path()}, {"host_samples_hz", 0}, {"ring_seconds", 60}});
  }
  static json write_ring() {
    char path[4096] = "";
    EXPECT_EQ(redline_write_ring("a test", path, sizeof(path)), 0) << redline_last_error();
    const gzFile file = gzopen(path, "rb");
    std::string text(1 << 20, '\0');
    text.resize(static_cast<size_t>(std::max(0, gzread(file, text.data(), 1 << 20))));
    gzclose(file);
    return json::parse(text);
  }
};

TEST_F(GpuRing, TellsTheGpuAndWhyItIsNotRecordedToTheEnd) {
  begin_ring();
  json trace = write_ring();
  EXPECT_EQ(trace["deviceProperties"][0]["name"], "NVIDIA A100");
  EXPECT_EQ(trace["cupti_version"], 130001);
  EXPECT_EQ(trace["redline"]["gpu"]["dropped"], 0);
  EXPECT_FALSE(trace["redline"]["gpu"].contains("graph_launches_without_work"))
      << "right only at the end";
  profiler::give_up_gpu("torch.profiler");
  trace = write_ring();
  EXPECT_THAT(trace["redline"]["gpu"]["off_after"].get<std::string>(),
              HasSubstr("torch.profiler began to record"));
}

TEST_F(GpuRing, HasTheAnnotationsOfItsLastSeconds) {
  begin_ring();
  profiler::push_external_id(profiler::ExternalIdKind::kAnnotation, 9, "block");
  run_kernel();
  profiler::pop_external_id(profiler::ExternalIdKind::kAnnotation);
  json trace;
  // The kernel may come while the first is written, and its annotation is in the next one then.
  do {
    trace = write_ring();
  } while (events(trace, "gpu_user_annotation").empty());
  EXPECT_EQ(events(trace, "kernel").size(), 1U);
  EXPECT_EQ(events(trace, "gpu_user_annotation")[0]["name"], "block");
  EXPECT_EQ(events(write_ring(), "gpu_user_annotation").size(), 1U) << "it stays in the ring";
}

TEST_F(GpuWindow, CallbacksThatAnotherUserTookAreTakenBack) {
  const auto window_with_a_kernel = [this] {
    begin();
    run_kernel();
    return events(end(), "kernel").size();
  };
  EXPECT_EQ(window_with_a_kernel(), 1u);
  stub::lend_callbacks(true);
  EXPECT_EQ(window_with_a_kernel(), 1u);
}

TEST_F(GpuWindow, EachThreadFillsItsOwnBuffers) {
  begin();
  EXPECT_EQ(stub::attribute(kBuffersByThread), 1);
  EXPECT_EQ(stub::cupti_calls("cuptiActivityEnableAllSyncRecords 0"), 1);
  // CUPTI would assume this of torch.profiler's buffers, too.
  EXPECT_EQ(stub::attribute(kZeroedBuffers), 0);
  EXPECT_EQ(stub::attribute(kStampBuffers), 0) << "CUPTI's own default";
  EXPECT_EQ(stub::cupti_calls("cuptiActivitySetAttribute"), 1);
  static_cast<void>(end());
}

TEST_F(FreshSource, AForkedChildLeavesCuptisIdsAlone) {
  begin(false);
  source_.enable({});
  profiler::push_external_id(profiler::ExternalIdKind::kOperator, 41, "");
  const pid_t child = fork();
  if (child == 0) {
    const int calls = stub::cupti_calls("cuptiActivityPushExternalCorrelationId") +
                      stub::cupti_calls("cuptiActivityPopExternalCorrelationId");
    profiler::push_external_id(profiler::ExternalIdKind::kOperator, 42, "");
    profiler::pop_external_id(profiler::ExternalIdKind::kOperator);
    _exit(stub::cupti_calls("cuptiActivityPushExternalCorrelationId") +
          stub::cupti_calls("cuptiActivityPopExternalCorrelationId") - calls);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "calls in the child";
  profiler::pop_external_id(profiler::ExternalIdKind::kOperator);
  EXPECT_GT(stub::cupti_calls("cuptiActivityPopExternalCorrelationId"), 0) << "in the parent";
  source_.disable();
}

TEST_F(FreshSource, TheMemoryForTimesIsAsLargeAsTheUserWants) {
  set("REDLINE_GPU_STAMP_BUFFERS", "12");
  static_cast<void>(recorded());
  EXPECT_EQ(stub::attribute(kStampBuffers), 12);
}

TEST_F(FreshSource, AUserCanDoWithoutWaitsAndEvents) {
  for (const auto& [value, is_enabled] : {std::pair("on", true), std::pair("off", false)}) {
    set("REDLINE_GPU_WAITS", value);
    begin(false);
    source_.enable({});
    EXPECT_EQ(stub::is_enabled(Kind::kSynchronization), is_enabled);
    EXPECT_EQ(stub::is_enabled(Kind::kCudaEvent), is_enabled);
    EXPECT_TRUE(stub::is_enabled(Kind::kConcurrentKernel));
    source_.disable();
    static_cast<void>(end());
  }
}

TEST_F(FreshSource, AsksForBuffersAsOftenAsTheUserWants) {
  set("REDLINE_GPU_FLUSH_MS", "1");
  begin(false);
  source_.enable({});
  stub::call(launch_call(1, now()));
  stub::keep_buffer_of(0);
  stub::wait_for_flushes(1000);  // with the default interval, this would exceed the test's timeout
  EXPECT_EQ(stub::forced_buffers(), 0) << "work that is under way is left alone";
  source_.disable();
  static_cast<void>(end());
}

TEST_F(FreshSource, AWindowThatIsOnIsNotBegunAgain) {
  begin(false);
  source_.enable({});
  source_.enable({});
  EXPECT_EQ(stub::cupti_calls("cuptiActivityRegisterCallbacks"), 1);
  source_.disable();
  static_cast<void>(end());
}

TEST_F(FreshSource, CuptiIsLeftAloneUntilTheProcessUsesCuda) {
  stub::set_cuda_initialized(false);
  begin(false);
  source_.enable({});
  EXPECT_EQ(stub::cupti_calls("cuptiActivityRegisterCallbacks"), 0);
  EXPECT_EQ(stub::cupti_calls("cuptiActivityEnable"), 0);
  EXPECT_FALSE(profiler::wants_external_ids());
  stub::set_cuda_initialized(true);
  while (!profiler::wants_external_ids()) std::this_thread::yield();
  run_kernel();
  source_.disable();
  const json trace = end();
  EXPECT_EQ(events(trace, "kernel").size(), 1u);
  EXPECT_FALSE(trace["redline"]["gpu"].contains("off_before"));
}

TEST_F(FreshSource, AProcessThatNeverUsesCudaNeverMeetsCupti) {
  stub::set_cuda_initialized(false);
  begin(false);
  source_.enable({});
  source_.disable();
  EXPECT_FALSE(end()["redline"].contains("gpu"));
  for (const char* function : {"cuptiSubscribe_v2", "cuptiActivitySetAttribute",
                               "cuptiActivityRegisterCallbacks", "cuptiActivityFlushAll"}) {
    EXPECT_EQ(stub::cupti_calls(function), 0) << function;
  }
}

TEST_F(FreshSource, AStartThatFailedIsTriedAgain) {
  stub::fail_cupti("cuptiActivityEnable", 39);
  begin(false);
  ::testing::internal::CaptureStderr();
  source_.enable({});
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("one tool at a time"));
  EXPECT_FALSE(profiler::wants_external_ids());
  const int calls_of_a_try = stub::cupti_calls("cuptiActivityEnable");
  shared_state().pool.wake();  // ends the pause before the next try
  while (stub::cupti_calls("cuptiActivityEnable") < 2 * calls_of_a_try) std::this_thread::yield();
  stub::fail_cupti("cuptiActivityEnable", 0);
  shared_state().pool.wake();
  while (!profiler::wants_external_ids()) std::this_thread::yield();
  EXPECT_EQ(stub::cupti_calls("cuptiActivityRegisterCallbacks"), 3) << "a pause between two tries";
  run_kernel();
  source_.disable();
  const json trace = end();
  EXPECT_EQ(events(trace, "kernel").size(), 1u);
  EXPECT_FALSE(trace["redline"]["gpu"].contains("off"));
  EXPECT_THAT(std::string(trace["redline"]["gpu"]["off_before"]), HasSubstr("one tool at a time"));
  EXPECT_FALSE(recorded()["redline"]["gpu"].contains("off_before")) << "of the window before";
}

TEST_F(FreshSource, ATraceThatLeavesGpusOutSaysSoWhereOneIsUsed) {
  for (const bool uses_cuda : {true, false}) {
    stub::set_cuda_initialized(uses_cuda);
    begin(false);
    source_.enable({.record_gpu = false});
    source_.disable();
    const json gpu = end()["redline"].value("gpu", json::object());
    EXPECT_EQ(gpu.value("off", ""), uses_cuda ? "GPUs were left out of the recording" : "");
  }
}

TEST_F(FreshSource, OnlyTheKindsThatATraceNeedsMustBeThere) {
  const std::set<Kind> needed = {Kind::kConcurrentKernel, Kind::kMemcpy, Kind::kMemset,
                                 Kind::kRuntime};
  for (const Kind kind :
       {Kind::kConcurrentKernel, Kind::kMemcpy, Kind::kPeerCopy, Kind::kMemset, Kind::kRuntime,
        Kind::kDriver, Kind::kExternalCorrelation, Kind::kSynchronization, Kind::kCudaEvent,
        Kind::kOverhead, Kind::kContext, Kind::kStream}) {
    const std::string function =
        "cuptiActivityEnable " + std::to_string(static_cast<uint32_t>(kind));
    SCOPED_TRACE(function);
    stub::reset_cupti();
    stub::fail_cupti(function.c_str(), 25);
    EXPECT_EQ(recorded()["redline"]["gpu"].contains("off"), needed.contains(kind));
  }
}

TEST_F(GpuWindow, UnifiedMemoryOfEachGpuIsCounted) {
  stub::add_device(a100());
  begin(true, true);
  EXPECT_FALSE(stub::is_enabled(Kind::kUnifiedMemory)) << "CUPTI would stop the job for 2 s";
  static_cast<void>(end());
  set("REDLINE_GPU_UNIFIED_MEMORY", "on");
  begin(true, true);
  EXPECT_TRUE(stub::is_enabled(Kind::kUnifiedMemory));
  static_cast<void>(end());
  begin(true, false);
  EXPECT_FALSE(stub::is_enabled(Kind::kUnifiedMemory));
  static_cast<void>(end());
  std::set<std::pair<uint32_t, uint32_t>> all;
  for (const uint32_t device : {0U, 1U}) {
    for (const uint32_t counter :
         {kUnifiedHostToDevice, kUnifiedDeviceToHost, kUnifiedCpuFaults, kUnifiedGpuFaults}) {
      all.insert({device, counter});
    }
  }
  EXPECT_EQ(stub::unified_counters(), all);
}

TEST_F(FreshSource, SaysThatLaunchesOfGraphsBroughtNoWork) {
  begin(false);
  ::testing::internal::CaptureStderr();
  source_.enable({});
  const uint64_t begun = now();
  for (uint32_t launch = 1; launch <= 4; ++launch) {
    stub::call(launch_call(launch, begun + launch, 311));
  }
  KernelRecord node = kernel(2, begun + 500);
  node.graph_node = 9;
  stub::emit_record(node);
  node = kernel(3, 0);
  node.graph_node = 9;  // and no times
  stub::emit_record(node);
  stub::emit_record(MemcpyRecord{.kind = Kind::kMemcpy,
                                 .start = begun + 500,
                                 .end = begun + 600,
                                 .correlation = 4,
                                 .graph_node = 10});
  source_.disable();
  const json gpu = end()["redline"]["gpu"];
  EXPECT_EQ(gpu["graph_launches"], 4);
  EXPECT_EQ(gpu["graph_launches_without_work"], 1);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("no GPU work for 1 of 4 launches of CUDA graphs"));
}

TEST_F(FreshSource, SaysThatCuptiDoesNotTellThreads) {
  stub::fail_cupti("cuptiSetThreadIdType", 999);
  const json trace = recorded();
  EXPECT_EQ(events(trace, "kernel").size(), 1u);
  EXPECT_EQ(trace["redline"]["gpu"]["thread_ids"], "not the system's");
  EXPECT_THAT(said_, HasSubstr("does not tell which threads call CUDA"));
}

TEST_F(GpuWindow, WhatIsCalledAllTheTimeIsNotRecorded) {
  stub::name_function(kDriverDomain, 304, "cuCtxGetCurrent");
  stub::name_function(kDriverDomain, 277, "cuMemcpyAsync");
  begin();
  EXPECT_FALSE(stub::is_recorded(kRuntimeDomain, 17));  // cudaGetDevice
  EXPECT_FALSE(stub::is_recorded(kDriverDomain, 304));
  EXPECT_TRUE(stub::is_recorded(kRuntimeDomain, 211));
  EXPECT_TRUE(stub::is_recorded(kDriverDomain, 307));
  // Not shown in the trace, but needed, because its copy has its correlation.
  EXPECT_TRUE(stub::is_recorded(kDriverDomain, 277));
}

TEST_F(FreshSource, BuffersThatComeAfterTheEndBelongToNoLaterWindow) {
  const auto calls_of_window = [this](bool is_held, uint32_t correlation) {
    begin(false);
    source_.enable({});
    stub::hold_buffers(is_held);
    stub::call(launch_call(correlation, now()));
    source_.disable();
    return events(end(), "cuda_runtime");
  };
  EXPECT_TRUE(calls_of_window(true, 1).empty());
  const auto calls = calls_of_window(false, 2);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0]["args"]["correlation"], 2);
}

TEST_F(GpuWindow, RecordsNoGpuThatNobodyAskedFor) {
  begin(false);
  EXPECT_FALSE(stub::is_enabled(Kind::kConcurrentKernel));
  EXPECT_FALSE(profiler::wants_external_ids());
  EXPECT_EQ(end()["redline"]["gpu"], json({{"off", "GPUs were left out of the recording"}}));
}

TEST_F(FreshSource, WhatIsNotNeededMayFail) {
  for (const char* function : {"cuptiActivitySetAttribute", "cuptiActivityEnableAllSyncRecords",
                               "cuptiSubscribe_v2", "cuptiActivityGetNumDroppedRecords"}) {
    SCOPED_TRACE(function);
    stub::reset_cupti();
    stub::fail_cupti(function, 999);
    const json trace = recorded();
    EXPECT_EQ(events(trace, "kernel").size(), 1u);
    EXPECT_FALSE(trace["redline"]["gpu"].contains("failed_flush"));
    EXPECT_EQ(said_, "");
    const bool has_subscribed = std::string_view(function) != "cuptiSubscribe_v2";
    EXPECT_EQ(stub::cupti_calls("cuptiUnsubscribe"), has_subscribed ? 1 : 0);
  }
}

TEST_F(FreshSource, ReadsTheRecordsOfEveryVersion) {
  for (const uint32_t version :
       {18u, 19u, 21u, 24u, 26u, 27u, 28u, 130000u, 130001u, 130101u, 130500u}) {
    SCOPED_TRACE(version);
    const std::unique_ptr<CuptiSource> fresh = window_of_version(version);
    const uint64_t begun = now();
    for (uint32_t i = 1; i <= 50; ++i) {
      stub::call(launch_call(i, begun + i));
      KernelRecord record = kernel(i, begun + i + 500);
      record.graph_node = 70 + i;
      stub::emit_record(record);
      stub::emit_record(MemcpyRecord{.kind = Kind::kMemcpy,
                                     .copy_kind = 1,
                                     .bytes = i,
                                     .start = begun + i,
                                     .end = begun + i + 1,
                                     .correlation = i});
      stub::emit_record(
          SynchronizationRecord{Kind::kSynchronization, 3, begun, begun + i, i, 1, 7, 0});
    }
    fresh->disable();
    const json trace = end();
    const auto kernels = events(trace, "kernel");
    ASSERT_EQ(kernels.size(), 50u);
    EXPECT_EQ(kernels[49]["args"]["graph node id"], 120);
    EXPECT_EQ(events(trace, "gpu_memcpy")[49]["args"]["bytes"], 50);
    EXPECT_EQ(events(trace, "cuda_sync").size(), 50u);
    EXPECT_EQ(trace["redline"]["gpu"]["truncated"], 0);
    redline_discard();
  }
}

TEST_F(FreshSource, TakesCuptisClockForUnixTimeWhereItDoesNotTell) {
  stub::fail_cupti("cuptiGetTimestamp", 999);
  begin(false);
  source_.enable({});
  stub::emit_record(kernel(1, static_cast<uint64_t>(profiler::read_clocks().realtime_ns)));
  source_.disable();
  EXPECT_EQ(end()["redline"]["gpu"]["other_clock"], 0);
}

TEST_F(FreshSource, TellsAKernelsClusterAndWhereCuptiDoesItsPriority) {
  for (const uint32_t version : {28u, 130001u, 130101u, 130500u}) {
    SCOPED_TRACE(version);
    const std::unique_ptr<CuptiSource> fresh = window_of_version(version);
    KernelRecord work = kernel(1, now());
    work.cluster[0] = 2;
    work.cluster[1] = work.cluster[2] = 1;
    work.priority = -3;
    for (int i = 0; i < 3; ++i) stub::emit_record(work);
    fresh->disable();
    const auto kernels = events(end(), "kernel");
    ASSERT_EQ(kernels.size(), 3u);
    for (const json& each : kernels) {
      EXPECT_EQ(each["args"]["cluster"], json({2, 1, 1}));
      EXPECT_EQ(each["args"].contains("priority"), version >= kVersion13_1);
      EXPECT_EQ(each["args"].value("priority", -3), -3);
    }
    redline_discard();
  }
}

}  // namespace
}  // namespace redline::cupti
