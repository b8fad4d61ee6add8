#include "viewer/models/report_tables.h"

#include <gtest/gtest.h>

#include <QTemporaryDir>
#include <fstream>

#include "viewer/models/load.h"
#include "viewer/models/testing_trace.h"

namespace redline::viewer {
namespace {

class ReportTables : public ::testing::Test {
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
    larger_batch.before.samples_per_second = 385;
    larger_batch.after.samples_per_second = 1629;
    EXPECT_NE(diff_headline(larger_batch).find(" faster: 385 → 1,629 samples/s ("),
              std::string::npos)
        << diff_headline(larger_batch);
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
