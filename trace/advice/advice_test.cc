#include "trace/advice/advice.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parsed_trace.h"
#include "tests/small_steps.h"
#include "trace/advice/testing_rules.h"

namespace redline::trace {
namespace {

using namespace redline::testing;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Advice, NothingIsSaidOfAStepThatHasNoProblem) {
  EXPECT_TRUE(advice_on(one_step().cpu_op("aten::relu", 0, 99 * kMs)).empty());
}

TEST(Advice, AProgramWithoutPyTorchIsToldNothingThatOnlyPyTorchHas) {
  const auto advice = [](const char* member, TraceText text) {
    return advice_on(text.top(fmt::format(R"("redline": {{"version": "0.1.0"}}, {})", member)));
  };
  const char* none = R"("cupti_version": 1)";
  const char* torch = R"("torch": {"version": "2.11.0", "python": "3.11.7"})";
  const char* libtorch = R"("torch": {"version": "2.11.0"})";
  for (const TraceText& text : {launches(200, 500 * kUs), gpu_step(40 * kMs)}) {
    const auto findings = advice(none, text);
    ASSERT_EQ(findings.size(), 1);
    EXPECT_EQ(findings[0].knob, "");
    EXPECT_THAT(findings[0].detail, Not(HasSubstr("torch")));
    EXPECT_THAT(findings[0].detail, Not(HasSubstr("--stacks")));
    EXPECT_THAT(advice(torch, text), Contains(Field(&Finding::knob, "batch_size=1..4096")));
    EXPECT_THAT(advice(libtorch, text), Each(Field(&Finding::knob, ""))) << "no hook is there";
  }
  const auto fp32 = gpu_step(64 * kMs, "ampere_sgemm", gpu("it", 8, 0));
  EXPECT_THAT(advice(torch, fp32), HasRule("tf32_off"));
  EXPECT_THAT(advice(libtorch, fp32), HasRule("tf32_off"));
  EXPECT_THAT(advice(none, fp32), Not(HasRule("tf32_off")));
}

TEST(Advice, OfATraceWithoutMarkedStepsSpeaksOfNone) {
  const auto findings = advice_on(
      TraceText()
          .cpu_op("aten::relu", 0, kMs)
          .annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", kMs, 21 * kMs)
          .cpu_op("aten::relu", 21 * kMs, 100 * kMs));
  ASSERT_THAT(findings, HasRule("dataloader_wait"));
  EXPECT_EQ(findings[0].headline, "DataLoader: training waits 20.0 ms");
}

TEST(Advice, WithoutRecordsOfTheGpuIsOnTheHostAlone) {
  const auto job = [](bool uses_gpu) {
    TraceText text = operators(1200, 15 * kUs).cpu_op("aten::mm", 61 * kMs, 90 * kMs);
    text.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 90 * kMs,
                    100 * kMs);
    if (uses_gpu) text.runtime("cudaLaunchKernel", 60 * kMs, 64 * kMs, 1);
    return text;
  };
  EXPECT_THAT(advice_on(job(false)),
              AllOf(HasRule("dataloader_wait"), HasRule("tiny_operators"),
                    HasRule("float32_matrix_work"), Not(HasRule("cpu_oversubscribed"))));
  const auto findings = advice_on(job(true));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings, HasRule("dataloader_wait"));
}

TEST(Advice, AShareIsOfTheStepOnlyWhereStepsAreMarked) {
  const auto detail = [](TraceText text) {
    return advice_on(text.cpu_op("aten::relu", 0, 50 * kMs)
                         .annotation(kSingle, 50 * kMs, 99 * kMs)
                         .cpu_op("aten::relu", 99 * kMs, 100 * kMs))
        .at(0)
        .detail;
  };
  EXPECT_THAT(detail(one_step()), HasSubstr("49.0 % of the step"));
  EXPECT_THAT(detail(TraceText()), HasSubstr("49.0 % of the recording"));
}

TEST(Advice, PageFaultsWhereTheCLibraryMayKeepWhatIsFreed) {
  const auto with = [](const char* run) { return faulting(1'000'000, 20, 100, run); };
  const auto named = HasRule("page_faults");
  EXPECT_THAT(advice_on(with(R"("malloc": "libc.so.6", "environment": {"RANK": "0"})")), named);
  for (const char* run :
       {R"("malloc": "libjemalloc.so.2", "environment": {})", R"("environment": {})",
        R"("malloc": "libc.so.6", "environment": {"MALLOC_TRIM_THRESHOLD_": "2147483647"})"}) {
    EXPECT_THAT(advice_on(with(run)), Not(named)) << run;
  }
  for (const auto& [version, threshold] :
       {std::pair("2.31", "=33554432 "), {"2.34", "=33554432 "}, {"2.35", "=1073741824 "}}) {
    const std::string run = fmt::format(R"("malloc": "libc.so.6", "glibc": "{}")", version);
    EXPECT_THAT(only(advice_on(with(run.c_str())), "page_faults").detail, HasSubstr(threshold));
  }
  EXPECT_THAT(advice_on(faulting(1'000'000, 20).top(gpu("V100", 7, 0)).kernel("k", 0, kMs)),
              Not(named));
  EXPECT_THAT(advice_on(faulting(1'000'000, 0, 0)), Not(named));
}

TEST(Advice, ARangeOfTheProgramThatRunsNoOperators) {
  const auto range = [](const char* name, int64_t ns = 60 * kMs) {
    return one_step().annotation(name, 0, ns).cpu_op("aten::relu", 60 * kMs, 99 * kMs);
  };
  const auto named = HasRule("range_without_operators");
  EXPECT_THAT(advice_on(range("load batch")), named);
  EXPECT_THAT(advice_on(range("a").annotation("read", kMs, 59 * kMs)), named);
  EXPECT_THAT(advice_on(range("load").slice("python_function", "a.py(3): f", 0, 60 * kMs)), named);
  for (const char* of_others :
       {"Torch-Compiled Region: 0/0", "TorchDynamo Cache Lookup", "## forward ##", "FSDP::unshard",
        "[pl][profile]run_training_batch", "DistributedDataParallel.forward", "gloo:barrier",
        "enumerate(DataLoader)#_Iter.__next__", "Optimizer.step#SGD.step", "ncclAllReduce"}) {
    EXPECT_THAT(advice_on(range(of_others)), Not(named)) << of_others;
  }
  // Who asked for no operators sees none in any range.
  EXPECT_THAT(advice_on(one_step().annotation("load batch", 0, 60 * kMs)), Not(named));
  // Operators run in a range, though not all the time, or on a thread that the range waits for.
  EXPECT_THAT(advice_on(range("forward", 99 * kMs)), Not(named));
  EXPECT_THAT(advice_on(range("backward").cpu_op("aten::mm", kMs, 59 * kMs, {.tid = "2"})),
              Not(named));
}

}  // namespace
}  // namespace redline::trace
