#include "viewer/models/report_tables.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/paths.h"
#include "trace/analysis/clock_alignment.h"
#include "viewer/models/analyse.h"
#include "viewer/models/hang_rows.h"
#include "viewer/models/testing_hang.h"
#include "viewer/models/testing_trace.h"

namespace redline::viewer {
namespace {

class TablesOfReport : public ::testing::Test {
 protected:
  Session session_ = two_ranks();
  std::shared_ptr<const trace::Report> report_ = analyse_session(session_).report;

  // Expects that all rows have a value in each column.
  static void expect_whole(const Table& table) {
    EXPECT_FALSE(table.rows.empty()) << table.title;
    for (const TableRow& row : table.rows) EXPECT_EQ(row.values.size(), table.columns.size());
  }
  static std::string cell(const Table& table, const std::string& name, const std::string& title) {
    for (const TableRow& row : table.rows) {
      if (value_text(row.values[0], Unit::kText).rfind(name, 0) != 0) continue;
      for (size_t c = 0; c < table.columns.size(); ++c) {
        if (table.columns[c].title == title) {
          return value_text(row.values[c], table.columns[c].unit);
        }
      }
    }
    return "no " + name + "/" + title;
  }
};

TEST_F(TablesOfReport, KernelsAreSummedOverRanks) {
  const Table table = kernel_rows(*report_);
  expect_whole(table);
  EXPECT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(cell(table, "gemm", "Calls"), "4");
  EXPECT_EQ(cell(table, "gemm", "Total"), "100.0 µs");
  EXPECT_EQ(cell(table, "gemm", "Mean"), "25.0 µs");
  EXPECT_EQ(cell(table, "gemm", "Longest"), "25.0 µs");
  EXPECT_EQ(cell(table, "gemm", "Share"), "62.5 %");
}

TEST(KernelRows, ThatLookTheSameShowWhereTheyDiffer) {
  const std::string gemm = "Cijk_" + std::string(35, 'x') + "_MT16x16x";
  const std::string tail = "_" + std::string(40, 'y');
  TestTrace trace(0);
  trace.kernel(gemm + "128" + tail, 7, 0, 20).kernel(gemm + "256" + tail, 7, 30, 10);
  const Table table = kernel_rows(*analyse_session(Session({trace.read()})).report);
  ASSERT_EQ(table.rows.size(), 2U);
  const std::string head = "Cijk_" + std::string(14, 'x') + "…MT16x16x";
  const std::string end = "_" + std::string(27, 'y') + "…";
  EXPECT_EQ(cell_text(table, 0, "Name"), head + "128" + end);
  EXPECT_EQ(cell_text(table, 1, "Name"), head + "256" + end);
}

TEST(OperatorRows, WithoutANameSaySo) {
  TestTrace trace(0);
  trace.slice("cpu_op", "", 1, 1, 0, 10);
  const Table table = operator_rows(*analyse_session(Session({trace.read()})).report);
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(cell_text(table, 0, "Name"), "(no name)");
}

TEST(KernelRows, OccupancyIsTheMeanOverTheTimeOfAllRanks) {
  std::vector<std::shared_ptr<const trace::Trace>> traces;
  for (const int rank : {0, 1}) {
    const char* args = rank == 0 ? R"({"device":0,"est. achieved occupancy %":50})"
                                 : R"({"device":0,"est. achieved occupancy %":100})";
    traces.push_back(
        TestTrace(rank).slice("kernel", "gemm", 0, 7, 0, rank == 0 ? 10 : 30, args).read());
  }
  const Session session(traces);
  const Table table = kernel_rows(*analyse_session(session).report);
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(cell_text(table, 0, "Occupancy"), "87.5 %");
}

TEST_F(TablesOfReport, OperatorsHaveSelfTime) {
  const Table table = operator_rows(*report_);
  expect_whole(table);
  EXPECT_EQ(cell(table, "aten::addmm", "Self"), "80.0 µs");
  EXPECT_EQ(cell(table, "aten::linear", "Total"), "120.0 µs");
  EXPECT_EQ(cell(table, "aten::linear", "Self"), "40.0 µs");
}

TEST_F(TablesOfReport, WithoutAGpuNoOperatorHasTimeOnOne) {
  TestTrace trace(0);
  trace.slice("cpu_op", "aten::relu", 100, 100, 0, 10);
  const Session session({trace.read()});
  const Table table = operator_rows(*analyse_session(session).report);
  expect_whole(table);
  EXPECT_EQ(cell(table, "aten::relu", "On the GPU"), "-");
}

TEST(CopyRows, LeadToTheirSlices) {
  TestTrace trace(0);
  const std::string args = R"~({"device":0,"bytes":8000,"memory bandwidth (GB/s)":2})~";
  for (const char* name : {"Memcpy HtoD (Pageable -> Device)", "Memset (Device)"}) {
    trace.slice("gpu_memcpy", name, 0, 7, 10, 4, args);
  }
  const Session session({trace.read()});
  const Table table = copy_rows(*analyse_session(session).report);
  ASSERT_EQ(table.rows.size(), 2U);
  for (size_t row = 0; row < 2; ++row) {
    EXPECT_TRUE(slice_named(session, 0, table.rows[row].name)) << table.rows[row].name;
    EXPECT_EQ(cell_text(table, row, "Copies"), "1");
    EXPECT_EQ(cell_text(table, row, "Bandwidth"), "2.0 GB/s");
  }
}

TEST(CopyRows, WhatIsNotKnownIsNotNought) {
  TestTrace trace(0);
  trace.slice("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 0, 7, 10, 4, R"({"device":0})");
  const Table table = copy_rows(*analyse_session(Session({trace.read()})).report);
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(cell_text(table, 0, "Bytes"), "-");
  EXPECT_EQ(cell_text(table, 0, "Mean"), "4.00 µs");
}

TEST_F(TablesOfReport, RanksHaveAWaitMatrix) {
  const Table table = rank_rows(session_, *report_);
  expect_whole(table);
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.columns[0].title, "Rank (times a step)");
  for (uint32_t rank = 0; rank < 2; ++rank) {
    const SliceRef step = table.rows[rank].slice;
    ASSERT_TRUE(step) << "a row leads to the rank";
    EXPECT_EQ(step.trace, rank);
    EXPECT_TRUE(session_.name_of(step).starts_with("ProfilerStep#"));
  }
  EXPECT_EQ(cell(table, "rank 1", "Clock offset"), "-10.0 µs");
  const auto& clock = report_->comparison->clocks.at(1);
  EXPECT_TRUE(trace::offset_text(*clock).starts_with("-10.0 us ± ")) << "as in the report";
  EXPECT_TRUE(rank_rows(session_, {}).rows.empty());
}

// A rank of four steps of 100 us with one collective each, which it joins at `joins_us`. `own_us`
// of computation hide a part of the communication.
TestTrace rank_that_joins(int rank, double joins_us) {
  TestTrace trace(rank);
  for (int step = 0; step < 4; ++step) {
    const double at = step * 100;
    trace.slice("user_annotation", fmt::format("ProfilerStep#{}", step), 1, 1, at, 100)
        .slice("cpu_op", "aten::mm", 1, 1, at, 10)
        .slice("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0, 20, at + joins_us,
               90 - joins_us,
               fmt::format(R"({{"device":0,"stream":20,"Collective name":"allreduce",)"
                           R"("Process Group Name":"0","Seq":{}}})",
                           step));
  }
  return trace;
}

TEST(RankRows, AllTimesAreThoseOfAnAverageStepAndZerosAreFoldedAway) {
  const Session session({rank_that_joins(0, 30).read(), rank_that_joins(1, 70).read()});
  const Table table = rank_rows(session, *analyse_session(session).report);
  ASSERT_EQ(table.rows.size(), 2U);
  const auto value = [&](size_t row, const std::string& title) -> int64_t {
    for (size_t c = 0; c < table.columns.size(); ++c) {
      if (table.columns[c].title == title) return table.rows[row].values[c].whole();
    }
    return -1;
  };
  EXPECT_EQ(value(1, "Step"), 100'000);
  EXPECT_EQ(value(1, "Exposed comm."), 20'000);
  EXPECT_EQ(value(1, "Others waited"), 40'000) << "of 160 us in four steps";
  EXPECT_EQ(value(0, "Waits for 1"), 40'000);
  EXPECT_EQ(value(1, "Waits for 0"), -1) << "nobody waits for rank 0: no such column";
  EXPECT_EQ(table.rows[0].values[0].text(), "rank 0");
  EXPECT_EQ(table.rows[1].values[0].text(),
            "rank 1 · longest own work (in forward or the script around it), waited for most");
}

TEST_F(TablesOfReport, MemoryIsOfThePeak) {
  EXPECT_TRUE(memory_rows(session_, *report_).rows.empty());
  TestTrace trace = training_trace(0);
  trace.raw(R"({"ph":"i","name":"[memory]","pid":100,"tid":100,"ts":1000036,"args":{)"
            R"("Device Type":1,"Device Id":0,"Bytes":4096,"Addr":64,"Total Allocated":8192}})");
  const Session session({trace.read()});
  const Table table = memory_rows(session, *analyse_session(session).report);
  expect_whole(table);
  EXPECT_EQ(cell(table, "all", "Bytes"), "8.0 KiB");
  EXPECT_EQ(cell(table, "aten::addmm", "Share"), "50.0 %");
  EXPECT_EQ(cell(table, "(allocated before the recording)", "Bytes"), "4.0 KiB");
  for (const TableRow& row : table.rows) {
    ASSERT_TRUE(row.time) << "a row leads to the peak";
    EXPECT_FALSE(row.slice);
    EXPECT_TRUE(row.name.empty());
    EXPECT_EQ(session.range_of(*row.time).begin_ns, 36'000);
  }
}

TEST(MemoryRows, SayWhoHoldsHowMuchTheLargestFirst) {
  const Session session = two_ranks();
  trace::Report report = *analyse_session(session).report;
  trace::MemoryPeak peak;
  peak.is_gpu = true;
  peak.allocated_bytes = 1'000;
  peak.holders = {{"aten::mm", 300, 2}, {"", 400, 3}};
  const auto rows = [&](int64_t others, int64_t earlier, int64_t unknown) {
    peak.other_holders = {"", 150, others};
    peak.earlier_bytes = earlier;
    peak.unknown_bytes = unknown;
    report.analyses[1].memory = {peak};
    std::string text;
    const Table table = memory_rows(session, report);
    for (size_t row = 0; row < table.rows.size(); ++row) {
      for (const char* title : {"Held at the peak by", "Bytes", "Allocations", "Share"}) {
        text += cell_text(table, row, title) + ", ";
      }
      EXPECT_EQ(cell_text(table, row, "Device"), "rank 1 · GPU 0");
    }
    return text;
  };
  const std::string all = "all, at the peak, 1000 B, -, 100.0 %, ";
  const std::string held = "(outside of operators), 400 B, 3, 40.0 %, aten::mm, 300 B, 2, 30.0 %, ";
  EXPECT_EQ(rows(0, 0, 0), all + held);
  EXPECT_EQ(rows(1, 1, 2), all + held +
                               "(all other operators), 150 B, 1, 15.0 %, "
                               "(the trace does not say by whom), 2 B, -, 0.2 %, "
                               "(allocated before the recording), 1 B, -, 0.1 %, ");
  EXPECT_EQ(rows(0, -1, 0), all + held + "(released, older than the recording), -1 B, -, -0.1 %, ");
  report.analyses[1].memory = {};
  peak.is_gpu = false;
  report.analyses[0].memory = {peak};
  EXPECT_EQ(cell_text(memory_rows(session, report), 0, "Device"), "rank 0 · host");
}

TEST(RankRows, ARankOfWhichNothingWasRecordedHasOne) {
  const Session session(
      {TestTrace(0).read(), rank_that_joins(1, 30).read(), rank_that_joins(2, 70).read()});
  const auto report = analyse_session(session).report;
  EXPECT_EQ(report->rank_count, 3);
  const Table table = rank_rows(session, *report);
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(cell_text(table, 0, "Rank (times a step)"), "rank 0");
  EXPECT_EQ(cell_text(table, 0, "Own work"), "-");
  EXPECT_EQ(cell_text(table, 1, "Own work"), "40.0 µs");
}

TEST(RankRows, OfMoreThanSixteenRanksTheMatrixIsLeftOut) {
  for (const size_t ranks : {16U, 17U}) {
    std::vector<std::shared_ptr<const trace::Trace>> traces;
    for (size_t rank = 0; rank < ranks; ++rank) {
      traces.push_back(
          rank_that_joins(static_cast<int>(rank), 30 + static_cast<double>(rank)).read());
    }
    const Session session(traces);
    const Table table = rank_rows(session, *analyse_session(session).report);
    EXPECT_EQ(table.rows.size(), ranks);
    const bool has_matrix = table.columns.back().title.starts_with("Waits for ");
    EXPECT_EQ(has_matrix, ranks == 16) << table.columns.back().title;
  }
}

TEST(MemoryRows, SumToThePeakInARealTrace) {
  const std::string path =
      redline::testing::shared_dir() + "/traces/ddp_v100_memory_rank1.pt.trace.json.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no shared traces here";
  const Session session({*trace::read_trace(path)});
  const Table table = memory_rows(session, *analyse_session(session).report);
  int64_t left = 0;
  for (const TableRow& row : table.rows) {
    const bool is_whole = row.values[0].text() == "all, at the peak";
    if (is_whole) {
      EXPECT_EQ(left, 0) << "of the device before";
    }
    left = is_whole ? row.values[2].whole() : left - row.values[2].whole();
  }
  EXPECT_EQ(left, 0);
  EXPECT_EQ(table.rows[1].values[0].text(), "(allocated before the recording)");
  EXPECT_GT(table.rows[1].values[4].number(), 0.5) << "the largest holder";
}

// A table of one of two ranks that has entered the collective `entered` of group "0".
TEST(HangRows, TheCulpritComesFirstWithItsOpenFrames) {
  const Session session({training_trace(0).read(), training_trace(1).read()});
  const Table table = hang_rows(session, hung_report());
  ASSERT_EQ(table.rows.size(), 2U);
  const auto& culprit = table.rows[0].values;
  ASSERT_EQ(culprit.size(), table.columns.size());
  EXPECT_EQ(culprit[0].text(), "▶ rank 1");
  EXPECT_EQ(culprit[1].text(), "node1");
  EXPECT_EQ(culprit[2].text(), "io");
  EXPECT_EQ(culprit[4].whole(), 120);
  EXPECT_EQ(culprit[5].text(), "all_reduce, done");
  EXPECT_EQ(culprit[6].text(), "connection.py:9 poll < train.py:31 sync < train.py:60 <module>");
  EXPECT_EQ(table.rows[0].slice.trace, 1U);
  EXPECT_TRUE(session.name_of(table.rows[0].slice).starts_with("ProfilerStep#"));
  const auto& waiting = table.rows[1].values;
  EXPECT_EQ(waiting[0].text(), "rank 0");
  EXPECT_EQ(waiting[2].text(), "waits");
  EXPECT_EQ(waiting[4].whole(), 121);
  EXPECT_EQ(waiting[5].text(), "all_reduce [[8]]");
}

TEST(HangRows, TheGroupsAreThatOfTheVerdictAndThoseInWhichSomebodyWaits) {
  const Session session({training_trace(0).read(), training_trace(1).read()});
  trace::Report report = hung_report();
  const auto groups = [&] {
    std::string names;
    for (const TableRow& row : hang_rows(session, report).rows) names += row.values[3].text() + ",";
    return names;
  };
  EXPECT_EQ(groups(), "0,0,");
  report.hang->group = "tp";
  EXPECT_EQ(groups(), "0,tp,0,tp,");
  report.hang_tables[0].collectives[0].is_done = true;
  EXPECT_EQ(groups(), "tp,tp,");
  report.hang->group.clear();
  EXPECT_EQ(groups(), ",,");
}

TEST(HangRows, AJobThatDidNotHangHasNone) {
  const Session session({training_trace(0).read()});
  EXPECT_TRUE(hang_rows(session, {}).rows.empty());
}

}  // namespace
}  // namespace redline::viewer
