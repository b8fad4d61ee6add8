#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parsed_trace.h"
#include "tests/small_steps.h"
#include "trace/advice/advice.h"
#include "trace/advice/testing_rules.h"

namespace redline::trace {
namespace {

using namespace redline::testing;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(AdviceDevices, DataParallelCopiesTheModelInEachStep) {
  const auto text = [](const char* around, int64_t copy_ns) {
    return gpu_step(50 * kMs)
        .annotation(around, 10 * kMs, 90 * kMs)
        .cpu_op("Broadcast", 11 * kMs, 11 * kMs + copy_ns);
  };
  const auto findings = advice_on(text("DataParallel.forward", 20 * kMs));
  EXPECT_DOUBLE_EQ(*only(findings, "data_parallel").estimated_speedup, 1.25);
  EXPECT_THAT(only(findings, "data_parallel").detail, HasSubstr("DistributedDataParallel"));
  EXPECT_THAT(advice_on(text("DataParallel.forward", kMs)), Not(HasRule("data_parallel")));
  EXPECT_THAT(advice_on(text("MyModel.forward", 20 * kMs)), Not(HasRule("data_parallel")));
}

TEST(AdviceDevices, GpusThatTakeTurns) {
  const auto second_from = [](int64_t begin_ns) {
    return gpu_step(40 * kMs).kernel("k", begin_ns, begin_ns + 40 * kMs, {.pid = "1", .tid = "9"});
  };
  const auto findings = advice_on(second_from(50 * kMs));
  EXPECT_NEAR(*only(findings, "gpus_take_turns").estimated_speedup, 100.0 / 60, 0.001);
  EXPECT_THAT(advice_on(second_from(20 * kMs)), Not(HasRule("gpus_take_turns")));
  EXPECT_THAT(advice_on(gpu_step(40 * kMs)), Not(HasRule("gpus_take_turns")));
}

TEST(AdviceDevices, AGpuThatIsThrottled) {
  const auto heat = [](const char* values) {
    TraceText text = gpu_step(99 * kMs);
    for (int i = 0; i < 4; ++i) {
      text.event(
          fmt::format(R"({{"ph": "C", "cat": "counter", "name": "GPU 0 throttled", "pid": 1, )"
                      R"("tid": 0, "ts": {}, "args": {{"heat": {}}}}})",
                      i * 25'000, values[i]));
    }
    return advice_on(text);
  };
  EXPECT_EQ(only(heat("0110"), "gpu_throttled").headline, "GPU 0 is slowed by heat");
  EXPECT_THAT(only(heat("0110"), "gpu_throttled").detail, HasSubstr("50.0 % of the steps"));
  EXPECT_THAT(only(heat("0110"), "gpu_throttled").detail,
              HasSubstr("nvidia-smi -q -d TEMPERATURE"));
  EXPECT_THAT(heat("0000"), Not(HasRule("gpu_throttled")));
}

TEST(AdviceDevices, AThrottledGpuIsNamedByItsIdAndNotByCudasNumber) {
  const auto advice = [](const std::string& properties, const char* reason) {
    TraceText text = redline::testing::throttled(40 * kMs, reason);
    return only(advice_on(text.top(R"("deviceProperties": [{"id": 3, )" + properties + "}]")),
                "gpu_throttled")
        .detail;
  };
  const std::string known = R"("name": "H100", "uuid": "GPU-8f3a")";
  EXPECT_THAT(
      advice(known, "power cap"),
      HasSubstr(": nvidia-smi -i GPU-8f3a -q -d POWER shows its limit, -pl WATTS raises it"));
  EXPECT_THAT(advice(known, "heat"), HasSubstr("(nvidia-smi -i GPU-8f3a -q -d TEMPERATURE)"));
  EXPECT_THAT(advice(R"("name": "H100 MIG 1g.10gb", "uuid": "GPU-8f3a")", "heat"),
              HasSubstr("(nvidia-smi -q -d TEMPERATURE)"));
}

// As of a checkpoint that is loaded to the device from which it was saved.
TEST(AdviceDevices, AGpuWithOneTinyKernelIsNotJudged) {
  const auto advice = [](int64_t stray_ns, int64_t main_ns) {
    return advice_on(gpu_step(main_ns).kernel("fill", 0, stray_ns, {.pid = "1", .tid = "9"}));
  };
  EXPECT_THAT(advice(kUs, 60 * kMs), Not(HasRule("low_gpu_utilization")));
  EXPECT_THAT(advice(kMs, 60 * kMs), HasRule("low_gpu_utilization")) << "it works, but little";
  EXPECT_EQ(only(advice(kUs, 40 * kMs), "low_gpu_utilization").headline,
            "GPU 0 runs kernels 40.0 % of the time");
}

}  // namespace
}  // namespace redline::trace
