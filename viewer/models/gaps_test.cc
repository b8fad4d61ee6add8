#include "viewer/models/gaps.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "viewer/models/analyse.h"
#include "viewer/models/testing_trace.h"

namespace redline::viewer {
namespace {

/// One step. The GPU idles twice: 40 us while the host waits for data, and 10 us between two
/// kernels that were launched before.
TestTrace idle_trace() {
  TestTrace trace(0);
  trace.slice("user_annotation", "ProfilerStep#3", 1, 1, 0, 200)
      .slice("python_function", "nn.Module: Linear_0", 1, 1, 2, 40)
      .slice("cpu_op", "aten::linear", 1, 1, 5, 30)
      .slice("cpu_op", "aten::addmm", 1, 1, 8, 20)
      .slice("user_annotation", "enumerate(DataLoader)#_Iter.__next__", 1, 1, 60, 38)
      .slice("cpu_op", "aten::mm", 1, 1, 100, 10)
      .launch("gemm", 10, 20, 15)
      .launch("gemm", 14, 45, 20)
      .launch("gemm", 102, 105, 20);
  return trace;
}

class Gaps : public ::testing::Test {
 protected:
  Session session_{{idle_trace().read()}};
  AnalysedSession analysed_ = analyse_session(session_);

  [[nodiscard]] std::string cell(size_t row, std::string_view title) const {
    return cell_text(analysed_.tables->gaps, row, title);
  }
};

TEST_F(Gaps, TheLongestIsFirstAndSaysWhatTheHostDid) {
  ASSERT_EQ(analysed_.tables->gaps.rows.size(), 2U);
  EXPECT_EQ(cell(0, "Idle"), "40.0 µs");
  EXPECT_EQ(cell(0, "Host meanwhile"), "enumerate(DataLoader)#_Iter.__next__");
  EXPECT_EQ(cell(0, "Host for"), "33.0 µs");
  EXPECT_EQ(cell(0, "GPU"), "rank 0 · GPU 0");
  EXPECT_EQ(cell(0, "Step"), "3");
  EXPECT_EQ(cell(0, "Ended by work"), "launched late");
  EXPECT_EQ(cell(0, "Work"), "gemm");
  EXPECT_EQ(cell(0, "Launched by"), "aten::mm");
  EXPECT_EQ(cell(1, "Idle"), "10.0 µs");
  EXPECT_EQ(cell(1, "Ended by work"), "launched before");
  EXPECT_EQ(cell(1, "Launched by"), "aten::addmm");
}

TEST_F(Gaps, ARowLeadsToItsTime) {
  ASSERT_TRUE(analysed_.tables->gaps.rows[0].time);
  EXPECT_EQ(session_.range_of(*analysed_.tables->gaps.rows[0].time), (TimeRange{65'000, 105'000}));
}

TEST_F(Gaps, WithoutAGpuThereAreNone) {
  TestTrace trace(0);
  trace.slice("cpu_op", "aten::mm", 1, 1, 0, 10).slice("cpu_op", "aten::mm", 1, 1, 50, 10);
  EXPECT_TRUE(analyse_session(Session({trace.read()})).tables->gaps.rows.empty());
}

Table gaps_of(const TestTrace& trace) {
  return analyse_session(Session({trace.read()})).tables->gaps;
}

TEST(GapRows, TheHostDidTheInnermostThatFillsHalfOfTheGap) {
  for (const double inner_us : {25.0, 24.999}) {
    TestTrace trace(0);
    trace.launch("a", 0, 0, 10)
        .slice("cpu_op", "outer", 1, 1, 5, 50)
        .slice("cpu_op", "inner", 1, 1, 20, inner_us)
        .launch("b", 56, 60, 5);
    const Table table = gaps_of(trace);
    ASSERT_EQ(table.rows.size(), 1U);
    EXPECT_EQ(cell_text(table, 0, "Host meanwhile"), inner_us == 25.0 ? "inner" : "outer");
    EXPECT_EQ(cell_text(table, 0, "Host for"), inner_us == 25.0 ? "25.0 µs" : "45.0 µs");
  }
}

TEST(GapRows, AStepIsNothingThatTheHostDid) {
  for (const char* name : {"ProfilerStep#3", "unfinished ProfilerStep#3"}) {
    TestTrace trace(0);
    trace.launch("a", 0, 0, 10).slice("user_annotation", name, 1, 1, 0, 100).launch("b", 56, 60, 5);
    const Table table = gaps_of(trace);
    ASSERT_EQ(table.rows.size(), 1U);
    EXPECT_EQ(cell_text(table, 0, "Host meanwhile").find("ProfilerStep"), std::string::npos);
  }
}

TEST(GapRows, SayWhatIsNotKnown) {
  TestTrace trace(0);
  trace.launch("a", 0, 0, 10).launch("b", 3, 50, 5).launch("c", 55, 85, 5).kernel("d", 7, 110, 5);
  const Table table = gaps_of(trace);
  std::string rows;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    for (const char* title : {"Idle", "Host meanwhile", "Host for", "Ended by work", "Work"}) {
      rows += cell_text(table, row, title) + "; ";
    }
  }
  EXPECT_EQ(rows,
            "40.0 µs; (nothing recorded); -; launched before; b; "
            "30.0 µs; cudaLaunchKernel; 2.00 µs; launched before; c; "
            "20.0 µs; ; -; launch unknown; d; ");
}

TEST(GapRows, OfAGpuTheLongestTwoHundredAreShown) {
  TestTrace trace(0);
  for (int i = 0; i < 203; ++i) trace.kernel("k", 7, 10 * i + (i > 100 ? 1 : 0), 5);
  const Table table = gaps_of(trace);
  ASSERT_EQ(table.rows.size(), 200U);
  EXPECT_EQ(cell_text(table, 0, "Idle"), "6.00 µs");
  EXPECT_EQ(cell_text(table, 0, "At"), "+1.005000 ms");
  EXPECT_EQ(cell_text(table, 1, "At"), "+5.000 µs") << "of equal ones the first come first";
  EXPECT_EQ(cell_text(table, 199, "At"), "+1.996000 ms") << "and the last are left out";
}

TEST(GapRows, AnyOtherGapHasARow) {
  TestTrace trace(0);
  for (int i = 0; i < 203; ++i) trace.kernel("k", 7, 10 * i, 5);
  const Session session({trace.read()});
  const AnalysedSession analysed = analyse_session(session);
  const auto row_at = [&](int64_t begin_us) {
    const int64_t origin = session.traces()[0].origin_ns;
    const TimeRef gap{0, origin + begin_us * 1000, origin + (begin_us + 5) * 1000};
    return gap_row(session, *analysed.report, *analysed.derived, gap);
  };
  Table table = analysed.tables->gaps;
  const auto last = row_at(2'015);
  ASSERT_TRUE(last);
  EXPECT_EQ(std::ranges::count(table.rows, last->time, &TableRow::time), 0);
  table.rows = {*last};
  EXPECT_EQ(cell_text(table, 0, "At"), "+2.015000 ms");
  EXPECT_EQ(cell_text(table, 0, "Idle"), "5.00 µs");
  EXPECT_EQ(row_at(5)->values.size(), last->values.size());
  EXPECT_FALSE(row_at(10)) << "it was busy";
  EXPECT_FALSE(row_at(6)) << "not where the gap begins";
}

TEST(GapRows, OfTheRunBeforeAGapSaysWhatIsNotKnown) {
  const Session runs({idle_trace().read(), idle_trace().read()}, 1);
  const AnalysedSession analysed = analyse_session(runs);
  Table table = analysed.tables->gaps;
  table.rows.clear();
  for (const uint32_t trace : {0U, 1U}) {
    const TimeRef gap{trace, 1'000'065'000, 1'000'105'000};
    const auto row = gap_row(runs, *analysed.report, *analysed.derived, gap);
    ASSERT_TRUE(row);
    EXPECT_EQ(row->time, gap);
    table.rows.push_back(*row);
  }
  EXPECT_EQ(cell_text(table, 0, "Host meanwhile"), "(looked at in the run after only)");
  EXPECT_EQ(cell_text(table, 0, "Idle"), "40.0 µs");
  EXPECT_EQ(cell_text(table, 1, "Host meanwhile"), "enumerate(DataLoader)#_Iter.__next__");
}

TEST_F(Gaps, KernelsNameTheOperatorThatLaunchedThemMost) {
  EXPECT_EQ(analysed_.origins->at("gemm"), "aten::addmm, 67 %");
  const KernelOrigins none = kernel_origins(trace::make_report({training_trace(0).read()}));
  EXPECT_FALSE(none.contains("ncclDevKernel_AllReduce")) << "its launch is unknown";
}

TEST_F(Gaps, AKernelsLinksLeadToItsOperatorModuleAndStep) {
  const SliceRef gemm = slice_named(session_, 0, "gemm");
  const Table links = link_rows(session_, links_of(session_, {}, gemm), gemm);
  std::vector<std::string> texts;
  for (const TableRow& row : links.rows) {
    texts.push_back(row.values[1].text() + " " + row.values[0].text());
    EXPECT_TRUE(row.slice) << "each is a link";
  }
  EXPECT_EQ(texts,
            (std::vector<std::string>{"in operator aten::addmm", "in module nn.Module: Linear_0",
                                      "in step ProfilerStep#3", "launched by cudaLaunchKernel"}));
  const SliceRef inner = slice_named(session_, 0, "aten::addmm");
  const Table of_operator = link_rows(session_, {}, inner);
  ASSERT_FALSE(of_operator.rows.empty());
  EXPECT_EQ(of_operator.rows[0].values[0].text(), "aten::linear");
}

}  // namespace
}  // namespace redline::viewer
