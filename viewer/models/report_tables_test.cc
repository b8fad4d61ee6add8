#include "viewer/models/report_tables.h"

#include <gtest/gtest.h>

#include "viewer/models/load.h"
#include "viewer/models/test_trace.h"

namespace redline::viewer {
namespace {

class ReportTables : public ::testing::Test {
 protected:
  Session session_ = two_ranks();
  std::shared_ptr<const trace::Report> report_ = analyse_session(session_).report;

  // All rows have a value in each column.
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

TEST_F(ReportTables, KernelsAreSummedOverRanks) {
  const Table table = kernel_rows(*report_);
  expect_whole(table);
  EXPECT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(cell(table, "gemm", "Calls"), "4");
  EXPECT_EQ(cell(table, "gemm", "Total"), "100.0 µs");
  EXPECT_EQ(cell(table, "gemm", "Mean"), "25.0 µs");
  EXPECT_EQ(cell(table, "gemm", "Longest"), "25.0 µs");
  EXPECT_EQ(cell(table, "gemm", "Share"), "62.5 %");
}

TEST_F(ReportTables, OperatorsHaveSelfTime) {
  const Table table = operator_rows(*report_);
  expect_whole(table);
  EXPECT_EQ(cell(table, "aten::addmm", "Self"), "80.0 µs");
  EXPECT_EQ(cell(table, "aten::linear", "Total"), "120.0 µs");
  EXPECT_EQ(cell(table, "aten::linear", "Self"), "40.0 µs");
}

TEST_F(ReportTables, WithoutAGpuNoOperatorHasTimeOnOne) {
  TestTrace trace(0);
  trace.slice("cpu_op", "aten::relu", 100, 100, 0, 10);
  const Session session({trace.read()});
  const Table table = operator_rows(*analyse_session(session).report);
  expect_whole(table);
  EXPECT_EQ(cell(table, "aten::relu", "On the GPU"), "-");
}

TEST_F(ReportTables, CollectivesLeadToTheirLongestCall) {
  const Table table = collective_rows(session_, *report_);
  expect_whole(table);
  ASSERT_EQ(table.rows.size(), 2U) << "one a rank";
  EXPECT_EQ(session_.name_of(table.rows[1].slice), "ncclDevKernel_AllReduce");
  EXPECT_EQ(table.rows[0].slice.trace + table.rows[1].slice.trace, 1U);
  EXPECT_EQ(value_text(table.rows[0].values[4], Unit::kCount), "2");
}

TEST_F(ReportTables, RanksHaveAWaitMatrix) {
  const Table table = rank_rows(session_, *report_);
  expect_whole(table);
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.columns.back().title, "Waits for 1");
  for (uint32_t rank = 0; rank < 2; ++rank) {
    const SliceRef step = table.rows[rank].slice;
    ASSERT_TRUE(step) << "a row leads to the rank";
    EXPECT_EQ(step.trace, rank);
    EXPECT_TRUE(session_.name_of(step).starts_with("ProfilerStep#"));
  }
  EXPECT_TRUE(rank_rows(session_, {}).rows.empty());
}

TEST_F(ReportTables, MemoryIsOfThePeak) {
  EXPECT_TRUE(memory_rows(*report_).rows.empty());
  TestTrace trace = training_trace(0);
  trace.raw(R"({"ph":"i","name":"[memory]","pid":100,"tid":100,"ts":1000036,"args":{)"
            R"("Device Type":1,"Device Id":0,"Bytes":4096,"Addr":64,"Total Allocated":8192}})");
  const Session session({trace.read()});
  const Table table = memory_rows(*analyse_session(session).report);
  expect_whole(table);
  EXPECT_EQ(cell(table, "all", "Bytes"), "8.0 KiB");
  EXPECT_EQ(cell(table, "aten::addmm", "Share"), "50.0 %");
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
  const Table table = collective_rows(session, *analyse_session(session).report);
  ASSERT_EQ(table.rows.size(), 2U) << "one a size";
  EXPECT_EQ(table.rows[0].values[5].whole(), 50'000'000);
  EXPECT_EQ(session.range_of(table.rows[0].slice).span_ns(), 100'000);
  EXPECT_EQ(table.rows[1].values[5].whole(), 2'000'000);
  EXPECT_EQ(session.range_of(table.rows[1].slice).span_ns(), 12'000);
}

}  // namespace
}  // namespace redline::viewer
