#include "viewer/models/table_model.h"

#include <gtest/gtest.h>

#include <QAbstractItemModelTester>

namespace redline::viewer {
namespace {

Table numbers(std::vector<int64_t> values) {
  Table table{"t", {{"Name", Unit::kText}, {"Total", Unit::kDuration}}, {}};
  for (const int64_t value : values) {
    table.rows.push_back({{"row " + std::to_string(value), value}, {}, {}});
  }
  return table;
}

std::string cell(const TableModel& model, int row, int column) {
  return model.data(model.index(row, column), Qt::DisplayRole).toString().toStdString();
}

TEST(TableModel, KeepsItsOrderWhenTheRowsChange) {
  TableModel model;
  QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.set_table(numbers({3, 100, 20}));
  EXPECT_EQ(cell(model, 0, 1), "3 ns");
  model.sort(1, Qt::DescendingOrder);
  EXPECT_EQ(cell(model, 0, 1), "100 ns") << "by number, not by letters";
  model.set_table(numbers({7, 8}));
  EXPECT_EQ(cell(model, 0, 0), "row 8");
  model.sort(0, Qt::AscendingOrder);
  EXPECT_EQ(cell(model, 0, 0), "row 7");
  model.set_table({});
  EXPECT_EQ(model.rowCount(), 0);
  EXPECT_EQ(model.columnCount(), 0);
}

TEST(TableModel, WordsStandLeftAndFiguresRight) {
  TableModel model;
  model.set_table(numbers({1}));
  EXPECT_EQ(model.headerData(1, Qt::Horizontal, Qt::DisplayRole).toString(), "Total");
  EXPECT_TRUE(model.headerData(0, Qt::Horizontal, Qt::TextAlignmentRole).toInt() & Qt::AlignLeft);
  EXPECT_TRUE(model.data(model.index(0, 1), Qt::TextAlignmentRole).toInt() & Qt::AlignRight);
  EXPECT_FALSE(model.headerData(2, Qt::Horizontal, Qt::DisplayRole).isValid());
}

}  // namespace
}  // namespace redline::viewer
