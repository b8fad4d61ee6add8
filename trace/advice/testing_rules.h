// Traces that one rule of the advice speaks of, for the tests of its limits and of what it says.
// Most steps take 100 ms, so that a millisecond is a percent.
#pragma once

#include <cstdint>

#include "tests/small_steps.h"

namespace redline::testing {

inline constexpr const char* kSingle =
    "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
inline constexpr const char* kMulti =
    "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
inline constexpr const char* kReduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";

inline TraceText operators(int count, int64_t length_ns, int64_t step_ns = 100 * kMs) {
  TraceText text = TraceText().step(0, 0, step_ns);
  for (int i = 0; i < count; ++i) {
    text.cpu_op("aten::add", i * 50 * kUs, i * 50 * kUs + length_ns);
  }
  return text;
}

/// Launches that take long while the GPU idles, the first one in the last of the steps.
inline TraceText stalls(int count, int64_t length_ns, int steps = 1) {
  TraceText text;
  text.top(gpu("V100", 7, 0));
  uint32_t id = 0;
  const auto launch = [&](int64_t begin_ns, int64_t ns) {
    ++id;
    text.runtime("cudaLaunchKernel", begin_ns, begin_ns + ns, id)
        .kernel("k", begin_ns + ns, begin_ns + ns + kMs, on_stream(7, id));
  };
  for (int i = 0; i < steps; ++i) {
    text.step(i, i * 100 * kMs / steps, (i + 1) * 100 * kMs / steps);
    launch(i * 100 * kMs / steps, kUs);
  }
  for (int i = 0; i < count; ++i) launch((80 - 20 * i) * kMs, length_ns);
  return text;
}

inline TraceText optimizer(int count, int64_t length_ns) {
  TraceText text = one_step().annotation("Optimizer.step#SGD.step", 50 * kMs, 50 * kMs + length_ns);
  for (int i = 0; i < count; ++i) {
    text.cpu_op("aten::mul_", 50 * kMs + i * 30 * kUs, 50 * kMs + (i + 1) * 30 * kUs);
  }
  return text;
}

/// Two GPUs of one process.
inline TraceText second_gpu(int64_t first_ns, int64_t begin_ns, int64_t end_ns) {
  return gpu_step(first_ns).kernel("k", begin_ns, end_ns, {.pid = "1", .tid = "9"});
}

inline TraceText throttled(int64_t ns, const char* why = "heat") {
  TraceText text = gpu_step(99 * kMs);
  for (const int64_t time_ns : {int64_t{0}, ns}) {
    text.event(fmt::format(R"({{"ph": "C", "cat": "counter", "name": "GPU 3 throttled", "pid": 1, )"
                           R"("tid": 0, "ts": {}.{:03}, "args": {{"{}": {}}}}})",
                           time_ns / 1000, time_ns % 1000, why, time_ns == 0 ? 1 : 0));
  }
  return text;
}

/// A step on the CPU whose process takes memory from the kernel, by the counters of the machine.
inline TraceText faulting(int64_t faults_per_s, int64_t kernel_percent, int64_t cpu_percent = 100,
                          const char* run = R"("malloc": "libc.so.6", "environment": {})") {
  TraceText text = one_step().cpu_op("aten::mm", 0, 90 * kMs);
  text.top(fmt::format(R"("run": {{{}}})", run));
  const auto count = [&](const char* name, const char* unit, int64_t value) {
    for (const int64_t us : {20'000, 80'000}) {
      text.event(fmt::format(R"({{"ph": "C", "cat": "counter", "name": "{}", "pid": 1, "tid": 0, )"
                             R"("ts": {}, "args": {{"{}": {}}}}})",
                             name, us, unit, value));
    }
  };
  count("Page faults", "a second", faults_per_s);
  count("Process CPU", "% of a core", cpu_percent);
  count("Process CPU in the kernel", "% of a core", kernel_percent);
  return text;
}

inline TraceText allocating(int steps, int calls, int64_t length_ns) {
  TraceText text;
  for (int i = 0; i < steps; ++i) {
    const auto id = static_cast<uint32_t>(i + 1);
    const int64_t begin_ns = i * 100 * kMs;
    text.step(i, begin_ns, begin_ns + 100 * kMs);
    text.runtime("cudaLaunchKernel", begin_ns, begin_ns + kUs, id);
    text.kernel("k", begin_ns + kUs, begin_ns + 60 * kMs, on_stream(7, id));
    if (i < calls) text.runtime("cudaFree", begin_ns + 60 * kMs, begin_ns + 60 * kMs + length_ns);
  }
  return text;
}

inline TraceText gloo(int64_t ns) {
  return one_step().rank(0, 2).slice("user_annotation", "gloo:all_reduce", 0, ns, {.tid = "2"});
}

inline TraceText accumulating(int64_t reduction_ns, int passes = 2) {
  TraceText text = one_step().rank(0, 2);
  for (int i = 0; i < passes; ++i) {
    const int64_t begin_ns = i * 100 * kMs / passes;
    text.annotation("DistributedDataParallel.forward", begin_ns, begin_ns + 5 * kMs);
    text.slice("user_annotation", "gloo:all_reduce", begin_ns + 6 * kMs,
               begin_ns + 6 * kMs + reduction_ns, {.tid = "2"});
  }
  return text;
}

inline TraceText set_up(int64_t call_ns, int64_t end_ns) {
  return TraceText()
      .cpu_op("aten::empty", 0, end_ns)
      .runtime("cudaFree", kUs, kUs + call_ns)
      .runtime("cudaLaunchKernel", 10 * kUs + call_ns, 11 * kUs + call_ns, 1);
}

inline TraceText first_step(int64_t ns) {
  return TraceText()
      .step(0, 0, ns)
      .step(1, ns, ns + 10 * kMs)
      .step(2, ns + 10 * kMs, ns + 20 * kMs);
}

inline TraceText memory(int64_t bytes, int64_t kernel_ns = 60 * kMs) {
  return gpu_step(kernel_ns)
      .kernel("k", kUs, kUs + kernel_ns, on_stream(8, 0, R"("blocks per SM": 2)"))
      .event(holding(bytes));
}

inline TraceText copying(int64_t ns) {
  return gpu_step(60 * kMs)
      .runtime("cudaMemcpyAsync", 70 * kMs, 70 * kMs + ns, 2)
      .slice("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 70 * kMs, 70 * kMs + ns,
             on_stream(7, 2, R"("bytes": 1024)"));
}

}  // namespace redline::testing
