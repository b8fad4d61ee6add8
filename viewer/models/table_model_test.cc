#include "viewer/models/table_model.h"

#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QCoreApplication>
#include <QItemSelectionModel>
#include <QSignalSpy>
#include <set>

#include "viewer/models/testing_trace.h"

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

TEST(TableModel, WhatIsSelectedStaysSoWhereverItIsSortedTo) {
  TableModel model;
  QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.set_table(numbers({3, 100, 20, 7}));
  QItemSelectionModel selection(&model);
  const auto select = [&](int row) {
    selection.select(model.index(row, 0), QItemSelectionModel::Select | QItemSelectionModel::Rows);
  };
  const auto selected = [&] {
    std::set<std::string> rows;
    for (const QModelIndex& row : selection.selectedRows()) {
      rows.insert(cell(model, row.row(), 0));
    }
    return rows;
  };
  select(0);
  selection.setCurrentIndex(model.index(2, 1), QItemSelectionModel::NoUpdate);
  model.sort(1, Qt::DescendingOrder);
  EXPECT_EQ(selected(), (std::set<std::string>{"row 3"}));
  EXPECT_EQ(selection.currentIndex(), model.index(1, 1)) << "20 ns";
  select(0);
  model.sort(1, Qt::AscendingOrder);
  EXPECT_EQ(selected(), (std::set<std::string>{"row 3", "row 100"}));
  EXPECT_EQ(selection.currentIndex(), model.index(2, 1));
  model.sort(-1, Qt::AscendingOrder);
  EXPECT_EQ(selected(), (std::set<std::string>{"row 3", "row 100"})) << "they stay where they are";
}

TEST(TableModel, WordsStandLeftAndFiguresRight) {
  TableModel model;
  model.set_table(numbers({1}));
  EXPECT_EQ(model.headerData(1, Qt::Horizontal, Qt::DisplayRole).toString(), "Total");
  EXPECT_TRUE(model.headerData(0, Qt::Horizontal, Qt::TextAlignmentRole).toInt() & Qt::AlignLeft);
  EXPECT_TRUE(model.data(model.index(0, 1), Qt::TextAlignmentRole).toInt() & Qt::AlignRight);
  EXPECT_FALSE(model.headerData(2, Qt::Horizontal, Qt::DisplayRole).isValid());
}

TEST(TableModel, TipsSayTheWholeNameAndWhatAColumnMeans) {
  const std::string name = "void at::native::copy_kernel<float, 4>(float*, int)";
  const std::string tail(2'000, 'x');
  TableModel model;
  model.set_table({"t",
                   {{"Name", Unit::kName}, {"Total", Unit::kDuration, "Of all calls"}},
                   {{{TableValue::kernel(name), int64_t{5}}, {}, {}},
                    {{tail, int64_t{6}}, {}, {}},
                    {{std::string("<img src='file:///dev/zero'>"), int64_t{7}}, {}, {}}}});
  const auto tip = [](const std::string& words) {
    return "<p style='white-space:pre-wrap'>" + words + "</p>";
  };
  const auto text = [&](int row, int column, int role) {
    return model.data(model.index(row, column), role).toString().toStdString();
  };
  EXPECT_EQ(text(0, 0, Qt::DisplayRole), "copy_kernel<float,4>");
  EXPECT_EQ(text(0, 0, Qt::ToolTipRole),
            tip("void at::native::copy_kernel&lt;float, 4&gt;(float*, int)"));
  EXPECT_EQ(text(1, 0, Qt::ToolTipRole), tip(tail.substr(0, 1'000)));
  EXPECT_EQ(text(2, 0, Qt::ToolTipRole), tip("&lt;img src='file:///dev/zero'&gt;"));
  EXPECT_FALSE(model.data(model.index(0, 1), Qt::ToolTipRole).isValid()) << "a figure has none";
  EXPECT_FALSE(model.data(model.index(0, 0), Qt::EditRole).isValid());
  EXPECT_FALSE(model.data({}, Qt::DisplayRole).isValid());
  EXPECT_TRUE(model.data(model.index(0, 0), Qt::TextAlignmentRole).toInt() & Qt::AlignVCenter);
  EXPECT_EQ(model.headerData(1, Qt::Horizontal, Qt::ToolTipRole).toString().toStdString(),
            tip("Of all calls"));
  EXPECT_FALSE(model.headerData(0, Qt::Horizontal, Qt::ToolTipRole).isValid());
  EXPECT_EQ(model.headerData(0, Qt::Horizontal, Qt::DisplayRole).toString(), "Name");
  EXPECT_FALSE(model.headerData(0, Qt::Vertical, Qt::DisplayRole).isValid());
  EXPECT_FALSE(model.headerData(-1, Qt::Horizontal, Qt::DisplayRole).isValid());
  EXPECT_EQ(model.rowCount(model.index(0, 0)), 0);
  EXPECT_EQ(model.columnCount(model.index(0, 0)), 0);
}

TEST(TableModel, StaysSortedByAColumnThatHasMoved) {
  TableModel model;
  model.set_table(numbers({3, 1}));
  model.sort(1, Qt::AscendingOrder);
  Table wider = numbers({9, 4});
  wider.columns.insert(wider.columns.begin() + 1, {"Note", Unit::kText});
  for (TableRow& row : wider.rows) row.values.insert(row.values.begin() + 1, std::string("-"));
  model.set_table(wider);
  EXPECT_EQ(model.sort_column(), 2);
  EXPECT_EQ(cell(model, 0, 0), "row 4");
}

TEST(TableModel, OtherColumnsHaveNoOrderYet) {
  TableModel model;
  model.set_table(numbers({3, 1}));
  model.sort(0, Qt::AscendingOrder);
  EXPECT_EQ(cell(model, 0, 0), "row 1");
  model.set_table(numbers({9, 4}));
  EXPECT_EQ(cell(model, 0, 0), "row 4");
  model.set_table({"t", {{"A", Unit::kCount}}, {{{int64_t{9}}, {}, {}}, {{int64_t{4}}, {}, {}}}});
  EXPECT_EQ(cell(model, 0, 0), "9");
  model.sort(1, Qt::AscendingOrder);
  model.sort(-1, Qt::AscendingOrder);
  EXPECT_EQ(cell(model, 0, 0), "9") << "there is no such column";
}

class Hits : public ::testing::Test {
 protected:
  Hits() {
    const FindResults found = find_results(*session_, Search(*session_, "gemm"));
    model_.set_hits(session_, found.hits);
  }
  std::string cell(int row, int column) {
    return model_.data(model_.index(row, column), Qt::DisplayRole).toString().toStdString();
  }
  void sort(int column, Qt::SortOrder order) {
    QSignalSpy sorted(&model_, &HitsModel::sorted);
    model_.sort(column, order);
    EXPECT_TRUE(sorted.wait(120'000));
  }

  int argc_ = 1;
  char name_[5] = "test";
  char* argv_[2] = {name_, nullptr};
  QCoreApplication qt_{argc_, argv_};
  std::shared_ptr<const Session> session_ = std::make_shared<const Session>(two_ranks());
  HitsModel model_;
  QAbstractItemModelTester tester_{&model_, QAbstractItemModelTester::FailureReportingMode::Fatal};
};

TEST_F(Hits, SortBesideTheWindow) {
  ASSERT_EQ(model_.rowCount(), 4);
  sort(2, Qt::AscendingOrder);
  EXPECT_EQ(cell(0, 2), "+50.000 µs");
  EXPECT_EQ(cell(3, 2), "+160.000 µs");
  const SliceRef first = model_.hit(0);
  sort(2, Qt::DescendingOrder);
  EXPECT_EQ(model_.hit(3), first);
  sort(3, Qt::AscendingOrder);
  EXPECT_EQ(cell(0, 3), "rank 0 · GPU 0 stream 7");
  EXPECT_EQ(cell(3, 3), "rank 1 · GPU 0 stream 7");
  const Table exported = model_.table();
  ASSERT_EQ(exported.rows.size(), 4U);
  for (size_t row = 0; row < 4; ++row) {
    for (size_t column = 0; column < exported.columns.size(); ++column) {
      EXPECT_EQ(value_text(exported.rows[row].values.at(column), exported.columns[column].unit),
                cell(static_cast<int>(row), static_cast<int>(column)));
    }
  }
}

TEST_F(Hits, TheFirstMillionIsShown) {
  const size_t beyond = 7;
  auto many = std::make_shared<std::vector<SliceRef>>(HitsModel::kMostShown + beyond,
                                                      slice_named(*session_, 0, "gemm"));
  many->back() = slice_named(*session_, 1, "gemm");
  model_.set_hits(session_, many);
  EXPECT_EQ(model_.rowCount(), static_cast<int>(HitsModel::kMostShown));
  EXPECT_EQ(model_.size() - model_.shown_count(), beyond);
  EXPECT_EQ(model_.hit(0).trace, 0U);
  sort(3, Qt::DescendingOrder);
  EXPECT_EQ(model_.hit(0).trace, 1U) << "all are sorted";
}

TEST_F(Hits, NewHitsEndASort) {
  QSignalSpy sorted(&model_, &HitsModel::sorted);
  model_.sort(1, Qt::AscendingOrder);
  model_.set_hits(session_, std::make_shared<const std::vector<SliceRef>>());
  EXPECT_FALSE(sorted.wait(50)) << "what was sorted is no longer there";
  EXPECT_EQ(model_.rowCount(), 0);
}

}  // namespace

}  // namespace redline::viewer
