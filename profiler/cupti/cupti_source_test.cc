// The recorder with a GPU that the stub libcupti.so stands for: what is in the trace, and what is
// left of it when CUPTI fails in each of the ways that it can.
#include "profiler/cupti/cupti_source.h"

#include <gmock/gmock.h>

#include "profiler/cupti/testing_window.h"

namespace redline::cupti {
namespace {

using nlohmann::json;
using profiler::ExternalIdKind;
using testing::HasSubstr;

TEST_F(GpuWindow, WritesWhatKinetoWrites) {
  begin();
  const uint64_t begun = now();
  profiler::push_external_id(ExternalIdKind::kAnnotation, 7, "forward");
  profiler::push_external_id(ExternalIdKind::kOperator, 41, "");
  stub::call(launch_call(5, begun));
  profiler::pop_external_id(ExternalIdKind::kOperator);
  profiler::pop_external_id(ExternalIdKind::kAnnotation);
  stub::emit_record(kernel(5, begun + 2000));
  const json trace = end();
  const auto kernels = events(trace, "kernel");
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0]["name"], "add(float*)");
  EXPECT_EQ(kernels[0]["pid"], 0);
  EXPECT_EQ(kernels[0]["tid"], 7);
  EXPECT_EQ(kernels[0]["dur"], 1.0);
  EXPECT_EQ(kernels[0]["args"],
            json::parse(R"({"External id": 41, "queued": 0, "device": 0, "context": 1, "stream": 7,
      "correlation": 5, "registers per thread": 32, "shared memory": 768, "blocks per SM": 2.0,
      "warps per SM": 16.0, "grid": [216, 1, 1], "block": [256, 1, 1],
      "est. achieved occupancy %": 25,
      "occupancy": {"activeBlocksPerMultiprocessor": 8, "limitingFactors": "WARPS|REGS"}})"));
  const auto calls = events(trace, "cuda_runtime");
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0]["name"], "cudaLaunchKernel");
  EXPECT_EQ(calls[0]["tid"], gettid());
  EXPECT_EQ(calls[0]["args"], json({{"External id", 41}, {"cbid", 211}, {"correlation", 5}}));
  const auto arrows = events(trace, "ac2g");
  ASSERT_EQ(arrows.size(), 2u);
  EXPECT_EQ(arrows[0]["ts"], calls[0]["ts"]);
  EXPECT_EQ(arrows[1]["ts"], kernels[0]["ts"]);
  EXPECT_EQ(arrows[1]["pid"], 0);
  EXPECT_EQ(arrows[1]["tid"], 7);
  const auto spans = events(trace, "gpu_user_annotation");
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0]["name"], "forward");
  EXPECT_EQ(spans[0]["dur"], 1.002);
  EXPECT_EQ(trace["deviceProperties"][0]["numSms"], 108);
  EXPECT_EQ(trace["cupti_version"], 130001);
  EXPECT_EQ(trace["redline"]["gpu"]["dropped"], 0);
}

TEST_F(GpuWindow, TiesTheNodesOfAGraphToItsLaunch) {
  begin();
  const uint64_t begun = now();
  for (uint32_t replay = 0; replay < 3; ++replay) {
    stub::call(launch_call(10 + replay, begun + replay * 50'000, 311));
    for (uint64_t node = 0; node < 10; ++node) {
      KernelRecord record = kernel(10 + replay, begun + replay * 50'000 + 2000 + node * 1500);
      record.graph = 3;
      record.graph_node = 900 + node;
      stub::emit_record(record);
    }
  }
  const json trace = end();
  const auto kernels = events(trace, "kernel");
  ASSERT_EQ(kernels.size(), 30u);
  EXPECT_EQ(kernels[4]["args"]["graph id"], 3);
  EXPECT_EQ(kernels[4]["args"]["graph node id"], 904);
  EXPECT_EQ(events(trace, "ac2g").size(), 6u);
}

TEST_F(GpuWindow, CopiesSetsAndWaits) {
  begin();
  const uint64_t begun = now();
  stub::emit_record(MemcpyRecord{.kind = Kind::kMemcpy,
                                 .copy_kind = 1,
                                 .source_kind = 2,
                                 .destination_kind = 3,
                                 .bytes = 4000,
                                 .start = begun + 10,
                                 .end = begun + 1010,
                                 .context = 1,
                                 .stream = 7,
                                 .correlation = 1});
  stub::emit_record(PeerCopyRecord{.kind = Kind::kPeerCopy,
                                   .copy_kind = 10,
                                   .source_kind = 3,
                                   .destination_kind = 3,
                                   .bytes = 64,
                                   .start = begun + 10,
                                   .end = begun + 10,
                                   .device = 1,
                                   .context = 2,
                                   .stream = 13,
                                   .source_device = 1,
                                   .source_context = 2,
                                   .destination_device = 0,
                                   .destination_context = 1,
                                   .correlation = 2});
  stub::emit_record(MemsetRecord{.kind = Kind::kMemset,
                                 .bytes = 128,
                                 .start = begun + 20,
                                 .end = begun + 84,
                                 .context = 1,
                                 .stream = 7,
                                 .correlation = 3,
                                 .memory_kind = 3});
  stub::emit_record(CudaEventRecord{Kind::kCudaEvent, 4, 1, 20, 55, 0});
  stub::emit_record(
      SynchronizationRecord{Kind::kSynchronization, 2, begun + 30, begun + 31, 5, 1, 7, 55});
  stub::emit_record(
      SynchronizationRecord{Kind::kSynchronization, 4, begun + 30, begun + 31, 6, 1, kNoStream, 0});
  const json trace = end();
  const auto copies = events(trace, "gpu_memcpy");
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_EQ(copies[0]["name"], "Memcpy HtoD (Pinned -> Device)");
  EXPECT_EQ(copies[0]["args"], json::parse(R"json({"device": 0, "context": 1, "stream": 7,
      "correlation": 1, "bytes": 4000, "memory bandwidth (GB/s)": 4.0})json"));
  EXPECT_EQ(copies[1]["name"], "Memcpy PtoP (Device -> Device)");
  EXPECT_EQ(copies[1]["args"], json::parse(R"({"fromDevice": 1, "inDevice": 1, "toDevice": 0,
      "fromContext": 2, "inContext": 2, "toContext": 1, "stream": 13, "correlation": 2,
      "bytes": 64})"));
  EXPECT_EQ(events(trace, "gpu_memset")[0]["name"], "Memset (Device)");
  const auto waits = events(trace, "cuda_sync");
  ASSERT_EQ(waits.size(), 2u);
  EXPECT_EQ(waits[0]["args"], json::parse(R"({"cuda_sync_kind": "Stream Wait Event",
      "wait_on_stream": 20, "wait_on_cuda_event_record_corr_id": 4, "wait_on_cuda_event_id": 55,
      "stream": 7, "device": 0, "context": 1, "correlation": 5})"));
  EXPECT_EQ(waits[1]["args"]["stream"], -1);
  EXPECT_EQ(trace["redline"]["gpu"]["without_call"], 5);
}

TEST_F(GpuWindow, LeavesOutNoiseAndTheDriversCallsWithinTheRuntimes) {
  begin();
  const uint64_t begun = now();
  stub::call(launch_call(1, begun, 17));
  stub::call(launch_call(2, begun + 10));
  for (const uint32_t correlation : {2u, 3u}) {
    ApiRecord driver = launch_call(correlation, begun + 20, 307);
    driver.kind = Kind::kDriver;
    stub::emit_record(driver);
  }
  ApiRecord other = launch_call(4, begun + 30, 1);
  other.kind = Kind::kDriver;
  stub::emit_record(other);
  const json trace = end();
  EXPECT_EQ(events(trace, "cuda_runtime").size(), 1u);
  const auto driver = events(trace, "cuda_driver");
  ASSERT_EQ(driver.size(), 1u);
  EXPECT_EQ(driver[0]["args"]["correlation"], 3);
}

TEST_F(GpuWindow, JoinsBuffersInAnyOrder) {
  stub::reverse_buffers(true);
  begin();
  const uint64_t begun = now();
  for (uint32_t i = 1; i <= 100; ++i) {
    stub::emit_record(
        ExternalCorrelationRecord{Kind::kExternalCorrelation, kOperatorIds, 1000 + i, i, 0}, 0);
    stub::emit_record(launch_call(i, begun + i * 10), 1);
    stub::emit_record(kernel(i, begun + i * 10 + 500), 2);
  }
  const json trace = end();
  const auto kernels = events(trace, "kernel");
  ASSERT_EQ(kernels.size(), 100u);
  for (const auto& each : kernels) {
    EXPECT_EQ(each["args"]["External id"], 1000 + each["args"]["correlation"].get<int>());
  }
  EXPECT_EQ(events(trace, "ac2g").size(), 200u);
  EXPECT_EQ(trace["redline"]["gpu"]["without_call"], 0);
}

TEST_F(GpuWindow, ACorrelationThatComesAgainMeansItsLastCall) {
  begin();
  const uint64_t begun = now();
  for (const uint32_t round : {0u, 1u}) {
    stub::emit_record(
        ExternalCorrelationRecord{Kind::kExternalCorrelation, kOperatorIds, 100 + round, 9, 0});
    stub::emit_record(launch_call(9, begun + round * 100'000));
  }
  stub::emit_record(kernel(9, begun + 100'500), 1);
  stub::emit_record(kernel(9, begun + 500), 1);
  const json trace = end();
  const auto kernels = events(trace, "kernel");
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0]["args"]["External id"], 101);
  EXPECT_EQ(kernels[1]["args"]["External id"], 100);
}

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
  // Once a process: doing it again costs the first kernels of each later window.
  EXPECT_LE(stub::cupti_calls("cuptiActivityRegisterTimestampCallback"), 1);
  EXPECT_LE(stub::cupti_calls("cuptiActivityRegisterCallbacks"), 1);
}

TEST_F(GpuWindow, BuffersThatComeAfterTheEndBelongToNoLaterWindow) {
  begin();
  stub::hold_buffers(true);
  stub::call(launch_call(1, now()));
  EXPECT_TRUE(events(end(), "cuda_runtime").empty());
  begin();
  stub::hold_buffers(false);
  stub::call(launch_call(2, now()));
  const auto calls = events(end(), "cuda_runtime");
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0]["args"]["correlation"], 2);
}

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
  EXPECT_EQ(gpu["incomplete"], 1);
  EXPECT_EQ(events(trace, "user_annotation").size(), 1u);
  EXPECT_TRUE(events(trace, "kernel").empty());
}

TEST_F(GpuWindow, UnixTimesOfAClockThatWasNotOursAreOurs) {
  begin();
  const auto clocks = profiler::read_clocks();
  stub::emit_record(kernel(1, static_cast<uint64_t>(clocks.realtime_ns)));
  const json trace = end();
  ASSERT_EQ(events(trace, "kernel").size(), 1u);
  EXPECT_EQ(trace["redline"]["gpu"]["other_clock"], 0);
}

TEST_F(GpuWindow, RecordsNoGpuThatNobodyAskedFor) {
  begin(false);
  EXPECT_FALSE(stub::is_enabled(Kind::kConcurrentKernel));
  EXPECT_FALSE(profiler::wants_external_ids());
  EXPECT_FALSE(end()["redline"].contains("gpu"));
}

/// A source as the first of its process finds CUPTI.
class FreshSource : public GpuWindow {
 protected:
  /// The trace of a window in which `source` was on, with one range of the CPU and one kernel.
  [[nodiscard]] json recorded() {
    begin(false);
    testing::internal::CaptureStderr();
    source_.enable({});
    redline_range_push("on the CPU");
    redline_range_pop();
    if (stub::is_enabled(Kind::kConcurrentKernel)) {
      const uint64_t begun = now();
      stub::call(launch_call(1, begun));
      stub::emit_record(kernel(1, begun + 500));
    }
    source_.disable();
    said_ = testing::internal::GetCapturedStderr();
    return end();
  }

  CuptiSource source_;
  std::string said_;
};

struct Failure {
  const char* function;
  int result;
  const char* said;
};

TEST_F(FreshSource, EachFailureLeavesACpuTraceAndOneLine) {
  const Failure failures[] = {
      {"cuptiGetVersion", 999, "CUPTI_ERROR_UNKNOWN"},
      {"cuptiActivityRegisterCallbacks", 999, "CUPTI_ERROR_UNKNOWN"},
      {"cuptiActivityEnable", 15, "too old"},
      {"cuptiActivityEnable", 35, "NVreg_RestrictProfilingToAdminUsers"},
      {"cuptiActivityEnable", 39, "one tool at a time"},
      {"cuptiActivityEnable", 45, "WSL"},
  };
  for (const auto& [function, result, said] : failures) {
    SCOPED_TRACE(std::string(function) + " " + std::to_string(result));
    stub::reset_cupti();
    stub::fail_cupti(function, result);
    CuptiSource fresh;
    begin(false);
    testing::internal::CaptureStderr();
    for (int window = 0; window < 2; ++window) {
      fresh.enable({});
      fresh.disable();
    }
    const std::string all = testing::internal::GetCapturedStderr();
    EXPECT_THAT(all, HasSubstr("redline: no GPU activity in the trace: "));
    EXPECT_THAT(all, HasSubstr(said));
    EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 1);
    redline_range_push("on the CPU");
    redline_range_pop();
    const json trace = end();
    EXPECT_EQ(events(trace, "user_annotation").size(), 1u);
    EXPECT_THAT(std::string(trace["redline"]["gpu"]["off"]), HasSubstr(said));
    redline_discard();
  }
}

TEST_F(FreshSource, WhatIsNotNeededMayFail) {
  for (const char* function :
       {"cuptiActivitySetAttribute", "cuptiSetThreadIdType",
        "cuptiActivityRegisterTimestampCallback", "cuptiActivityGetNumDroppedRecords"}) {
    SCOPED_TRACE(function);
    stub::reset_cupti();
    stub::fail_cupti(function, 999);
    const json trace = recorded();
    EXPECT_EQ(events(trace, "kernel").size(), 1u);
    EXPECT_EQ(said_, "");
  }
}

TEST_F(FreshSource, AnotherToolIsAskedAgainInTheNextWindow) {
  stub::fail_cupti("cuptiActivityEnable", kMultipleSubscribers);
  EXPECT_TRUE(events(recorded(), "kernel").empty());
  stub::fail_cupti("cuptiActivityEnable", 0);
  EXPECT_EQ(events(recorded(), "kernel").size(), 1u);
}

TEST_F(FreshSource, ReadsTheRecordsOfEveryVersion) {
  for (const uint32_t version : {18u, 19u, 21u, 24u, 26u, 27u, 28u, 130000u, 130001u}) {
    SCOPED_TRACE(version);
    stub::reset_cupti();
    stub::set_cupti_version(version);
    CuptiSource fresh;
    begin(false);
    fresh.enable({});
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
    fresh.disable();
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

TEST_F(FreshSource, RefusesAnOlderCupti) {
  stub::set_cupti_version(17);
  EXPECT_THAT(std::string(recorded()["redline"]["gpu"]["off"]), HasSubstr("CUDA 11.8 or later"));
}

}  // namespace
}  // namespace redline::cupti
