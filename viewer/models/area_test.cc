#include "viewer/models/area.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "viewer/models/find_results.h"
#include "viewer/models/testing_trace.h"

namespace redline::viewer {
namespace {

TEST(Quantiles, AreValuesOfTheList) {
  std::vector<int64_t> values;
  for (int64_t i = 200; i >= 1; --i) values.push_back(i);
  const Quantiles spread = quantiles_of(values);
  EXPECT_EQ(spread.p50, 100);
  EXPECT_EQ(spread.p99, 198);
  EXPECT_EQ(spread.min, 1);
  EXPECT_EQ(spread.max, 200);
  EXPECT_EQ(spread.mean(), 100);
  std::vector<int64_t> none;
  EXPECT_EQ(quantiles_of(none).mean(), 0);
  std::vector<int64_t> one{7};
  EXPECT_EQ(quantiles_of(one).p99, 7);
}

class Areas : public ::testing::Test {
 protected:
  Session session_ = two_ranks();
  Layout layout_{session_, 100'000};

  std::string cell(const AreaSummary& summary, const std::string& name, const std::string& title) {
    for (const TableRow& row : summary.table.rows) {
      if (row.name != name) continue;
      for (size_t c = 0; c < summary.table.columns.size(); ++c) {
        const TableColumn& column = summary.table.columns[c];
        if (column.title == title) return value_text(row.values[c], column.unit);
      }
    }
    return "no " + name;
  }
};

TEST_F(Areas, AllLanesOfTheLayout) {
  const auto lanes = lanes_between(session_, layout_, 0, layout_.height());
  EXPECT_EQ(lanes.size(), session_.lane_count());
  EXPECT_TRUE(lanes_between(session_, layout_, 0, 5).empty()) << "a header has none";
}

TEST_F(Areas, SumsMeansAndSelfTimesByName) {
  const Area area{session_.range(), lanes_between(session_, layout_, 0, layout_.height())};
  const AreaSummary summary = summarize_area(session_, area);
  EXPECT_EQ(summary.slices, 36U);
  EXPECT_EQ(cell(summary, "aten::linear", "Count"), "4");
  EXPECT_EQ(cell(summary, "aten::linear", "Sum"), "120.0 µs");
  EXPECT_EQ(cell(summary, "aten::linear", "Self"), "40.0 µs");
  EXPECT_EQ(cell(summary, "aten::addmm", "Self"), "60.0 µs") << "without the runtime's call";
  EXPECT_EQ(cell(summary, "gemm", "p99"), "25.0 µs");
  EXPECT_EQ(cell(summary, "gemm", "Self"), "100.0 µs");
}

TEST_F(Areas, PartsInsideAreToldFromWholeDurations) {
  const SliceRef gemm = slice_named(session_, 1, "gemm");
  const TimeRange range = session_.range_of(gemm);
  const int top = *layout_.top_of(session_, gemm);
  Area area{{range.begin_ns + 5'000, range.begin_ns + 15'000},
            lanes_between(session_, layout_, top, top + 1)};
  ASSERT_EQ(area.lanes.size(), 1U);
  const AreaSummary summary = summarize_area(session_, area);
  EXPECT_EQ(summary.slices, 1U);
  EXPECT_EQ(cell(summary, "gemm", "Sum"), "25.0 µs");
  EXPECT_EQ(cell(summary, "gemm", "In the area"), "10.0 µs");
  EXPECT_EQ(summary.table.rows[0].slice, gemm);
}

TEST_F(Areas, OnlyKernelsHaveShortNamesAndAlikeOnesAreToldApart) {
  const std::string gemm = "Cijk_" + std::string(35, 'x') + "_MT16x16x";
  const std::string tail = "_" + std::string(40, 'y');
  TestTrace trace(0);
  trace.slice("user_annotation", "FSDP::pre_forward (layers.0)", 1, 1, 0, 10)
      .slice("user_annotation", "FSDP::pre_forward (layers.1)", 1, 1, 10, 10)
      .slice("gpu_user_annotation", "FSDP::pre_forward (layers.0)", 0, 7, 0, 3)
      .slice("cpu_op", "", 1, 1, 30, 5)
      .kernel("void at::native::copy_kernel<float, 4>(float*, int)", 7, 40, 5)
      .kernel(gemm + "128" + tail, 7, 50, 5)
      .kernel(gemm + "256" + tail, 7, 60, 5);
  const Session session({trace.read()});
  std::vector<std::string> names;
  const AreaSummary summary = summarize_area(session, {session.range(), all_lanes(session)});
  for (size_t row = 0; row < summary.table.rows.size(); ++row) {
    names.push_back(cell_text(summary.table, row, "Name"));
  }
  std::ranges::sort(names);
  const std::string head = "Cijk_" + std::string(14, 'x') + "…MT16x16x";
  const std::string end = "_" + std::string(27, 'y') + "…";
  EXPECT_EQ(names,
            (std::vector<std::string>{"(no name)", head + "128" + end, head + "256" + end,
                                      "FSDP::pre_forward (layers.0)",
                                      "FSDP::pre_forward (layers.1)", "copy_kernel<float,4>"}));
}

TEST_F(Areas, NothingInAnEmptyArea) {
  EXPECT_TRUE(Area{}.empty());
  EXPECT_TRUE(summarize_area(session_, {}).table.rows.empty());
  const std::atomic<bool> cancelled{true};
  const Area all{session_.range(), lanes_between(session_, layout_, 0, layout_.height())};
  EXPECT_TRUE(summarize_area(session_, all, &cancelled).table.rows.empty());
}

}  // namespace
}  // namespace redline::viewer
