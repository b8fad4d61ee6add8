#include "viewer/models/name_table.h"

#include <gtest/gtest.h>

#include <QAbstractItemModelTester>

#include "viewer/models/test_trace.h"

namespace redline::viewer {
namespace {

trace::Report report_on_two_ranks() {
  return trace::make_report({training_trace(0).read(), training_trace(1, 1'000'010).read()});
}

std::string cell(const NameTable& table, int row, NameTable::Column column) {
  return table.data(table.index(row, column), Qt::DisplayRole).toString().toStdString();
}

TEST(NameTable, SumsKernelsOverRanks) {
  NameTable table(TableKind::kKernels);
  QAbstractItemModelTester tester(&table, QAbstractItemModelTester::FailureReportingMode::Fatal);
  table.set_report(report_on_two_ranks());
  ASSERT_EQ(table.rowCount(), 2);
  EXPECT_EQ(cell(table, 0, NameTable::kName), "gemm");
  EXPECT_EQ(cell(table, 0, NameTable::kCalls), "4");
  EXPECT_EQ(cell(table, 0, NameTable::kTotal), "100.0 µs");
  EXPECT_EQ(cell(table, 0, NameTable::kMean), "25.0 µs");
  EXPECT_EQ(cell(table, 0, NameTable::kLongest), "25.0 µs");
  EXPECT_EQ(cell(table, 0, NameTable::kShare), "62.5 %");
  EXPECT_FALSE(table.data(table.index(2, 0), Qt::DisplayRole).isValid());
}

TEST(NameTable, OperatorsHaveSelfTime) {
  NameTable table(TableKind::kOperators);
  QAbstractItemModelTester tester(&table, QAbstractItemModelTester::FailureReportingMode::Fatal);
  table.set_report(report_on_two_ranks());
  ASSERT_GE(table.rowCount(), 4);
  EXPECT_EQ(cell(table, 0, NameTable::kName), "aten::addmm");
  EXPECT_EQ(cell(table, 0, NameTable::kSelf), "80.0 µs");
  for (int row = 0; row < table.rowCount(); ++row) {
    if (cell(table, row, NameTable::kName) != "aten::linear") continue;
    EXPECT_EQ(cell(table, row, NameTable::kTotal), "120.0 µs");
    EXPECT_EQ(cell(table, row, NameTable::kSelf), "40.0 µs");
  }
  table.set_report({});
  EXPECT_EQ(table.rowCount(), 0);
}

TEST(NameTable, EveryColumnHasATitleAndANumber) {
  for (const TableKind kind : {TableKind::kKernels, TableKind::kOperators}) {
    NameTable table(kind);
    table.set_report(report_on_two_ranks());
    for (int c = 0; c < NameTable::kColumnCount; ++c) {
      EXPECT_FALSE(table.headerData(c, Qt::Horizontal, Qt::DisplayRole).toString().isEmpty());
      EXPECT_TRUE(table.data(table.index(0, c), NameTable::kSortRole).isValid());
    }
  }
}

}  // namespace
}  // namespace redline::viewer
