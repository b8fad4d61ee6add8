#include "viewer/models/name_table.h"

#include <gtest/gtest.h>

#include <QAbstractItemModelTester>

#include "viewer/models/test_trace.h"

namespace redline::viewer {
namespace {

std::string cell(const NameTable& table, int row, NameTable::Column column) {
  return table.data(table.index(row, column), Qt::DisplayRole).toString().toStdString();
}

TEST(NameTable, SumsKernelsOverRanks) {
  const Session session = two_ranks();
  NameTable table(TableKind::kKernels);
  QAbstractItemModelTester tester(&table, QAbstractItemModelTester::FailureReportingMode::Fatal);
  table.set_session(session);
  ASSERT_EQ(table.rowCount(), 2);
  EXPECT_EQ(cell(table, 0, NameTable::kName), "gemm");
  EXPECT_EQ(cell(table, 0, NameTable::kCalls), "4");
  EXPECT_EQ(cell(table, 0, NameTable::kTotal), "100.0 µs");
  EXPECT_EQ(cell(table, 0, NameTable::kMean), "25.0 µs");
  EXPECT_EQ(cell(table, 0, NameTable::kShare), "62.5 %");
  EXPECT_FALSE(table.data(table.index(2, 0), Qt::DisplayRole).isValid());
}

TEST(NameTable, OperatorsHaveSelfTime) {
  const Session session = two_ranks();
  NameTable table(TableKind::kOperators);
  QAbstractItemModelTester tester(&table, QAbstractItemModelTester::FailureReportingMode::Fatal);
  table.set_session(session);
  ASSERT_EQ(table.rowCount(), 4);
  EXPECT_EQ(cell(table, 0, NameTable::kName), "aten::addmm");
  EXPECT_EQ(cell(table, 0, NameTable::kSelf), "80.0 µs");
  EXPECT_EQ(cell(table, 1, NameTable::kName), "aten::linear");
  EXPECT_EQ(cell(table, 1, NameTable::kTotal), "120.0 µs");
  EXPECT_EQ(cell(table, 1, NameTable::kSelf), "40.0 µs");
  table.set_session(Session({}));
  EXPECT_EQ(table.rowCount(), 0);
}

}  // namespace
}  // namespace redline::viewer
