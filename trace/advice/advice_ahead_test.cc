// A host that is steps ahead of its GPU, as one that waits for nothing is: when the GPU begins with
// the steps, the host has already launched most of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parsed_trace.h"
#include "trace/advice/advice.h"

namespace redline::trace {
namespace {

using namespace redline::testing;
using ::testing::HasSubstr;

// Three steps of four batches and twelve collectives, of 5 ms on the GPU and of 2 ms on the host.
std::vector<Finding> ahead(const char* collective) {
  TraceText text;
  text.top(R"("redline": {"samples_per_step": 256})");
  uint32_t number = 0;
  const auto launch = [&](const char* name, int64_t at_ns, int64_t begin_ns, int64_t length_ns) {
    text.runtime("cudaLaunchKernel", at_ns, at_ns + 3 * kUs, ++number);
    text.kernel(name, begin_ns, begin_ns + length_ns, on_stream(7, number));
  };
  launch("of the step before", 900 * kUs, kMs, 8 * kMs - kUs);
  for (int i = 0; i < 3; ++i) {
    const int64_t host_ns = kMs + i * 2 * kMs, gpu_ns = 9 * kMs + i * 5 * kMs;
    text.step(i + 5, host_ns, host_ns + 2 * kMs);
    for (int64_t k = 0; k < 4; ++k) {
      const int64_t at_ns = host_ns + (10 + k * 100) * kUs;
      text.annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", at_ns,
                      at_ns + 5 * kUs);
      launch("gemm_f16", at_ns + 10 * kUs, gpu_ns + k * kMs, 990 * kUs);
    }
    for (int64_t k = 0; k < 12; ++k) {
      launch(collective, host_ns + (600 + k * 10) * kUs, gpu_ns + 4 * kMs + k * 80 * kUs, 70 * kUs);
    }
  }
  return advice_on(text);
}

double evidence(const Finding& finding, std::string_view name) {
  for (const auto& [key, value] : finding.evidence) {
    if (key == name) return value;
  }
  ADD_FAILURE() << "no " << name;
  return 0;
}

TEST(AdviceAhead, CollectivesAreOfTheStepThatLaunchedThem) {
  const auto findings = ahead("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)");
  const Finding& finding = only(findings, "communication");
  EXPECT_THAT(finding.detail, HasSubstr("12 exchanges a step, as of tokens between experts"));
  EXPECT_EQ(finding.knob, "");
  EXPECT_EQ(evidence(finding, "calls"), 36);
  EXPECT_EQ(evidence(finding, "communication_ns"), 840'000);
  EXPECT_EQ(evidence(finding, "removable_ns"), 840'000);
}

TEST(AdviceAhead, BatchesAreOfTheStepThatFetchedThem) {
  const auto findings = ahead("ncclDevKernel_AllReduce_Sum_f32_RING_LL");
  EXPECT_THAT(only(findings, "communication").knob, HasSubstr("batch_size=64.."));
}

}  // namespace
}  // namespace redline::trace
