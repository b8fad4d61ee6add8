// How CUPTI's records of one window look in a trace.
#include "profiler/cupti/activities.h"

#include <algorithm>

#include "profiler/cupti/testing_source.h"
#include "profiler/source/source.h"

namespace redline::cupti {
namespace {

using nlohmann::json;
using profiler::ExternalIdKind;

TEST_F(GpuWindow, WritesWhatKinetoWrites) {
  begin();
  const uint64_t begun = now();
  profiler::push_external_id(ExternalIdKind::kAnnotation, 7, "forward");
  profiler::push_external_id(ExternalIdKind::kOperator, 41, "");
  stub::call(launch_call(5, begun));
  profiler::pop_external_id(ExternalIdKind::kOperator);
  profiler::pop_external_id(ExternalIdKind::kAnnotation);
  constexpr uint32_t kIdsOfAnotherTool = 5;
  stub::emit_record(
      ExternalCorrelationRecord{Kind::kExternalCorrelation, kIdsOfAnotherTool, 99, 5, 0});
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
  EXPECT_EQ(spans[0]["args"], json({{"External id", 7}}));
  EXPECT_EQ(trace["deviceProperties"][0]["numSms"], 108);
  EXPECT_EQ(trace["cupti_version"], 130001);
  EXPECT_EQ(trace["cuda_driver_version"], 13000);
  EXPECT_EQ(trace["cuda_runtime_version"], 13020);
  EXPECT_EQ(trace["redline"]["gpu"]["dropped"], 0);
  EXPECT_EQ(trace["redline"]["gpu"]["spooled_bytes"], 0);
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
  for (const uint32_t type : {1U, 3U}) {  // of an event, of a stream
    stub::emit_record(
        SynchronizationRecord{Kind::kSynchronization, type, begun + 40, begun + 41, 7, 1, 7, 55});
  }
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
  ASSERT_EQ(waits.size(), 4u);
  EXPECT_EQ(waits[0]["args"], json::parse(R"({"cuda_sync_kind": "Stream Wait Event",
      "wait_on_stream": 20, "wait_on_cuda_event_record_corr_id": 4, "wait_on_cuda_event_id": 55,
      "stream": 7, "device": 0, "context": 1, "correlation": 5})"));
  EXPECT_EQ(waits[1]["args"]["stream"], -1);
  EXPECT_EQ(waits[2]["args"]["wait_on_stream"], 20);
  EXPECT_FALSE(waits[3]["args"].contains("wait_on_stream"));
  EXPECT_EQ(trace["redline"]["gpu"]["without_call"], 7);
}

TEST_F(GpuWindow, AWaitNamesTheRecordOfItsOwnContextAndTime) {
  begin();
  const uint64_t begun = now();
  // One event is recorded again and again. Another GPU has an event with the same number.
  for (uint32_t i = 0; i < 100; ++i) {
    const uint32_t correlation = 10 + 4 * i;
    stub::emit_record(CudaEventRecord{Kind::kCudaEvent, correlation, 1, 20, 55, 0});
    stub::emit_record(CudaEventRecord{Kind::kCudaEvent, correlation + 1, 2, 30, 55, 0});
    stub::emit_record(SynchronizationRecord{Kind::kSynchronization, 2, begun + i, begun + i + 1,
                                            correlation + 2, 1, 7, 55});
  }
  const auto waits = events(end(), "cuda_sync");
  ASSERT_EQ(waits.size(), 100u);
  for (const auto& wait : waits) {
    EXPECT_EQ(wait["args"]["wait_on_stream"], 20);
    EXPECT_EQ(wait["args"]["wait_on_cuda_event_record_corr_id"],
              wait["args"]["correlation"].get<int>() - 2);
  }
}

TEST_F(GpuWindow, AKernelThatSeemsToBeginBeforeItsCallKeepsItsArrow) {
  begin();
  const uint64_t begun = now();
  stub::call(launch_call(1, begun + 8000));
  stub::emit_record(kernel(1, begun));
  stub::call(launch_call(2, begun + 9000));
  stub::emit_record(kernel(2, begun + 9000));  // at once: not before it
  const json trace = end();
  const auto arrows = events(trace, "ac2g");
  ASSERT_EQ(arrows.size(), 4u);
  const auto kernel_begin = events(trace, "kernel")[0]["ts"];
  EXPECT_EQ(arrows[0]["ts"], kernel_begin) << "no arrow goes back in time";
  EXPECT_EQ(arrows[1]["ts"], kernel_begin);
  EXPECT_EQ(trace["redline"]["gpu"]["begun_before_call"], 1);
}

TEST_F(GpuWindow, EachCollectiveOfAGraphHasItsOwnAlgorithm) {
  begin();
  const uint64_t begun = now();
  const char* const names[] = {"ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                               "ncclDevKernel_AllReduce_Sum_f32_TREE_LL"};
  for (const uint64_t node : {0u, 1u}) {
    KernelRecord record = kernel(1, begun + 500 + node * 2000, names[node]);
    record.graph = 3;
    record.graph_node = 900 + node;
    stub::emit_record(record);
  }
  stub::wait_for_flushes(2);  // both wait for their call, with the same correlation
  stub::call(launch_call(1, begun, 311));
  const auto kernels = events(end(), "kernel");
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0]["args"]["Algorithm"], "RING");
  EXPECT_EQ(kernels[1]["args"]["Algorithm"], "TREE");
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

TEST_F(FreshSource, WorkWaitsForItsCallAsLongAsCuptiKeepsIt) {
  begin(false);
  source_.enable({});
  const uint64_t begun = now();
  // CUPTI holds the buffer that begins with the call back for several flushes, because work in it
  // is not over.
  stub::emit_record(kernel(1, begun + 500), 1);
  stub::emit_record(
      SynchronizationRecord{Kind::kSynchronization, 3, begun + 400, begun + 9000, 1, 1, 7, 0}, 1);
  profiler::push_external_id(ExternalIdKind::kAnnotation, 1, "forward");
  profiler::push_external_id(ExternalIdKind::kOperator, 41, "");
  stub::call(launch_call(1, begun), 2);
  profiler::pop_external_id(ExternalIdKind::kOperator);
  profiler::pop_external_id(ExternalIdKind::kAnnotation);
  stub::keep_buffer_of(2);
  stub::wait_for_flushes(4);
  source_.disable();
  const json trace = end();
  const auto kernels = events(trace, "kernel");
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0]["args"]["External id"], 41);
  EXPECT_EQ(events(trace, "ac2g").size(), 2u);
  const auto spans = events(trace, "gpu_user_annotation");
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0]["dur"], 1.002) << "of the kernel: to wait is no work";
  EXPECT_EQ(trace["redline"]["gpu"]["without_call"], 0);
}

TEST_F(GpuWindow, WorkOfACallThatIsNotShownHasItsOperator) {
  begin();
  const uint64_t begun = now();
  profiler::push_external_id(ExternalIdKind::kOperator, 41, "");
  ApiRecord hidden = launch_call(1, begun, 1);
  hidden.kind = Kind::kDriver;
  stub::call(hidden);
  profiler::pop_external_id(ExternalIdKind::kOperator);
  stub::emit_record(MemsetRecord{
      .kind = Kind::kMemset, .start = begun + 500, .end = begun + 600, .correlation = 1});
  const json trace = end();
  const auto sets = events(trace, "gpu_memset");
  ASSERT_EQ(sets.size(), 1u);
  EXPECT_EQ(sets[0]["args"]["External id"], 41);
  EXPECT_TRUE(events(trace, "ac2g").empty());
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

uint64_t unix_ns() { return now() + 1'795'000'000'000'000'000; }
uint64_t cycles() { return 3 * now() + 12'345; }

class OtherClock : public GpuWindow {
 protected:
  /// By how much the trace has the times of a kernel on this clock too early, late or short.
  [[nodiscard]] int64_t error_ns(uint64_t (*clock)()) const {
    stub::set_cupti_clock(clock);
    begin();
    const uint64_t before = now();
    KernelRecord work = kernel(1, clock());
    usleep(1000);
    work.end = clock();
    const uint64_t after = now();
    stub::emit_record(work);
    const json trace = end();
    redline_discard();
    const auto kernels = events(trace, "kernel");
    EXPECT_EQ(kernels.size(), 1u);
    EXPECT_EQ(trace["redline"]["gpu"]["other_clock"], 0);
    const auto clocks = trace["redline"]["clocks"][0];
    const auto begin_ns = int64_t(kernels.at(0)["ts"].get<double>() * 1000) +
                          std::stoll(trace["baseTimeNanoseconds"].dump()) -
                          clocks["realtime_ns"].get<int64_t>() +
                          clocks["monotonic_ns"].get<int64_t>();
    const auto length_ns = int64_t(kernels.at(0)["dur"].get<double>() * 1000);
    return std::max<int64_t>(
        {int64_t(before) - begin_ns, begin_ns + length_ns - int64_t(after), 1'000'000 - length_ns});
  }
};

TEST_F(OtherClock, ItsTimesBecomeOurs) {
  constexpr int64_t kReadingErrorNs = 20'000;  // so large because of other work on the machine
  for (uint64_t (*clock)() : {unix_ns, cycles}) {
    int64_t error = error_ns(clock);
    // A thread that is held up between its readings of the two clocks errs by more.
    for (int i = 0; i < 20 && error > kReadingErrorNs; ++i) error = error_ns(clock);
    EXPECT_LE(error, kReadingErrorNs);
  }
}

TEST_F(GpuWindow, ACallThatCuptiCannotNameIsShown) {
  stub::fail_cupti("cuptiGetCallbackName", 999);
  begin();
  EXPECT_TRUE(stub::is_recorded(kRuntimeDomain, 17)) << "nobody knows that it is noise";
  stub::call(launch_call(1, now(), 17));
  const auto calls = events(end(), "cuda_runtime");
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0]["name"], "INVALID");
}

TEST_F(GpuWindow, AnAnnotationOfAnotherWindowHasNoNameHere) {
  begin();
  profiler::push_external_id(ExternalIdKind::kAnnotation, 7, "forward");
  profiler::pop_external_id(ExternalIdKind::kAnnotation);
  static_cast<void>(end());
  begin();
  const uint64_t begun = now();
  stub::emit_record(ExternalCorrelationRecord{Kind::kExternalCorrelation, kAnnotationIds, 7, 5, 0});
  stub::emit_record(launch_call(5, begun));
  stub::emit_record(kernel(5, begun + 500));
  const auto spans = events(end(), "gpu_user_annotation");
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0]["name"], "(name not kept)");
}

TEST_F(GpuWindow, OverheadsHaveARowAndWorkMayHaveNoLength) {
  begin();
  const uint64_t begun = now();
  stub::emit_record(OverheadRecord{Kind::kOverhead, 1 << 16, 0, {}, begun + 5, begun + 105});
  KernelRecord moment = kernel(1, begun + 10, nullptr);
  moment.end = moment.start;
  stub::emit_record(moment);
  KernelRecord without_start = kernel(2, begun + 20);
  without_start.start = 0;
  stub::emit_record(without_start);
  KernelRecord of_another_gpu = kernel(3, begun + 30);
  of_another_gpu.device = 200;  // more than a row's number can say
  stub::emit_record(of_another_gpu);
  const json trace = end();
  const auto overheads = events(trace, "overhead");
  ASSERT_EQ(overheads.size(), 1U);
  EXPECT_EQ(overheads[0]["name"], "Buffer Flush");
  EXPECT_EQ(overheads[0]["pid"], -1);
  EXPECT_EQ(overheads[0]["dur"], 0.1);
  EXPECT_EQ(overheads[0]["tid"], 0);
  EXPECT_EQ(overheads[0]["args"], json::object());
  const auto kernels = events(trace, "kernel");
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(kernels[0]["dur"], 0.0);
  EXPECT_EQ(kernels[0]["name"], "(unnamed)");
  EXPECT_EQ(kernels[1]["pid"], 127);
  EXPECT_EQ(trace["redline"]["gpu"]["incomplete"], 1);
}

}  // namespace
}  // namespace redline::cupti
