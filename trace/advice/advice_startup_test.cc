#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parsed_trace.h"
#include "tests/small_steps.h"
#include "trace/advice/advice.h"
#include "trace/advice/testing_rules.h"

namespace redline::trace {
namespace {

using namespace redline::testing;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::Not;

TEST(AdviceStartup, AFirstStepIsNotJudgedAsTraining) {
  const auto advice = [](int first, int64_t first_ns) {
    return advice_on(TraceText()
                         .step(first, 0, first_ns)
                         .step(first + 1, first_ns, first_ns + 10 * kMs)
                         .step(first + 2, first_ns + 10 * kMs, first_ns + 20 * kMs)
                         .cpu_op("aten::mm", 0, first_ns));
  };
  const auto cold = advice(0, 100 * kMs);
  ASSERT_EQ(cold.size(), 1);
  EXPECT_EQ(cold[0].rule, "startup_recorded");
  EXPECT_EQ(cold[0].headline, "Step 0 starts up: 100.0 ms, later steps 10.0 ms");
  EXPECT_THAT(advice(0, 12 * kMs), Not(HasRule("startup_recorded")));
  EXPECT_THAT(advice(5, 100 * kMs), Not(HasRule("startup_recorded"))) << "a slow step is no start";
}

TEST(AdviceStartup, WhatCompilesMostOfTheTimeIsNotJudgedAsTraining) {
  const auto advice = [](const char* range, int64_t ns) {
    return advice_on(
        TraceText().annotation(range, 0, ns).runtime("cudaLaunchKernel", 99 * kMs, 100 * kMs, 1));
  };
  const auto compiled = advice("XlaCompile:#module=jit_step#", 30 * kMs);
  ASSERT_EQ(compiled.size(), 1);
  EXPECT_EQ(compiled[0].headline, "A start-up, not training: 30.0 ms in a compiler");
  EXPECT_EQ(compiled[0].detail,
            "30.0 % of the trace is compilation, and no steps are marked: record later steps "
            "(--schedule wait=1,warmup=1,active=3)");
  EXPECT_THAT(advice("Scheduler.codegen (dynamo_timed)", 30 * kMs), HasRule("startup_recorded"));
  EXPECT_THAT(advice("XlaCompile:#module=jit_step#", 20 * kMs), Not(HasRule("startup_recorded")));
  EXPECT_THAT(advice("XlaModule:#jit_step#", 30 * kMs), Not(HasRule("startup_recorded")));
}

TEST(AdviceStartup, AStartUpIsNotJudgedAsTraining) {
  const auto findings = advice_on(TraceText()
                                      .cpu_op("aten::empty", 0, 3000 * kMs)
                                      .runtime("cudaFree", kUs, 2000 * kMs)
                                      .runtime("cudaLaunchKernel", 2900 * kMs, 2901 * kMs, 1)
                                      .kernel("k", 2950 * kMs, 2951 * kMs, on_stream(7, 1)));
  EXPECT_THAT(findings, ElementsAre(Field(&Finding::rule, "startup_recorded")));
}

TEST(AdviceStartup, AWaitForABusyGpuIsNoStartUp) {
  const auto waiting = [](const char* call, int64_t busy_ns) {
    return advice_on(TraceText()
                         .top(gpu("A100", 8, 0))
                         .cpu_op("aten::mm", 0, 1000 * kMs)
                         .runtime("cudaLaunchKernel", kUs, 2 * kUs, 1)
                         .kernel("ampere_sgemm_128x64_tn", 3 * kUs, busy_ns, on_stream(7, 1))
                         .runtime(call, 10 * kUs, 900 * kMs, 2));
  };
  for (const char* call : {"cudaMemcpyAsync", "cudaStreamSynchronize", "cuStreamSynchronize"}) {
    const auto findings = waiting(call, 899 * kMs);
    EXPECT_THAT(findings, Not(HasRule("startup_recorded"))) << call;
    EXPECT_THAT(findings, HasRule("tensor_cores_unused")) << call;
    // Where the device has work for a part of the call, the rest is set-up.
    EXPECT_EQ(only(waiting(call, 300 * kMs), "startup_recorded").headline,
              "A start-up, not training: 600.0 ms in CUDA set-up");
  }
}

}  // namespace
}  // namespace redline::trace
