#include "viewer/models/report_tables.h"

#include <gtest/gtest.h>

#include <QTemporaryDir>
#include <filesystem>
#include <fstream>

#include "trace/report/diff_words.h"
#include "viewer/models/format.h"
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
  EXPECT_EQ(table.columns[0].title, "Rank (times a step)");
  for (uint32_t rank = 0; rank < 2; ++rank) {
    const SliceRef step = table.rows[rank].slice;
    ASSERT_TRUE(step) << "a row leads to the rank";
    EXPECT_EQ(step.trace, rank);
    EXPECT_TRUE(session_.name_of(step).starts_with("ProfilerStep#"));
  }
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
  EXPECT_EQ(table.rows[1].values[0].text(), "rank 1 · longest own work (forward), waited for most");
}

TEST_F(ReportTables, MemoryIsOfThePeak) {
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

TEST(MemoryRows, SumToThePeakInARealTrace) {
  const std::string path =
      std::string(REDLINE_SHARED_DIR) + "/traces/ddp_v100_memory_rank1.pt.trace.json.gz";
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
  ASSERT_EQ(table.rows.size(), 3U) << "one a size, and their sum";
  EXPECT_EQ(table.rows[2].values[0].text(), "(all all_reduce together)");
  EXPECT_EQ(table.rows[2].values[4].whole(), 4);
  EXPECT_EQ(table.rows[2].values[5].whole(), 52'000'000);
  const double together = table.rows[2].values[9].number();
  EXPECT_NEAR(together, 52e6 / 212e-6, 1e3) << "bus bytes of two ranks, over the time of all";
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

TEST_F(Comparison, SaysWhichSideCannotBeRead) {
  const auto loaded = load_comparison({"/no/such/before.json"}, {after_});
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().find("/no/such/before.json"), std::string::npos);
}

}  // namespace

}  // namespace redline::viewer
