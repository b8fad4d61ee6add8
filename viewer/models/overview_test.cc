#include "viewer/models/overview.h"

#include <gtest/gtest.h>

#include "viewer/models/testing_trace.h"

namespace redline::viewer {
namespace {

TEST(Overview, ShowsBusyGpusAndWaitingForData) {
  const Session session({training_trace(0).read()});
  const auto columns = overview_columns(session, 199);  // 1 us a column
  ASSERT_EQ(columns.size(), 199U);
  EXPECT_EQ(columns[60].busy, 1);
  EXPECT_EQ(columns[60].main_class, SliceClass::kCompute);
  EXPECT_EQ(columns[85].main_class, SliceClass::kCommunication);
  EXPECT_EQ(columns[40].busy, 0) << "operators do not count where there is a GPU";
  EXPECT_EQ(columns[10].dataloader, 1);
  EXPECT_EQ(columns[40].dataloader, 0);
}

TEST(Overview, OnlyWhatWasRecordedAtATimeCounts) {
  const auto busy = [](const Session& session, size_t column) {
    const auto columns =
        overview_columns(session, static_cast<int>(session.range().span_ns() / 1000));
    return columns.at(column).busy;
  };
  const Session windows({training_trace(0).read(), training_trace(0, 1'000'250).read()});
  EXPECT_EQ(busy(windows, 60), 1);
  EXPECT_EQ(busy(windows, 225), 0) << "between the windows";
  EXPECT_EQ(busy(windows, 310), 1);
  EXPECT_EQ(busy(two_ranks(), 55), 0.5) << "the other one is idle";
}

TEST(Overview, TheClassIsThatOfMostRanks) {
  const auto rank = [](int number, const char* kernel) {
    return TestTrace(number).kernel(kernel, 7, 0, 100).read();
  };
  const Session session({rank(0, "gemm"), rank(1, "gemm"), rank(2, "ncclDevKernel_AllReduce")});
  const auto columns = overview_columns(session, 100);
  EXPECT_EQ(columns[50].busy, 1);
  EXPECT_EQ(columns[50].main_class, SliceClass::kCompute);
}

TEST(Overview, WithoutAGpuOperatorsCount) {
  TestTrace trace(0);
  trace.slice("user_annotation", "ProfilerStep#1", 1, 1, 0, 100);
  trace.slice("cpu_op", "aten::mm", 1, 1, 50, 50);
  const auto columns = overview_columns(Session({trace.read()}), 100);
  EXPECT_EQ(columns[20].busy, 0);
  EXPECT_EQ(columns[70].busy, 1);
  EXPECT_EQ(columns[70].main_class, SliceClass::kOperator);
}

TEST(Overview, NoKernelIsTooShortToBeSeen) {
  TestTrace trace(0);
  trace.kernel("a", 7, 0, 10).kernel("short", 7, 505, 0.001).kernel("b", 7, 990, 10);
  const auto columns = overview_columns(Session({trace.read()}), 100);
  EXPECT_NEAR(columns[50].busy, 1 / 255.0, 1e-9);
  EXPECT_EQ(columns[49].busy, 0);
}

TEST(Overview, NothingToShow) {
  EXPECT_TRUE(overview_columns(Session({}), 0).empty());
  EXPECT_EQ(overview_columns(Session({}), 5).size(), 5U);
}

}  // namespace
}  // namespace redline::viewer
