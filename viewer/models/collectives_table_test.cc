#include "viewer/models/collectives_table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "viewer/models/analyse.h"
#include "viewer/models/step_scope.h"
#include "viewer/models/testing_trace.h"

namespace redline::viewer {
namespace {

TEST(CollectiveRows, LeadToTheirLongestCall) {
  const Session session = two_ranks();
  const Table table = collective_rows(session, *analyse_session(session).report);
  ASSERT_EQ(table.rows.size(), 2U) << "one a rank";
  EXPECT_EQ(session.name_of(table.rows[1].slice), "ncclDevKernel_AllReduce");
  EXPECT_EQ(table.rows[0].slice.trace + table.rows[1].slice.trace, 1U);
  EXPECT_EQ(value_text(table.rows[0].values[5], Unit::kCount), "2");
}

TEST(CollectiveRows, NameARecordingAsItsTracksDo) {
  const Session session({training_trace(0).read(), training_trace(0, 2'000'000).read()});
  const auto report = analyse_session(session).report;
  const Table table = collective_rows(session, *report);
  ASSERT_EQ(table.rows.size(), 2U);
  const auto is_row =
      row_of_call(session, *report, slice_named(session, 1, "ncclDevKernel_AllReduce"));
  for (const TableRow& row : table.rows) {
    const bool is_second = row.slice.trace == 1;
    EXPECT_EQ(row.values[2].text(), is_second ? "rank 0 · 2" : "rank 0");
    EXPECT_EQ(is_row(row), is_second);
  }
  const SessionTrace& second = session.traces()[1];
  const TimeRange step = second.steps.front().range;
  const TimeRef time{1, second.origin_ns + step.begin_ns, second.origin_ns + step.end_ns};
  const Table of_step = tables_of_step(session, *report, {}, time).collectives;
  ASSERT_EQ(of_step.rows.size(), 1U);
  EXPECT_EQ(of_step.rows[0].values[2].text(), "rank 0 · 2");
}

TEST(CollectiveRows, HaveNoTimesWhereTheTraceTellsNone) {
  TestTrace trace(0);
  for (const int size : {10, 20}) {
    trace.slice("user_annotation", "nccl:all_reduce", 1, 1, size, 5,
                fmt::format(R"({{"Input Dims":[[{}]],"Input type":["float"]}})", size));
  }
  const Session session({trace.read()});
  const Table table = collective_rows(session, *analyse_session(session).report);
  ASSERT_EQ(table.rows.size(), 3U) << "one a size, and their sum";
  for (const TableRow& row : table.rows) {
    EXPECT_EQ(row.values[6].kind(), TableValue::Kind::kWhole) << "bytes are known";
    for (const size_t column : {7U, 8U, 9U, 10U}) {
      EXPECT_EQ(row.values[column].kind(), TableValue::Kind::kNone) << column;
    }
  }
}

TEST(CollectiveRows, LeadToACallOfTheirOwnSize) {
  TestTrace trace(0);
  const auto call = [&](int elements, double begin_us, double length_us) {
    trace.slice("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0, 20, begin_us, length_us,
                fmt::format(R"({{"device":0,"stream":20,"Collective name":"allreduce",)"
                            R"("In msg nelems":{0},"Out msg nelems":{0},"Group size":2,)"
                            R"("dtype":"Float","Process Group Name":"0"}})",
                            elements));
  };
  call(6'250'000, 0, 100);
  call(250'000, 200, 10);
  call(6'250'000, 300, 90);
  call(250'000, 500, 12);
  const Session session({trace.read()});
  trace::Report report = *analyse_session(session).report;
  EXPECT_FALSE(has_values(collective_rows(session, report), 11)) << "its links are not known";
  report.traces.front().peaks.link_gb_per_s = 1000;
  report.traces.front().peaks.is_link_given = true;
  const Table table = collective_rows(session, report);
  ASSERT_EQ(table.rows.size(), 3U) << "one a size, and their sum";
  EXPECT_EQ(cell_text(table, 0, "Of links"), "26.3 %") << "2 x 1/2 x 50 MB in 190 us";
  EXPECT_EQ(table.rows[2].values[0].text(), "(all all_reduce together)");
  EXPECT_EQ(table.rows[2].values[5].whole(), 4);
  EXPECT_EQ(table.rows[2].values[6].whole(), 52'000'000);
  const double together = table.rows[2].values[10].number();
  EXPECT_NEAR(together, 52e6 / 212e-6, 1e3) << "bus bytes of two ranks, over the time of all";
  EXPECT_EQ(table.rows[0].values[6].whole(), 50'000'000);
  EXPECT_EQ(session.range_of(table.rows[0].slice).span_ns(), 100'000);
  EXPECT_EQ(table.rows[1].values[6].whole(), 2'000'000);
  EXPECT_EQ(session.range_of(table.rows[1].slice).span_ns(), 12'000);
}

TEST(CollectiveRows, ACallLeadsToTheRowOfItsGroupAndSize) {
  std::vector<std::shared_ptr<const trace::Trace>> traces;
  for (const int rank : {0, 1}) {
    TestTrace trace(rank);
    for (int i = 0; i < 4; ++i) {
      trace.slice(
          "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0, 7, 100 * i, 10 + i + rank,
          fmt::format(R"({{"Collective name":"allreduce","In msg nelems":{0},"Out msg nelems":{0},)"
                      R"("dtype":"Float","Group size":2,"Process Group Name":"{1}","Seq":{2}}})",
                      i < 2 ? 10 : 30, i == 3 ? "1" : "0", i + 1));
    }
    traces.push_back(trace.read());
  }
  const Session session(traces);
  const auto report = analyse_session(session).report;
  const Table table = collective_rows(session, *report);
  std::string leads;
  for (uint32_t t = 0; t < 2; ++t) {
    for (uint32_t i = 0; i < 4; ++i) {
      const auto is_row = row_of_call(session, *report, {t, {i}});
      for (size_t row = 0; row < table.rows.size(); ++row) {
        if (!is_row(table.rows[row])) continue;
        leads += fmt::format("{}.{}>{} {} {}; ", t, i, cell_text(table, row, "Rank"),
                             cell_text(table, row, "Group"), cell_text(table, row, "Bytes"));
      }
    }
  }
  EXPECT_EQ(leads,
            "0.0>rank 0 0 80 B; 0.1>rank 0 0 80 B; 0.2>rank 0 0 120 B; 0.3>rank 0 1 120 B; "
            "1.0>rank 1 0 80 B; 1.1>rank 1 0 80 B; 1.2>rank 1 0 120 B; 1.3>rank 1 1 120 B; ");
  EXPECT_EQ(longest_of_kind(session, *report, "all_reduce"), (SliceRef{1, {3}}));
  EXPECT_FALSE(longest_of_kind(session, *report, "broadcast"));
}

}  // namespace
}  // namespace redline::viewer
