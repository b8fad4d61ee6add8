#include "viewer/models/steps_table.h"

#include <gtest/gtest.h>

#include "tests/training_run.h"
#include "viewer/models/analyse.h"
#include "viewer/models/report_tables.h"
#include "viewer/models/step_scope.h"
#include "viewer/models/testing_trace.h"

namespace redline::viewer {
namespace {

/// Steps of 100, 100 and 150 us with 5 us between them; in the last one a kernel takes 60 us.
TestTrace three_steps() {
  TestTrace trace(0);
  double at = 0;
  for (int step = 0; step < 3; ++step) {
    const double length = step == 2 ? 150 : 100;
    trace.slice("user_annotation", fmt::format("ProfilerStep#{}", step + 4), 1, 1, at, length)
        .slice("cpu_op", "aten::mm", 1, 1, at + 10, 20)
        .launch(step == 2 ? "slow_gemm" : "gemm", at + 12, at + 20, step == 2 ? 60 : 10);
    at += length + 5;
  }
  return trace;
}

class Steps : public ::testing::Test {
 protected:
  Session session_{{three_steps().read()}};
  AnalysedSession analysed_ = analyse_session(session_);

  [[nodiscard]] std::string cell(size_t row, std::string_view title) const {
    return cell_text(analysed_.tables->steps, row, title);
  }
};

TEST_F(Steps, EachHasItsTimeItsPartsAndItsLongestKernel) {
  ASSERT_EQ(analysed_.tables->steps.rows.size(), 3U);
  EXPECT_EQ(cell(0, "Step"), "step 4");
  EXPECT_EQ(cell(0, "Duration"), "100.0 µs");
  EXPECT_EQ(cell(0, "Gap before"), "-");
  EXPECT_EQ(cell(1, "Gap before"), "5.00 µs");
  EXPECT_EQ(cell(1, "Computation"), "10.0 µs");
  EXPECT_EQ(cell(2, "GPU idle"), "90.0 µs");
  EXPECT_EQ(cell(2, "Longest kernel"), "60.0 µs");
  EXPECT_EQ(cell(2, "Its name"), "slow_gemm");
  EXPECT_EQ(cell(2, "Copies"), "no Copies") << "nothing but zeros";
}

TEST(StepsOfATraining, SayWhatTheHostDidInEach) {
  const Session session({testing::TrainingRun(0, 2000, 2000).read()});
  const AnalysedSession analysed = analyse_session(session);
  const trace::Analysis& analysis = analysed.report->analyses[0];
  ASSERT_TRUE(analysis.phases);
  const auto mean_of = [&](std::string_view title) {
    const Table& table = analysed.tables->steps;
    for (size_t c = 0; c < table.columns.size(); ++c) {
      if (table.columns[c].title != title) continue;
      int64_t sum = 0;
      for (const TableRow& row : table.rows) sum += row.values[c].whole();
      return sum / static_cast<int64_t>(table.rows.size());
    }
    ADD_FAILURE() << "no column " << title;
    return int64_t{0};
  };
  const trace::PhaseTimes& phases = *analysis.phases;
  EXPECT_EQ(mean_of("Forward"), phases[static_cast<size_t>(trace::Phase::kForward)].host_ns);
  EXPECT_EQ(mean_of("Backward"), phases[static_cast<size_t>(trace::Phase::kBackward)].host_ns);
  EXPECT_EQ(mean_of("Optimizer"), phases[static_cast<size_t>(trace::Phase::kOptimizer)].host_ns);
  EXPECT_EQ(cell_text(analysed.tables->steps, 0, "Data wait"), "1.40 ms");
}

TEST_F(Steps, BarsAreAsLongAndAsSlowAsTheirRows) {
  const std::vector<StepBar>& bars = analysed_.step_bars;
  ASSERT_EQ(bars.size(), 3U);
  trace::StepParts sums{};
  for (size_t i = 0; i < bars.size(); ++i) {
    const TableRow& row = analysed_.tables->steps.rows[i];
    EXPECT_EQ(bars[i].time, *row.time);
    EXPECT_EQ(bars[i].name, cell(i, "Step"));
    EXPECT_EQ(bars[i].note, cell(i, "Note"));
    int64_t parts_ns = 0;
    for (size_t p = 0; p < sums.size(); ++p) {
      parts_ns += bars[i].parts_ns[p];
      sums[p] += bars[i].parts_ns[p];
    }
    EXPECT_EQ(parts_ns, bars[i].length_ns());
  }
  for (size_t p = 0; p < sums.size(); ++p) {
    EXPECT_EQ(sums[p] / 3, analysed_.report->analyses[0].breakdown.part_ns[p])
        << "as the report's average step: " << trace::kBreakdownPartNames[p];
  }
  EXPECT_EQ(text_of(bars[2]),
            "step 6: 150.0 µs, slow, +50.0 %\nkernel 60.0 µs\nruntime 2.00 µs\ncpu 8.00 µs\n"
            "other 80.0 µs");
}

TEST(StepBars, OfTooManyTheLongestAreDrawn) {
  std::vector<StepBar> bars(1000);
  for (size_t i = 0; i < bars.size(); ++i) {
    bars[i].time = {0, 0, i == 333 ? 500 : 100 + static_cast<int64_t>(i % 7)};
  }
  const std::vector<size_t> drawn = bars_to_draw(bars, 90);
  EXPECT_EQ(drawn.size(), 90U);
  EXPECT_TRUE(std::is_sorted(drawn.begin(), drawn.end()));
  EXPECT_TRUE(std::binary_search(drawn.begin(), drawn.end(), 333U));
  EXPECT_EQ(bars_to_draw(bars, 5000).size(), 1000U);
  EXPECT_TRUE(bars_to_draw({}, 90).empty());
  EXPECT_EQ(bars_to_draw(bars, 1), std::vector<size_t>{333});
  EXPECT_EQ(bars_to_draw(bars, 0), std::vector<size_t>{333}) << "one at least";
}

TEST_F(Steps, ASlowOneIsMarked) {
  EXPECT_EQ(cell(0, "Note"), "");
  EXPECT_EQ(cell(2, "Note"), "slow, +50.0 %");
}

TEST(StepsOfTwoGpus, HaveTheMeanOfWhatEachDid) {
  TestTrace trace(0);
  const auto work = [&trace](const char* category, const char* name, int gpu, double at,
                             double length) {
    trace.slice(category, name, gpu, 7, at, length,
                fmt::format(R"({{"device":{},"stream":7}})", gpu));
  };
  for (int step = 0; step < 3; ++step) {
    const double at = 200 * step, length = step == 2 ? 115 : 100;
    trace.slice("user_annotation", fmt::format("ProfilerStep#{}", step), 9, 9, at, length);
  }
  work("kernel", "gemm", 0, 10, 20);
  work("kernel", "ncclDevKernel_AllReduce", 0, 40, 10);
  work("gpu_memcpy", "Memcpy HtoD", 0, 60, 4);
  work("kernel", "first", 1, 10, 10);
  work("kernel", "ncclDevKernel_AllReduce", 1, 40, 20);
  work("kernel", "second", 0, 210, 10);
  work("kernel", "third", 0, 230, 10);
  work("kernel", "last", 1, 410, 10);
  const Session session({trace.read()});
  const Table table = analyse_session(session).tables->steps;
  const auto row = [&table](size_t index) {
    std::string text;
    for (const char* title : {"Computation", "Comm. alone", "Copies", "GPU idle", "Its name"}) {
      text += cell_text(table, index, title) + "; ";
    }
    return text;
  };
  EXPECT_EQ(row(0), "15.0 µs; 15.0 µs; 2.00 µs; 68.0 µs; gemm; ");
  EXPECT_EQ(row(1), "10.0 µs; 0 ns; 0 ns; 90.0 µs; second; ") << "of equal ones the first";
  EXPECT_EQ(cell_text(table, 2, "Note"), "no Note") << "15 % more is not slow yet";
  EXPECT_EQ(cell_text(table, 1, "Gap before"), "100.0 µs");
}

TEST_F(Steps, WhatTheGpuDidSumsToTheStep) {
  ASSERT_EQ(analysed_.tables->steps.columns[6].title, "Computation");
  for (const TableRow& row : analysed_.tables->steps.rows) {
    int64_t sum = 0;
    for (const size_t column : {6U, 7U}) sum += row.values[column].whole();
    EXPECT_EQ(sum, row.values[1].whole()) << "computation and idle time; the others are no columns";
  }
}

TEST_F(Steps, ARowLeadsToItsTime) {
  ASSERT_TRUE(analysed_.tables->steps.rows[1].time);
  EXPECT_EQ(session_.range_of(*analysed_.tables->steps.rows[1].time).span_ns(),
            analysed_.report->analyses[0].steps[1].window.length_ns());
}

TEST_F(Steps, TheTablesOfEachStepSumToThoseOfAll) {
  std::map<std::string, int64_t> kernel_ns, operator_ns, operator_gpu_ns;
  for (const TableRow& row : analysed_.tables->steps.rows) {
    const ReportTables scope =
        tables_of_step(session_, *analysed_.report, *analysed_.origins, *row.time);
    for (const TableRow& each : scope.kernels.rows) kernel_ns[each.name] += each.values[2].whole();
    for (const TableRow& each : scope.operators.rows) {
      operator_ns[each.name] += each.values[2].whole();
      operator_gpu_ns[each.name] += each.values[4].whole();
    }
  }
  const Table kernels = kernel_rows(*analysed_.report);
  ASSERT_EQ(kernels.rows.size(), kernel_ns.size());
  for (const TableRow& all : kernels.rows) {
    EXPECT_EQ(all.values[2].whole(), kernel_ns[all.name]) << all.name;
  }
  const Table operators = operator_rows(*analysed_.report);
  ASSERT_EQ(operators.rows.size(), operator_ns.size());
  for (const TableRow& all : operators.rows) {
    EXPECT_EQ(all.values[2].whole(), operator_ns[all.name]) << all.name;
    EXPECT_EQ(all.values[4].whole(), operator_gpu_ns[all.name]) << all.name;
  }
  const ReportTables none = tables_of_step(session_, *analysed_.report, {}, {0, 1, 2});
  EXPECT_TRUE(none.kernels.rows.empty() && none.operators.rows.empty());
}

TEST_F(Steps, TheRowsOfAStepLeadToItsLongestCalls) {
  TestTrace trace(0);
  for (int step = 0; step < 2; ++step) {
    const double at = 200 * step;
    const double slower = step == 1 ? 20 : 0;  // all calls of the second step take longer
    trace.slice("user_annotation", fmt::format("ProfilerStep#{}", step + 4), 1, 1, at, 195);
    for (const auto& [begin, length] : {std::pair(10, 5), std::pair(50, 15), std::pair(90, 10)}) {
      trace.slice("cpu_op", "aten::mm", 1, 1, at + begin, length + slower)
          .launch("gemm", at + begin + 1, at + begin + 3, length + slower + 1);
    }
  }
  const Session session({trace.read()});
  const AnalysedSession known = analyse_session(session);
  ASSERT_EQ(known.tables->steps.rows.size(), 2U);
  const ReportTables scope =
      tables_of_step(session, *known.report, *known.origins, *known.tables->steps.rows[0].time);
  ASSERT_EQ(scope.kernels.rows.size(), 1U);
  ASSERT_EQ(scope.operators.rows.size(), 1U);
  EXPECT_EQ(session.name_of(scope.kernels.rows[0].slice), "gemm");
  EXPECT_EQ(session.range_of(scope.kernels.rows[0].slice), (TimeRange{53'000, 69'000}));
  EXPECT_EQ(cell_text(scope.kernels, 0, "Longest"), "16.0 µs");
  EXPECT_EQ(session.name_of(scope.operators.rows[0].slice), "aten::mm");
  EXPECT_EQ(session.range_of(scope.operators.rows[0].slice), (TimeRange{50'000, 65'000}));
}

TEST_F(Steps, WithoutMarksThereAreNone) {
  TestTrace trace(0);
  trace.slice("cpu_op", "aten::mm", 1, 1, 0, 10);
  EXPECT_TRUE(analyse_session(Session({trace.read()})).tables->steps.rows.empty());
}

}  // namespace
}  // namespace redline::viewer
