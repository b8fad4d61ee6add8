// What is said of ranks that compute on one GPU, or have a context where they compute nothing.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parsed_trace.h"
#include "tests/trace_text.h"
#include "trace/advice/testing_rules.h"
#include "trace/report/report.h"

namespace redline::trace {
namespace {

using namespace redline::testing;
using ::testing::HasSubstr;
using ::testing::Not;

struct SeenGpu {
  std::string uuid;
  bool has_context = true;
};

/// A rank that sees these GPUs, and computes on the one with index `computes_on`.
std::shared_ptr<const Trace> rank_trace(int rank, int world_size, std::vector<SeenGpu> gpus,
                                        int computes_on) {
  std::string list;
  for (size_t i = 0; i < gpus.size(); ++i) {
    const std::string uuid =
        gpus[i].uuid.empty() ? "" : fmt::format(R"(, "uuid": "{}")", gpus[i].uuid);
    list += fmt::format(R"({}{{"id": {}, "name": "H100", "hasContext": {}{}}})", i > 0 ? ", " : "",
                        i, gpus[i].has_context, uuid);
  }
  return *parse_trace(
      "test", TraceText()
                  .rank(rank, world_size, "nccl")
                  .top("\"deviceProperties\": [" + list + "]")
                  .step(0, 0, 100 * kMs)
                  .runtime("cudaLaunchKernel", 10 * kMs, 11 * kMs, 1)
                  .kernel("sgemm", 20 * kMs, 90 * kMs, Row{std::to_string(computes_on), "7", 1, ""})
                  .str());
}

Report report_of(const std::vector<std::vector<SeenGpu>>& gpus, const std::vector<int>& used) {
  std::vector<std::shared_ptr<const Trace>> traces;
  for (size_t i = 0; i < gpus.size(); ++i) {
    traces.push_back(
        rank_trace(static_cast<int>(i), static_cast<int>(gpus.size()), gpus[i], used[i]));
  }
  return make_report(traces);
}

const Finding* find(const Report& report, const char* rule) {
  const auto found = std::ranges::find(report.findings, rule, &Finding::rule);
  return found == report.findings.end() ? nullptr : &*found;
}

std::string header_of(const Report& report) {
  return report_text(report, TextStyle{}).substr(0, 200);
}

TEST(GpuSharing, RanksOnGpusOfTheirOwnShareNothing) {
  const Report report =
      report_of({{{"GPU-a"}, {"GPU-b", false}}, {{"GPU-a", false}, {"GPU-b"}}}, {0, 1});
  EXPECT_EQ(report.comparison->gpu_sharing.gpus, 2);
  EXPECT_EQ(find(report, "gpu_shared"), nullptr);
  EXPECT_EQ(find(report, "stray_context"), nullptr);
  EXPECT_THAT(header_of(report), HasSubstr("2 x H100"));
}

TEST(GpuSharing, TwoRanksOnTheFirstOfTwoGpusHaveForgottenToChoose) {
  const std::vector<SeenGpu> gpus = {{"GPU-a"}, {"GPU-b", false}};
  const Report report = report_of({gpus, gpus}, {0, 0});
  EXPECT_EQ(report.comparison->gpu_sharing.gpus, 1);
  const Finding* finding = find(report, "gpu_shared");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->headline, "Ranks 0, 1 share one GPU");
  EXPECT_EQ(finding->detail,
            "H100 (GPU-a) runs the kernels of ranks 0, 1, which slow each other down; each process "
            "sees 2 GPUs, so give each its own: "
            "torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"])) before the first use of CUDA");
  EXPECT_EQ(finding->estimated_speedup, std::nullopt);
  EXPECT_FALSE(finding->events.empty());
  EXPECT_EQ(find(report, "low_gpu_utilization"), nullptr);
  EXPECT_THAT(header_of(report), Not(HasSubstr("2 x H100")));
}

TEST(GpuSharing, IsToldByTheUuidWhereEachProcessSeesOneGpu) {
  EXPECT_EQ(find(report_of({{{"GPU-a"}}, {{"GPU-b"}}}, {0, 0}), "gpu_shared"), nullptr);
  const Report one = report_of({{{"GPU-a"}}, {{"GPU-a"}}}, {0, 0});
  ASSERT_NE(find(one, "gpu_shared"), nullptr);
  EXPECT_THAT(find(one, "gpu_shared")->detail,
              HasSubstr("each process sees this GPU only: let each see one of its own"));
  const Report four = report_of({{{"GPU-a"}}, {{"GPU-b"}}, {{"GPU-b"}}, {{"GPU-a"}}}, {0, 0, 0, 0});
  ASSERT_NE(find(four, "gpu_shared"), nullptr);
  EXPECT_EQ(find(four, "gpu_shared")->headline, "2 of 2 GPUs are shared by ranks");
  EXPECT_THAT(header_of(four), HasSubstr("2 x H100"));
}

TEST(GpuSharing, IsShownInTheTraceOfARankThatShares) {
  const Report report = report_of({{{"GPU-a"}}, {{"GPU-b"}}, {{"GPU-b"}}}, {0, 0, 0});
  ASSERT_NE(find(report, "gpu_shared"), nullptr);
  EXPECT_EQ(find(report, "gpu_shared")->headline, "Ranks 1, 2 share one GPU");
  EXPECT_EQ(find(report, "gpu_shared")->trace, 1);
}

TEST(GpuSharing, TracesThatDoNotTellGpusApartSayNothing) {
  const Report report = report_of({{{""}}, {{""}}}, {0, 0});
  EXPECT_EQ(report.comparison->gpu_sharing.gpus, std::nullopt);
  EXPECT_EQ(find(report, "gpu_shared"), nullptr);
  EXPECT_THAT(header_of(report), HasSubstr("2 x H100")) << "one for each rank";
}

TEST(GpuSharing, AContextWhereARankComputesNothingIsStray) {
  const std::vector<SeenGpu> first = {{"GPU-a"}, {"GPU-b", false}, {"GPU-c", false}};
  const std::vector<SeenGpu> second = {{"GPU-a"}, {"GPU-b"}, {"GPU-c", false}};
  const std::vector<SeenGpu> third = {{"GPU-a"}, {"GPU-b", false}, {"GPU-c"}};
  const Report two = report_of({first, second}, {0, 1});
  ASSERT_NE(find(two, "stray_context"), nullptr);
  EXPECT_EQ(find(two, "stray_context")->headline, "Rank 1 has a context on rank 0's GPU");
  EXPECT_EQ(find(two, "stray_context")->trace, 1);
  EXPECT_FALSE(find(two, "stray_context")->events.empty());
  EXPECT_EQ(find(two, "gpu_shared"), nullptr);
  const Report three = report_of({first, second, third}, {0, 1, 2});
  ASSERT_NE(find(three, "stray_context"), nullptr);
  EXPECT_EQ(find(three, "stray_context")->headline, "2 ranks have a context on rank 0's GPU");
  const Report other = report_of({second, {{"GPU-c"}}}, {1, 0});
  EXPECT_EQ(find(other, "stray_context"), nullptr) << "GPU-a is of no rank";
}

}  // namespace
}  // namespace redline::trace
