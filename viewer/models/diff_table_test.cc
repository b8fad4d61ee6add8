#include "viewer/models/diff_table.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/temporary_folder.h"
#include "trace/report/diff_words.h"
#include "viewer/models/analyse.h"
#include "viewer/models/format.h"
#include "viewer/models/load.h"
#include "viewer/models/search.h"
#include "viewer/models/testing_trace.h"

namespace redline::viewer {
namespace {

// A run of two steps in which the kernel takes `kernel_us`.
TestTrace run_with(double kernel_us, int64_t start_us) {
  TestTrace trace(0, start_us);
  for (int step = 0; step < 2; ++step) {
    const double at = step * 100;
    trace.slice("user_annotation", fmt::format("ProfilerStep#{}", step), 1, 1, at, 99)
        .slice("cpu_op", "aten::mm", 1, 1, at + 10, 20)
        .slice("cuda_runtime", "cudaLaunchKernel", 1, 1, at + 12, 2,
               fmt::format(R"({{"correlation":{}}})", 7 + step))
        .slice("kernel", "gemm", 0, 7, at + 30, kernel_us,
               fmt::format(R"({{"device":0,"stream":7,"correlation":{}}})", 7 + step));
  }
  return trace;
}

class Comparison : public ::testing::Test {
 protected:
  testing::TemporaryFolder folder_;
  const std::string before_ = run_with(25, 1'000'000).write(folder_ / "before.json");
  const std::string after_ = run_with(10, 99'000'000).write(folder_ / "after.json");
};

TEST_F(Comparison, StandsOnAlignedStepsAndTellsTheSidesApart) {
  const auto loaded = load_comparison({before_}, {after_});
  ASSERT_TRUE(loaded) << loaded.error();
  const Session& session = *loaded->session;
  EXPECT_EQ(session.before_count(), 1U);
  EXPECT_EQ(session.traces()[0].title, "before · rank 0");
  EXPECT_EQ(session.traces()[1].title, "after · rank 0");
  for (const uint32_t side : {0U, 1U}) {
    EXPECT_EQ(session.range_of(slice_named(session, side, "ProfilerStep#1")).begin_ns, 0)
        << "the first whole step begins at 0";
  }
  EXPECT_LT(session.range().begin_ns, 0);
}

TEST_F(Comparison, ClaimsNoMoreThanRedlineDiff) {
  const auto session = load_comparison({before_}, {after_})->session;
  trace::Diff diff = *analyse_session(*session).diff;
  diff.step = MeanDifference{.difference = 5e6, .low = -1e6, .high = 11e6, .p = 0.4};
  diff.basis_samples = 64;
  diff.before.gpu = "Tesla V100";
  diff.after.gpu = "NVIDIA A100";
  EXPECT_TRUE(diff_headline(diff).starts_with("no clear difference: ")) << diff_headline(diff);
  const std::vector<std::string> notes = diff_notes(diff);
  ASSERT_EQ(notes.size(), 4U);
  EXPECT_EQ(notes[0], "times are those of 64 samples");
  EXPECT_EQ(notes[1], "change +5.0 ms, with 95 % certainty between -1.0 ms and +11.0 ms");
  EXPECT_EQ(notes[2], "not the same GPU: Tesla V100, then NVIDIA A100");
  EXPECT_EQ(notes[3], trace::kUnknownSamples);
  diff.basis_samples = std::nullopt;
  diff.after.has_marked_steps = false;
  EXPECT_TRUE(diff_headline(diff).starts_with("no verdict: ")) << diff_headline(diff);
  EXPECT_EQ(diff_notes(diff)[0], "times are those of a step and a trace");
  EXPECT_EQ(diff_notes(diff)[1], trace::kStepBesideTrace);
}

TEST_F(Comparison, RowsSayWhatChanged) {
  const auto loaded = load_comparison({before_}, {after_});
  ASSERT_TRUE(loaded);
  const AnalysedSession analysed = analyse_session(*loaded->session);
  ASSERT_TRUE(analysed.diff);
  EXPECT_EQ(analysed.report->analyses.size(), 1U) << "the report is of the run after";
  EXPECT_EQ(analysed.derived->devices.size(), 2U);
  for (const TableRow& row : diff_rows(*loaded->session, *analysed.report, *analysed.diff).rows) {
    if (row.name != "gemm") continue;
    EXPECT_EQ(row.values[2].whole(), 25'000);
    EXPECT_EQ(row.values[3].whole(), 10'000);
    EXPECT_EQ(row.values[4].whole(), -15'000);
    const std::string headline = diff_headline(*analysed.diff);
    const trace::DiffWords words = trace::words_of(*analysed.diff);
    EXPECT_TRUE(headline.starts_with(typeset(words.verdict))) << headline;
    EXPECT_EQ(diff_notes(*analysed.diff)[1], typeset(words.interval));
    trace::Diff larger_batch = *analysed.diff;
    larger_batch.basis_samples = 32;
    EXPECT_NE(diff_headline(larger_batch).find(" for 32 samples)"), std::string::npos);
    larger_batch.before.samples_per_second = 385;
    larger_batch.after.samples_per_second = 1629;
    EXPECT_TRUE(
        diff_headline(larger_batch).starts_with("no clear difference: 385 → 1,629 samples/s ("))
        << diff_headline(larger_batch);
    return;
  }
  FAIL() << "no row of the kernel";
}

TEST_F(Comparison, EachRowOfWorkLeadsToIt) {
  const auto run = [](int64_t start_us) {
    TestTrace trace = run_with(25, start_us);
    for (const int step : {0, 1}) {
      trace
          .slice("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 0, 7, step * 100 + 60, 5,
                 R"({"device":0,"stream":7,"bytes":64})")
          .slice("gpu_memset", "Memset (Device)", 0, 7, step * 100 + 66, 2,
                 R"({"device":0,"stream":7,"bytes":64})")
          .kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 20, step * 100 + 70, 15 + step);
    }
    return trace;
  };
  const auto loaded =
      load_comparison({run(1'000'000).write(before_)}, {run(99'000'000).write(after_)});
  ASSERT_TRUE(loaded);
  const Session& session = *loaded->session;
  const AnalysedSession analysed = analyse_session(session);
  std::map<std::string, std::string> places;
  for (const TableRow& row : diff_rows(session, *analysed.report, *analysed.diff).rows) {
    const auto named = places_of(session, row.name);
    const SliceRef place = row.slice || named.empty() ? row.slice : named.back();
    if (place) places[row.values[0].text()] = session.name_of(place);
  }
  EXPECT_EQ(places["gemm"], "gemm");
  EXPECT_EQ(places["aten::mm"], "aten::mm");
  EXPECT_EQ(places["Memcpy HtoD (Pageable -> Device)"], "Memcpy HtoD (Pageable -> Device)");
  EXPECT_EQ(places["Memset (Device)"], "Memset (Device)");
  EXPECT_EQ(places["all_reduce"], "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
}

TEST_F(Comparison, SaysWhichSideCannotBeRead) {
  const auto loaded = load_comparison({"/no/such/before.json"}, {after_});
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().find("/no/such/before.json"), std::string::npos);
}

}  // namespace
}  // namespace redline::viewer
