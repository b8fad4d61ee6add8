#include "viewer/models/path_table.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "tests/training_run.h"
#include "viewer/models/analyse.h"
#include "viewer/models/testing_trace.h"

namespace redline::viewer {
namespace {

using testing::TrainingRun;

TEST(CriticalPathRows, SumToTheStepAndLeadToTheirParts) {
  const Session session({TrainingRun(0, 2000, 2900).read(), TrainingRun(1, 2900, 2900).read()});
  const AnalysedSession analysed = analyse_session(session);
  const Table table = critical_path_rows(session, *analysed.report);
  for (size_t t = 0; t < 2; ++t) {
    const trace::Analysis& analysis = analysed.report->analyses[t];
    int64_t step_ns = 0;
    double share = 0;
    size_t leading = 0;
    int64_t before_ns = INT64_MAX;
    for (const TableRow& row : table.rows) {
      ASSERT_EQ(row.values.size(), table.columns.size());
      if (row.values[1].text() != session.traces()[t].title) continue;
      step_ns += row.values[4].whole();
      EXPECT_LE(row.values[4].whole(), std::exchange(before_ns, row.values[4].whole()));
      share += row.values[5].number();
      leading += row.time || !row.name.empty() ? 1 : 0;
      if (!row.time) continue;
      EXPECT_EQ(row.time->trace, t);
      EXPECT_GT(row.time->end_ns, row.time->begin_ns);
    }
    EXPECT_EQ(step_ns, std::accumulate(analysis.critical_path->mean_ns.begin(),
                                       analysis.critical_path->mean_ns.end(), int64_t{0}));
    EXPECT_NEAR(share, 1, 1e-9);
    EXPECT_GT(leading, 0U);
  }
  const Session alone({TrainingRun(0, 2000, 2900).read()});
  const Table of_one = critical_path_rows(alone, *analyse_session(alone).report);
  EXPECT_FALSE(has_values(of_one, 1)) << "no ranks to tell apart";
  EXPECT_TRUE(critical_path_rows(session, {}).rows.empty());
}

TEST(CriticalPathRows, OnlyKernelsHaveShortNames) {
  TestTrace trace(0);
  trace.slice("cpu_op", "FSDP::pre_forward (layers.0)", 1, 1, 0, 30)
      .launch("void at::native::copy_kernel<float, 4>(float*, int)", 20, 40, 50);
  const Session session({trace.read()});
  const Table table = critical_path_rows(session, *analyse_session(session).report);
  std::set<std::string> names;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    names.insert(cell_text(table, row, "On the critical path"));
  }
  EXPECT_TRUE(names.contains("FSDP::pre_forward (layers.0)"));
  EXPECT_TRUE(names.contains("copy_kernel<float,4>"));
}

TEST(CriticalPathRows, WithoutMarkedStepsNoneIsNamed) {
  TestTrace trace(0);
  trace.slice("cpu_op", "aten::mm", 1, 1, 0, 50).kernel("gemm", 7, 20, 20);
  const Session session({trace.read()});
  const Table table = critical_path_rows(session, *analyse_session(session).report);
  ASSERT_FALSE(table.rows.empty());
  EXPECT_EQ(table.columns[4].title, "Time");
}

}  // namespace
}  // namespace redline::viewer
