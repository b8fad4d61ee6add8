// Tables on the screen: widths, the frozen names, copying.
#include "viewer/widgets/table_view.h"

#include <QAction>
#include <QClipboard>
#include <QHeaderView>
#include <QScrollBar>
#include <QSignalSpy>

#include "viewer/widgets/table_header.h"
#include "viewer/widgets/testing_window.h"

namespace redline::viewer {
namespace {

class TableOnScreen : public Window {};

TEST_F(TableOnScreen, ColumnsFitTheRowsThatAreShownNow) {
  TableView table("Rows");
  table.resize(500, 200);
  table.show();
  const auto show = [&table](const std::string& time) {
    table.show_table({"Links",
                      {{"Slice", Unit::kText}, {"Link", Unit::kText}, {"After", Unit::kText}},
                      {{{std::string("gemm"), std::string("launches"), time}, {}, {}}}},
                     -1);
  };
  show("0 ns");
  show("+123,456.7 ms");
  const int needed = table.fontMetrics().horizontalAdvance("+123,456.7 ms");
  EXPECT_GE(table.columnWidth(2), needed + TableHeader::kLeft + TableHeader::kRight);
}

TEST_F(TableOnScreen, FiguresStandBesideTheirNamesHoweverWideTheWindowIs) {
  TableView table("Rows");
  table.show_table({"Rows",
                    {{"Name", Unit::kText}, {"Calls", Unit::kCount}},
                    {{{std::string("aten::mm"), int64_t{7}}, {}, "aten::mm"}}},
                   -1);
  const auto name_width = [&table](int width) {
    table.resize(width, 200);
    table.show();
    return table.columnWidth(0);
  };
  const int narrow = name_width(400);
  EXPECT_GT(narrow, 300) << "all the room there is";
  const int wide = name_width(3000);
  EXPECT_GT(wide, narrow);
  EXPECT_LT(wide, 600);
  EXPECT_EQ(name_width(400), narrow);
}

TEST_F(TableOnScreen, OtherWordsAreCutForNamesTheWidestFirst) {
  const std::string name(60, 'n');
  TableView table("Rows");
  table.show_table(
      {"Rows",
       {{"Name", Unit::kText},
        {"Longer", Unit::kText},
        {"Total", Unit::kDuration},
        {"Long", Unit::kText},
        {"Short", Unit::kText}},
       {{{name, std::string(40, 'w'), int64_t{1'234'567}, std::string(18, 'w'), std::string("yes")},
         {},
         name}}},
      -1);
  table.resize(1100, 200);
  table.show();
  const int short_width = table.columnWidth(4);
  EXPECT_GT(table.columnWidth(1), table.columnWidth(3)) << "there is room for both";
  table.resize(500, 200);
  table.hide();
  table.show();
  EXPECT_GE(table.columnWidth(0), 200);
  EXPECT_NEAR(table.columnWidth(1), table.columnWidth(3), 1);
  EXPECT_EQ(table.columnWidth(4), short_width);
  EXPECT_LE(table.horizontalHeader()->length(), table.viewport()->width());
  const int cut = table.columnWidth(1);
  table.cut_names_first();
  table.hide();
  table.show();
  EXPECT_GT(table.columnWidth(1), cut);
  EXPECT_LT(table.columnWidth(0), 200);
}

TEST_F(TableOnScreen, ATableThatScrollsBeginsWithColumnsThatAreNotCut) {
  TableView table("Rows");
  Table rows{"Rows", {{"Name", Unit::kText}}, {{{std::string("aten::mm")}, {}, "aten::mm"}}};
  for (int c = 0; c < 8; ++c) {
    rows.columns.push_back({"A column", Unit::kDuration});
    rows.rows[0].values.emplace_back(int64_t{1'234'567});
  }
  table.show_table(rows, -1);
  for (const int width : {300, 360, 415}) {
    table.resize(width, 200);
    table.show();
    const int edge = table.viewport()->width();
    int right = 0;
    for (int c = 0; c < table.model()->columnCount() && right < edge; ++c) {
      right += table.columnWidth(c);
    }
    EXPECT_EQ(right, edge) << width;
  }
}

Table wide_rows() {
  Table rows{"Rows", {{"Name", Unit::kText}}, {}};
  for (const char* name : {"aten::mm", "aten::add", "aten::relu"}) {
    rows.rows.push_back({{std::string(name)}, {}, name});
  }
  for (int c = 0; c < 12; ++c) {
    rows.columns.push_back({"A column", Unit::kDuration});
    for (TableRow& row : rows.rows) {
      row.values.emplace_back(int64_t{1'234'567} * (c + 1) + static_cast<int64_t>(row.name.size()));
    }
  }
  return rows;
}

TEST_F(TableOnScreen, NamesStayWhenATableIsScrolledSideways) {
  TableView table("Rows");
  table.resize(700, 200);
  table.show();
  table.show_table(wide_rows(), -1);
  const auto names = [&table] {
    const QImage picture = table.viewport()->grab().toImage();
    return picture.copy(0, 0, table.columnWidth(0) - 1, picture.height());
  };
  const auto titles = [&table] {
    const QImage picture = table.horizontalHeader()->viewport()->grab().toImage();
    return picture.copy(0, 0, table.columnWidth(0), picture.height());
  };
  const QImage before = names(), titles_before = titles();
  table.horizontalScrollBar()->setValue(300);
  EXPECT_EQ(names(), before);
  EXPECT_EQ(titles(), titles_before);
  QTest::mouseClick(table.horizontalHeader()->viewport(), Qt::LeftButton, {}, {20, 10});
  EXPECT_EQ(table.horizontalHeader()->sortIndicatorSection(), 0) << "its title can be clicked";
  QSignalSpy chosen(&table, &TableView::name_chosen);
  const QString second = table.model()->index(1, 0).data().toString();
  QTest::mouseClick(table.viewport(), Qt::LeftButton, {}, {20, table.rowViewportPosition(1) + 5});
  ASSERT_EQ(chosen.size(), 1);
  EXPECT_EQ(chosen[0][0].toString(), second);
}

TEST_F(TableOnScreen, ATableIsFittedAnewWhenItIsShown) {
  TableView table("Rows");
  table.resize(700, 200);
  table.show_table(wide_rows(), -1);
  table.show();
  const int fitted = table.columnWidth(1);
  table.setColumnWidth(1, 10);
  table.hide();
  table.show();
  EXPECT_EQ(table.columnWidth(1), fitted);
}

TEST_F(TableOnScreen, ASortedTableMarksTheSameRows) {
  TableView table("Rows");
  table.show_table({"Rows",
                    {{"Name", Unit::kText}, {"Calls", Unit::kCount}},
                    {{{std::string("aten::mm"), int64_t{7}}, {}, "aten::mm"},
                     {{std::string("aten::add"), int64_t{9}}, {}, "aten::add"}}},
                   -1);
  table.show();
  table.select_name("aten::mm");
  table.horizontalHeader()->setSortIndicator(1, Qt::DescendingOrder);
  EXPECT_EQ(table.table().rows[0].name, "aten::add");
  ASSERT_EQ(table.selected_rows().rows.size(), 1U);
  EXPECT_EQ(table.selected_rows().rows[0].name, "aten::mm");
}

TEST_F(TableOnScreen, HitsThatAreSortedAnewAreNotMarked) {
  const auto session = std::make_shared<const Session>(two_ranks());
  HitsView table("Found");
  table.show_hits(session, find_results(*session, Search(*session, "gemm")).hits);
  table.show();
  table.selectRow(0);
  EXPECT_EQ(table.selected_rows().rows.size(), 1U);
  QSignalSpy sorted(&table.hits(), &HitsModel::sorted);
  table.horizontalHeader()->setSortIndicator(2, Qt::DescendingOrder);
  ASSERT_TRUE(sorted.wait(kLoadLimitMs));
  EXPECT_TRUE(table.selected_rows().rows.empty()) << "another hit stands there now";
}

TEST_F(TableOnScreen, SelectedRowsAreCopiedForASpreadsheet) {
  open_two_ranks();
  TableView& table = *tables().current_view();
  click_row(table, 0);
  const SliceRef chosen = state().selection();
  QTest::mouseClick(table.viewport(), Qt::LeftButton, Qt::ControlModifier,
                    {20, table.rowViewportPosition(1) + 5});
  EXPECT_EQ(state().selection(), chosen) << "a row that is added to the others moves nothing";
  QGuiApplication::clipboard()->clear();
  table.setFocus();
  QTest::keyClick(&table, Qt::Key_C, Qt::ControlModifier);
  EXPECT_EQ(QGuiApplication::clipboard()->text().toStdString(), table_tsv(table.table()));
  QTest::mouseClick(table.viewport(), Qt::LeftButton, {}, {20, table.rowViewportPosition(1) + 5});
  for (QAction* action : table.actions()) {
    if (action->text().startsWith("Copy")) action->trigger();
  }
  EXPECT_EQ(QGuiApplication::clipboard()->text().count('\n'), 2) << "titles and one row";
}

}  // namespace
}  // namespace redline::viewer
