// The analyses must end even on traces that have very many of something. An analysis whose time
// grows with the square of the number would exceed any test's limit.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/trace_text.h"
#include "trace/read/reader.h"
#include "trace/report/report.h"

namespace redline::trace {
namespace {

using namespace redline::testing;

// Computes the analysis and all findings.
Analysis analyzed(const TraceText& text) {
  Report report = make_report({*parse_trace("many.json", text.str())});
  const Analysis& analysis = report.analyses.front();
  const auto& path = analysis.critical_path->mean_ns;
  const auto path_ns = std::accumulate(path.begin(), path.end(), int64_t{0});
  EXPECT_NEAR(static_cast<double>(path_ns), static_cast<double>(analysis.step_times.mean_ns), 20);
  return std::move(report.analyses.front());
}

TEST(Many, ThreadsThatLiveOneAfterTheOther) {
  constexpr int kThreads = 60'000;
  TraceText text;
  for (int i = 0; i < kThreads; ++i) {
    text.cpu_op("a", i * 100 * kUs, (i * 100 + 10) * kUs);
    text.cpu_op("b", (i * 100 + 20) * kUs, (i * 100 + 70) * kUs, {.tid = std::to_string(i + 2)});
  }
  const Analysis analysis = analyzed(text);
  EXPECT_EQ(analysis.breakdown.of(BreakdownPart::kCpu), kThreads * 60 * kUs);
}

TEST(Many, OperatorsInsideEachOther) {
  constexpr int kDepth = 20'000;
  TraceText text;
  for (int i = 0; i < kDepth; ++i) {
    text.cpu_op("a" + std::to_string(i), i * kUs, (3 * kDepth - i) * kUs);
  }
  text.runtime("cudaLaunchKernel", kDepth * kUs, (kDepth + 1) * kUs, 1);
  text.kernel("k", (kDepth + 2) * kUs, (kDepth + 3) * kUs, on_stream(7, 1));
  for (uint32_t i = 2; i < 1'000; ++i) {
    const int64_t at_ns = (kDepth + 5 * i) * kUs;
    text.runtime("cudaLaunchKernel", at_ns, at_ns + kUs, i);
    text.kernel("k", at_ns + 2 * kUs, at_ns + 3 * kUs, on_stream(7, i));
  }
  const Analysis analysis = analyzed(text);
  EXPECT_EQ(analysis.operators.size(), static_cast<size_t>(kDepth));
  for (const OperatorRow& row : analysis.operators) ASSERT_EQ(row.device_total_ns, 999 * kUs);
}

TEST(Many, StepsThatAllocateAndConvolve) {
  constexpr int kSteps = 60'000;
  TraceText text;
  for (int i = 0; i < kSteps; ++i) {
    const int64_t at_ns = i * 100 * kUs;
    text.step(i, at_ns, at_ns + 99 * kUs);
    text.cpu_op("aten::cudnn_convolution", at_ns + kUs, at_ns + 20 * kUs,
                {.args = R"("Input Dims": [[1, 2]], "Concrete Inputs": )"
                         R"(["", "", "", "", "", "", "False"])"});
    text.runtime("cudaLaunchKernel", at_ns + 10 * kUs, at_ns + 15 * kUs,
                 static_cast<uint32_t>(i + 1));
    text.runtime("cudaMalloc", at_ns + 30 * kUs, at_ns + 35 * kUs);
    text.kernel("k", at_ns + 50 * kUs, at_ns + 60 * kUs,
                on_stream(7, static_cast<uint32_t>(i + 1)));
  }
  const Report report = make_report({*parse_trace("many.json", text.str())});
  std::vector<std::string> rules;
  for (const Finding& finding : report.findings) rules.push_back(finding.rule);
  EXPECT_EQ(std::count(rules.begin(), rules.end(), "cudnn_benchmark_off"), 1);
  EXPECT_EQ(std::count(rules.begin(), rules.end(), "allocator_retries"), 1);
}

TEST(Many, ProcessGroupsAndDevices) {
  constexpr int kCount = 60'000;
  TraceText text;
  for (int i = 0; i < kCount; ++i) {
    text.kernel("ncclDevKernel_AllReduce", i * 10 * kUs, (i * 10 + 5) * kUs,
                on_stream(7, 0, fmt::format(R"("Process Group Name": "g{}")", i)));
    text.event(fmt::format(
        R"({{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, )"
        R"("tid": 1, "ts": {}, "args": {{"Device Type": 1, "Device Id": {}, "Bytes": 1024, )"
        R"("Addr": {}, "Total Allocated": 1024, "Total Reserved": 2048}}}})",
        i, i, i + 1));
  }
  const Analysis analysis = analyzed(text);
  EXPECT_EQ(analysis.communication.collectives.groups.size(), static_cast<size_t>(kCount));
  ASSERT_EQ(analysis.memory.size(), static_cast<size_t>(kCount));
  EXPECT_EQ(analysis.memory.back().holders.front().bytes, 1024);
}

}  // namespace
}  // namespace redline::trace
