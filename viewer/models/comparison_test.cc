#include "viewer/models/comparison.h"

#include <gtest/gtest.h>

#include <QTemporaryDir>
#include <fstream>

#include "viewer/models/load.h"
#include "viewer/models/test_trace.h"

namespace redline::viewer {
namespace {

// Two steps; the kernel takes 25 us before, `kernel_us` after.
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
  Comparison() {
    before_ = write("before.json", run_with(25, 1'000'000));
    after_ = write("after.json", run_with(10, 99'000'000));
  }
  std::string write(const char* name, const TestTrace& trace) {
    const std::string path = folder_.filePath(name).toStdString();
    std::ofstream(path) << trace.json();
    return path;
  }

  QTemporaryDir folder_;
  std::string before_;
  std::string after_;
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

TEST_F(Comparison, RowsSayWhatChanged) {
  const auto loaded = load_comparison({before_}, {after_});
  ASSERT_TRUE(loaded);
  const AnalysedSession analysed = analyse_session(*loaded->session);
  ASSERT_TRUE(analysed.diff);
  EXPECT_EQ(analysed.report->traces.size(), 1U) << "the report is of the run after";
  EXPECT_EQ(analysed.derived->devices.size(), 2U);
  for (const TableRow& row : diff_rows(*analysed.diff).rows) {
    if (row.name != "gemm") continue;
    EXPECT_EQ(row.values[2].whole(), 25'000);
    EXPECT_EQ(row.values[3].whole(), 10'000);
    EXPECT_EQ(row.values[4].whole(), -15'000);
    const std::string headline = diff_headline(*analysed.diff);
    EXPECT_NE(headline.find(" × "), std::string::npos);
    EXPECT_LT(headline.find(" × "), headline.find(" a step (")) << "first what counts most";
    trace::Diff larger_batch = *analysed.diff;
    larger_batch.basis_samples = 32;
    EXPECT_NE(diff_headline(larger_batch).find(" for 32 samples)"), std::string::npos);
    return;
  }
  FAIL() << "no row of the kernel";
}

TEST_F(Comparison, SaysWhichSideCannotBeRead) {
  const auto loaded = load_comparison({"/no/such/before.json"}, {after_});
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().find("/no/such/before.json"), std::string::npos);
}

}  // namespace
}  // namespace redline::viewer
