// Reports on a job in which some ranks lack steps, marks or the records of their GPUs.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parsed_report.h"
#include "tests/trace_text.h"
#include "trace/report/report.h"
#include "trace/report/report_figures.h"
#include "trace/report/report_words.h"

namespace redline::trace {
namespace {

using namespace redline::testing;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

struct Recorded {
  bool is_marked = true;
  bool has_gpu_records = true;
  std::string top = R"("x": 1)";
};

// Three steps of 100 ms. The rank computes for `own_ms` of each, and then waits for the others.
std::string rank_of_job(int rank, int64_t own_ms, const Recorded& job = {}) {
  TraceText text;
  text.rank(rank, 3, "nccl").top(job.top);
  for (int i = 0; i < 3; ++i) {
    const int64_t begin_ns = i * 100 * kMs, own_ns = begin_ns + own_ms * kMs;
    if (job.is_marked) text.step(i, begin_ns, begin_ns + 100 * kMs);
    text.cpu_op("aten::mm", begin_ns, begin_ns + 10 * kMs);
    text.runtime("cudaLaunchKernel", begin_ns + 100, begin_ns + 200, 2 * i + 1);
    text.cpu_op("aten::add", begin_ns + 90 * kMs, begin_ns + 100 * kMs);
    if (!job.has_gpu_records) continue;
    text.kernel("gemm", begin_ns + 300, own_ns, on_stream(7, 2 * i + 1));
    text.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)", own_ns,
                begin_ns + 100 * kMs, on_stream(9, 2 * i + 2));
  }
  return text.str();
}

void expect_rank_2_is_late(const Report& report) {
  ASSERT_TRUE(report.comparison && report.comparison->straggler);
  EXPECT_EQ(report.comparison->times[*report.comparison->straggler].rank, 2);
  EXPECT_NEAR(static_cast<double>(*report.comparison->skew_ns), 40.0 * kMs, kMs);
  EXPECT_THAT(report.findings,
              Contains(::testing::Field(&Finding::headline, HasSubstr("Rank 2 is late"))));
  EXPECT_EQ(mean_step(report).mean_ns, 100 * kMs);
}

TEST(RanksThatDiffer, APageSaysHowLongTheOthersWaitInAStep) {
  const std::string page = report_html(report_on({rank_of_job(1, 40), rank_of_job(2, 80)}));
  const size_t at = page.find("<td class=name title=\"\">rank 2");
  ASSERT_NE(at, std::string::npos);
  const std::string row = page.substr(at, page.find("</tr>", at) - at);
  EXPECT_THAT(row, AllOf(HasSubstr(">100.0 ms</td>"), HasSubstr(">40.0 ms</td>"),
                         Not(HasSubstr("120.0 ms"))))
      << "as the step beside it, not of all three";
}

TEST(RanksThatDiffer, ARankWithoutItsGpusWorkLeavesTheComparisonOfTheOthers) {
  const Report report = report_on(
      {rank_of_job(0, 99, {.is_marked = true, .has_gpu_records = false, .top = R"("x": 1)"}),
       rank_of_job(1, 40), rank_of_job(2, 80)});
  expect_rank_2_is_late(report);
  EXPECT_FALSE(report.comparison->times[0].own_work_ns);
}

TEST(RanksThatDiffer, ARankWithoutMarksIsNoStepOfItsWholeLength) {
  const Report report = report_on(
      {rank_of_job(0, 99, {.is_marked = false, .has_gpu_records = true, .top = R"("x": 1)"}),
       rank_of_job(1, 40), rank_of_job(2, 80)});
  expect_rank_2_is_late(report);
  EXPECT_THAT(trace_notes(report), ElementsAre("no steps are marked in the traces of rank 0: means "
                                               "are of the other ranks"));
  EXPECT_THAT(report_text(report, {}),
              AllOf(HasSubstr("3 ranks · 3 steps"), HasSubstr("STEP  100.0 ms"),
                    HasSubstr("40.0 ms a step more than the shortest")));
}

TEST(RanksThatDiffer, AnEmptyRankIsComparedWithNone) {
  const Report report =
      report_on({TraceText().rank(0, 3, "nccl").str(), rank_of_job(1, 40), rank_of_job(2, 80)});
  expect_rank_2_is_late(report);
  EXPECT_THAT(trace_notes(report),
              ElementsAre("nothing was recorded of rank 0: means are of the other ranks"));
}

TEST(RanksThatDiffer, SamplesOfAStepAreTheMeanOfWhatRanksSay) {
  const auto of_samples = [](int rank, int samples) {
    return rank_of_job(rank, 50,
                       {.is_marked = true,
                        .has_gpu_records = true,
                        .top = fmt::format(R"("redline": {{"samples_per_step": {}}})", samples)});
  };
  const Report report = report_on({of_samples(0, 128), of_samples(1, 32), rank_of_job(2, 50)});
  EXPECT_EQ(mean_count(report, &TraceFacts::samples_per_step), 80);
  EXPECT_THAT(rate_lines(report), Contains(HasSubstr("800 samples/s of all ranks")));
  EXPECT_EQ(mean_count(report, &TraceFacts::tokens_per_step), std::nullopt);
}

TEST(RanksThatDiffer, MissingRanksAreCounted) {
  EXPECT_THAT(counts_text(report_on({rank_of_job(0, 50), rank_of_job(2, 50)})),
              HasSubstr("2 of 3 ranks · 3 steps"));
  EXPECT_THAT(counts_text(report_on({rank_of_job(1, 50)})), HasSubstr("1 rank · 3 steps"));
}

TEST(RanksThatDiffer, TracesWithoutARankMayBeOfSeveralRuns) {
  const std::string one = TraceText().step(0, 0, kMs).cpu_op("aten::mm", 0, kMs).str();
  EXPECT_THAT(trace_notes(report_on({one, one})),
              ElementsAre("traces without a rank count as ranks 0, 1, by their names: they may be "
                          "of several runs"));
  EXPECT_THAT(trace_notes(report_on({one})), SizeIs(0));
}

TEST(RanksThatDiffer, RecordingsOfOneTimeAreCompared) {
  const auto of = [](int rank, int64_t begin_ns) {
    TraceText text;
    text.rank(rank, 2).step(0, begin_ns, begin_ns + kMs);
    return text.cpu_op("aten::mm", begin_ns, begin_ns + kMs).str();
  };
  const std::vector<std::string> two{of(0, 0), of(0, 1'000 * kMs)};
  const Report report = report_on({two[0], two[1], of(1, kMs)});
  EXPECT_THAT(report.compared, ElementsAre(0U, 2U));
  EXPECT_THAT(trace_notes(report),
              ElementsAre("rank 0: an earlier trace than the last is compared, because other ranks "
                          "have fewer traces"));
  const Report whole = report_on({two[0], two[1], of(1, kMs), of(1, 1'001 * kMs)});
  EXPECT_THAT(whole.compared, ElementsAre(1U, 3U));
  EXPECT_THAT(trace_notes(whole), SizeIs(0));
}

TEST(RanksThatDiffer, GpusOfSeveralNamesAreNamed) {
  const auto on = [](int rank, const char* gpu) {
    return rank_of_job(
        rank, 50,
        {.is_marked = true,
         .has_gpu_records = true,
         .top = fmt::format(R"("deviceProperties": [{{"id": 0, "name": "{}"}}])", gpu)});
  };
  const Report report = report_on({on(0, "A100"), on(1, "H100"), on(2, "H100")});
  EXPECT_THAT(report_text(report, {}), HasSubstr("GPUs: A100, H100"));
  EXPECT_THAT(report_html(report), HasSubstr("A100, H100 · 3 ranks"));
  EXPECT_THAT(report_text(report_on({on(0, "A100"), on(1, "A100")}), {}),
              AllOf(HasSubstr("2 x A100"), Not(HasSubstr("GPUs: "))));
}

}  // namespace
}  // namespace redline::trace
