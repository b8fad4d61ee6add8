// Each rule just below its limit, where it is silent, and just above, where it speaks. Most steps
// take 100 ms, so a millisecond is a percent.
#include <gtest/gtest.h>

#include <functional>

#include "tests/parsed_trace.h"
#include "trace/advice/advice.h"
#include "trace/advice/testing_rules.h"

namespace redline::trace {
namespace {

using namespace redline::testing;

// A wait of the host for a kernel, behind which the GPU idles.
TraceText waiting(int64_t idle_ns) {
  return gpu_step(40 * kMs)
      .runtime("cudaStreamSynchronize", 10 * kMs, 40 * kMs)
      .kernel("k", 40 * kMs + kUs + idle_ns, 100 * kMs, on_stream(7));
}

struct Limit {
  const char* rule;
  const char* what;
  std::function<TraceText(int64_t)> of;
  int64_t without, with;  ///< the rule is silent, and speaks
};

TEST(AdviceLimits, RulesSpeakFromTheirLimitOn) {
  const std::vector<Limit> limits = {
      {"dataloader_wait", "more than 5 %",
       [](int64_t ns) { return one_step().annotation(kSingle, 0, ns); }, 5 * kMs, 5 * kMs + 1},
      {"pageable_copies", "more than 0.5 %", copying, kMs / 2, kMs / 2 + 1},
      {"layout_transposes", "1 %",
       [](int64_t ns) {
         return gpu_step(60 * kMs).kernel("void nchwToNhwcKernel<float>", 61 * kMs, 61 * kMs + ns,
                                          on_stream(7));
       },
       kMs - 1, kMs},
      {"launch_bound", "100 kernels a step",
       [](int64_t count) { return launches(static_cast<int>(count), kMs); }, 99, 100},
      {"launch_bound", "15 % without work", [](int64_t ns) { return launches(100, kMs, ns); },
       850 * kUs + 1, 850 * kUs},
      {"synchronizing_calls", "2 %", waiting, 2 * kMs - 1, 2 * kMs},
      {"tiny_operators", "200 a step",
       [](int64_t count) { return operators(static_cast<int>(count), 15 * kUs, 20 * kMs); }, 199,
       200},
      {"tiny_operators", "more than 10 %",
       [](int64_t count) { return operators(static_cast<int>(count), 10 * kUs); }, 1000, 1001},
      {"tiny_operators", "less than 20 us", [](int64_t ns) { return operators(1000, ns); },
       20 * kUs, 20 * kUs - 1},
      {"page_faults", "5 % of the CPU time",
       [](int64_t percent) { return faulting(1'000'000, percent, 200); }, 9, 10},
      {"page_faults", "5 us of the kernel for each",
       [](int64_t faults) { return faulting(faults, 20); }, 39'999, 40'000},
      {"cpu_oversubscribed", "3 %",
       [](int64_t count) { return stalls(static_cast<int>(count), kMs); }, 2, 3},
      {"cpu_oversubscribed", "1 ms each", [](int64_t ns) { return stalls(4, ns); }, kMs - 1, kMs},
      {"cpu_oversubscribed", "as often as there are steps",
       [](int64_t count) { return stalls(static_cast<int>(count), 4 * kMs, 2); }, 1, 2},
      {"cpu_oversubscribed", "less than half of the call busy",
       [](int64_t ns) {
         return stalls(1, 10 * kMs)
             .runtime("cudaLaunchKernel", 5 * kMs, 6 * kMs - 1, 9)
             .kernel("beside", 80 * kMs, 80 * kMs + ns, on_stream(9, 9));
       },
       5 * kMs, 5 * kMs - 1},
      {"low_gpu_utilization", "less than 50 %", [](int64_t ns) { return gpu_step(ns); }, 50 * kMs,
       50 * kMs - kUs},
      {"low_gpu_utilization", "10 % unknown",
       [](int64_t ns) {
         return gpu_step(40 * kMs).cpu_op("aten::relu", 40 * kMs + kUs, 100 * kMs - ns);
       },
       10 * kMs - 1, 10 * kMs},
      {"range_without_operators", "more than 20 %",
       [](int64_t ns) {
         return one_step().annotation("load", 0, ns).cpu_op("aten::relu", ns, 100 * kMs);
       },
       20 * kMs, 20 * kMs + 1},
      {"range_without_operators", "80 % of the range",
       [](int64_t ns) {
         return one_step().annotation("load", 0, 100 * kMs).cpu_op("aten::relu", ns, 100 * kMs);
       },
       80 * kMs - 1, 80 * kMs},
      {"optimizer_per_parameter", "more than 2 %", [](int64_t ns) { return optimizer(50, ns); },
       2 * kMs, 2 * kMs + 1},
      {"optimizer_per_parameter", "50 operators a step",
       [](int64_t count) { return optimizer(static_cast<int>(count), 5 * kMs); }, 49, 50},
      {"data_parallel", "2 %",
       [](int64_t ns) {
         return gpu_step(50 * kMs)
             .annotation("DataParallel.forward", 10 * kMs, 90 * kMs)
             .cpu_op("Broadcast", 11 * kMs, 11 * kMs + ns);
       },
       2 * kMs - 1, 2 * kMs},
      {"gpus_take_turns", "10 % on each",
       [](int64_t ns) { return second_gpu(30 * kMs, 50 * kMs, 50 * kMs + ns); }, 10 * kMs - 1,
       10 * kMs},
      {"gpus_take_turns", "at most 10 % together",
       [](int64_t ns) { return second_gpu(30 * kMs, 30 * kMs + kUs - ns, 50 * kMs + kUs); },
       5 * kMs + 1, 5 * kMs},
      {"gpu_throttled", "10 %", [](int64_t ns) { return throttled(ns); }, 10 * kMs - 1, 10 * kMs},
      {"device_memory_full", "more than 90 %", [](int64_t bytes) { return memory(bytes); }, 900,
       901},
      {"memory_unused", "less than 50 %", [](int64_t bytes) { return memory(bytes); }, 500, 499},
      {"memory_unused", "1.1 x", [](int64_t ns) { return memory(300, ns); }, 91 * kMs, 90 * kMs},
      {"allocator_retries", "1 %", [](int64_t ns) { return allocating(3, 3, ns); }, kMs - 1, kMs},
      {"allocator_retries", "most steps",
       [](int64_t calls) { return allocating(4, static_cast<int>(calls), 30 * kMs); }, 2, 3},
      {"allocator_retries", "several steps",
       [](int64_t steps) {
         return allocating(static_cast<int>(steps), static_cast<int>(steps), 30 * kMs);
       },
       1, 2},
      {"communication", "more than 5 %", gloo, 5 * kMs, 5 * kMs + 1},
      {"accumulation_reduces", "more than 5 %", [](int64_t ns) { return accumulating(ns); },
       5 * kMs, 5 * kMs + 1},
      {"accumulation_reduces", "more than 5 % of three",
       [](int64_t ns) { return accumulating(ns, 3); }, 5 * kMs / 2, 5 * kMs / 2 + 2},
      {"startup_recorded", "25 %", [](int64_t ns) { return set_up(500 * kMs, ns); }, 2000 * kMs + 8,
       2000 * kMs},
      {"startup_recorded", "half a second", [](int64_t ns) { return set_up(ns, 1000 * kMs); },
       500 * kMs - 1, 500 * kMs},
      {"startup_recorded", "a first step of 25 % more", first_step, 20 * kMs - 10, 20 * kMs},
      {"float32_matrix_work", "more than 20 %",
       [](int64_t ns) { return one_step().cpu_op("aten::mm", 0, ns); }, 20 * kMs, 20 * kMs + 1},
      {"tf32_off", "1 %, of half as fast",
       [](int64_t ns) { return gpu_step(ns, "ampere_sgemm", gpu("A10", 8, 6)); }, 2 * kMs - 2,
       2 * kMs},
      {"tensor_cores_unused", "1 %, of half as fast",
       [](int64_t ns) {
         return gpu_step(ns, "cutlass_80_tensorop_s1688gemm_128x64", gpu("A10", 8, 6));
       },
       2 * kMs - 2, 2 * kMs},
      {"batch_of_one", "one sample a rank",
       [](int64_t samples) {
         return one_step().rank(0, 2).top(
             fmt::format(R"("redline": {{"inference": true, "samples_per_step": {}}})", samples));
       },
       3, 2},
  };
  for (const Limit& limit : limits) {
    SCOPED_TRACE(fmt::format("{}: {}", limit.rule, limit.what));
    EXPECT_EQ(said(limit.of(limit.without), limit.rule), "");
    EXPECT_NE(said(limit.of(limit.with), limit.rule), "");
  }
}

}  // namespace
}  // namespace redline::trace
