// The panes beside and under the timeline, and the arrows, are linked with the lanes.
#include <QHeaderView>
#include <QPushButton>
#include <QSignalSpy>

#include "viewer/widgets/panes.h"
#include "viewer/widgets/tables_pane.h"
#include "viewer/widgets/window_fixture.h"

namespace redline::viewer {
namespace {

class Panes : public Window {
 protected:
  TablesPane& tables() { return *window_.findChild<TablesPane*>(); }
  SelectionPane& selection() { return *window_.findChild<SelectionPane*>(); }
  SliceRef slice(uint32_t rank, const char* name) {
    return slice_named(state().session(), rank, name);
  }
  static void click_row(QTableView& table, int row) {
    const QModelIndex cell = table.model()->index(row, 0);
    QTest::mouseClick(table.viewport(), Qt::LeftButton, {}, table.visualRect(cell).center());
  }
};

TEST_F(Panes, ShiftDragSumsUpAnArea) {
  open_two_ranks();
  const QPoint middle = centre_of(slice(0, "gemm"));
  QSignalSpy shown(&selection(), &SelectionPane::shown);
  const TimeRange before = state().axis().range();
  QTest::mousePress(&lanes(), Qt::LeftButton, Qt::ShiftModifier, {5, middle.y() - 2});
  QTest::mouseMove(&lanes(), {60, middle.y()});
  QTest::mouseMove(&lanes(), {lanes().width() - 5, middle.y() + 2});
  QTest::mouseRelease(&lanes(), Qt::LeftButton, Qt::ShiftModifier,
                      {lanes().width() - 5, middle.y() + 2});
  EXPECT_EQ(state().axis().range(), before) << "the view stays";
  EXPECT_EQ(state().area().lanes.size(), 1U);
  ASSERT_TRUE(shown.wait(kLoadLimitMs));
  EXPECT_TRUE(selection().isVisible());
  const Table& table = selection().table().table();
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(table.rows[0].name, "gemm");
  EXPECT_EQ(table.rows[0].values[1].whole(), 2);
  click_row(selection().table(), 0);
  EXPECT_EQ(state().selection(), slice(0, "gemm"));
  QTest::keyClick(&lanes(), Qt::Key_Escape);
  EXPECT_TRUE(state().area().empty());
}

TEST_F(Panes, RTakesTheTimeOfTheSelectedSlice) {
  open_two_ranks();
  state().select(slice(0, "aten::linear"));
  QSignalSpy shown(&selection(), &SelectionPane::shown);
  QTest::keyClick(&lanes(), Qt::Key_R);
  EXPECT_EQ(state().area().range, state().session().range_of(slice(0, "aten::linear")));
  ASSERT_TRUE(shown.wait(kLoadLimitMs));
  EXPECT_TRUE(some_label_says("30.0 µs"));
}

TEST_F(Panes, FindShowsHowLongTheHitsAre) {
  open_two_ranks();
  QTest::keyClick(&lanes(), Qt::Key_Slash);
  QSignalSpy shown(&tables().find(), &FindPane::shown);
  QTest::keyClicks(&window_.search_field(), "nccl");
  EXPECT_EQ(tables().currentWidget(), &tables().find());
  while (tables().find().table().hits().rowCount() == 0) ASSERT_TRUE(shown.wait(kLoadLimitMs));
  EXPECT_TRUE(some_label_says("4 found · 60.0 µs in all"));
  EXPECT_EQ(tables().current_table().title, "Find");
  click_row(tables().find().table(), 2);
  EXPECT_EQ(state().session().name_of(state().selection()), "ncclDevKernel_AllReduce");
  auto* bars = window_.findChild<HistogramView*>();
  bars->setFocus(Qt::TabFocusReason);
  QTest::keyClick(bars, Qt::Key_Home);
  state().select({});
  QTest::keyClick(bars, Qt::Key_Return);
  EXPECT_TRUE(state().search().matches(state().session(), state().selection()));
  window_.search_field().setFocus();
  QTest::keyClicks(&window_.search_field(), "xyz");
  while (!some_label_says("Nothing has this name")) ASSERT_TRUE(shown.wait(kLoadLimitMs));
}

TEST_F(Panes, CollectivesAndRanksHaveTabsAndEmptyOnesHide) {
  open_two_ranks();
  QStringList visible;
  for (int i = 0; i < tables().count(); ++i) {
    if (tables().isTabVisible(i)) visible << tables().tabText(i);
  }
  EXPECT_EQ(visible.join(","), "Kernels,Operators,Collectives,Ranks,Find");
  show_tab("Collectives");
  click_row(static_cast<TableView&>(*tables().currentWidget()), 1);
  EXPECT_EQ(state().session().name_of(state().selection()), "ncclDevKernel_AllReduce");
  show_tab("Ranks");
  click_row(static_cast<TableView&>(*tables().currentWidget()), 1);
  EXPECT_EQ(state().session().name_of(state().selection()), "ProfilerStep#5");
  EXPECT_EQ(state().selection().trace, 1U);
}

TEST_F(Panes, AmongMillionsARowLeadsToItsSliceWithoutHoldingUpTheWindow) {
  open_two_ranks();
  state().set_searched_at_once(0);
  show_tab("Kernels");
  auto& table = static_cast<TableView&>(*tables().currentWidget());
  click_row(table, 0);
  EXPECT_FALSE(state().selection()) << "it is looked for beside the window";
  window_.settle();
  const std::string first = table.table().rows[0].name;
  EXPECT_EQ(state().session().name_of(state().selection()), first);
  click_row(table, 1);
  state().select(slice(0, "aten::mul"));
  window_.settle();
  EXPECT_EQ(state().selection(), slice(0, "aten::mul")) << "what is chosen later counts";
}

TEST_F(Panes, ALongNameIsSearchedForFromItsBeginning) {
  open_two_ranks();
  state().go_to_name(QString(300, QLatin1Char('x')));
  EXPECT_EQ(window_.search_field().cursorPosition(), 0);
}

TEST_F(Panes, DetailsShowTheWholeCallStack) {
  // Tries all lengths, because some need one line more for their last few pixels.
  std::string stack;
  for (size_t length = 1; length < 60; ++length) {
    stack += fmt::format("{}torch/{}.py({}): forward", stack.empty() ? "" : ";",
                         std::string(length, 'n'), length);
  }
  TestTrace trace(0);
  trace.slice("cpu_op", "aten::mm", 1, 1, 0, 10, fmt::format(R"({{"Call stack":"{}"}})", stack));
  window_.show_session(loaded({trace.read()}));
  state().select(slice(0, "aten::mm"));
  window_.findChild<DetailsPane*>()->grab();
  auto* table = window_.findChild<DetailsPane*>()->findChild<QTableWidget*>();
  for (int row = 0; row < table->rowCount(); ++row) {
    if (table->item(row, 0)->text() != "Call stack") continue;
    const int inner = table->columnWidth(1) - 16 -
                      2 * (1 + table->style()->pixelMetric(QStyle::PM_FocusFrameHMargin));
    const QString words = table->item(row, 1)->text().replace('/', QStringLiteral("/\u200b"));
    const QRect needed = table->fontMetrics().boundingRect(QRect(0, 0, inner, 100'000),
                                                           Qt::TextWordWrap | Qt::AlignLeft, words);
    EXPECT_GE(table->rowHeight(row), needed.height());
    return;
  }
  FAIL() << "no call stack";
}

TEST_F(Panes, ATraceWithoutSlicesSaysSoAndShowsFind) {
  const LoadedSession session = loaded({TestTrace(0).read()});
  window_.show_session(session);
  window_.show_analysis(analyse_session(*session.session));
  EXPECT_EQ(tables().currentWidget(), &tables().find());
  QImage blank(lanes().size(), QImage::Format_RGB32);
  blank.fill(Theme::light().lanes);
  EXPECT_NE(lanes().grab().toImage().convertToFormat(QImage::Format_RGB32), blank) << "a sentence";
}

TEST_F(Panes, TablesOfTwoRanksFitASmallWindow) {
  window_.resize(1280, 720);
  open_two_ranks();
  for (const char* title : {"Kernels", "Operators", "Collectives", "Ranks"}) {
    show_tab(title);
    QCoreApplication::processEvents();
    const auto& table = static_cast<TableView&>(*tables().currentWidget());
    EXPECT_LE(table.horizontalHeader()->length(), table.viewport()->width()) << title;
    for (int c = 0; c < table.model()->columnCount(); ++c) {
      const bool has_any = has_values(table.table(), static_cast<size_t>(c));
      EXPECT_EQ(table.isColumnHidden(c), !has_any) << title << " column " << c;
    }
  }
}

TEST_F(Panes, ArrowsLeadFromRankToRankAndBracketsFollowThem) {
  open_two_ranks();
  const QImage without = lanes().grab().toImage();
  state().select(slice(0, "ncclDevKernel_AllReduce"));
  ASSERT_EQ(state().links().size(), 1U);
  EXPECT_EQ(state().links()[0].kind, LinkKind::kCollective);
  const QImage with = lanes().grab().toImage();
  int changed = 0;
  const int between =
      (centre_of(state().links()[0].from).y() + centre_of(state().links()[0].to).y()) / 2;
  for (int x = 0; x < with.width(); ++x) {
    changed += with.pixel(x, between) != without.pixel(x, between) ? 1 : 0;
  }
  EXPECT_GT(changed, 0) << "an arrow between the two ranks";
  auto* links = window_.findChild<DetailsPane*>()->findChild<TableView*>();
  ASSERT_EQ(links->table().rows.size(), 1U);
  QTest::keyClick(&lanes(), Qt::Key_BracketRight);
  EXPECT_EQ(state().selection(), slice(1, "ncclDevKernel_AllReduce"));
}

TEST_F(Panes, TwoRunsStandSideBySideWithWhatChanged) {
  const Session* session = nullptr;
  const LoadedSession both{
      std::make_shared<const Session>(
          std::vector{training_trace(0).read(),
                      training_trace(0, 77'000'000).kernel("gemm", 7, 176, 30).read()},
          1),
      0.01};
  session = both.session.get();
  window_.show_session(both);
  window_.show_analysis(analyse_session(*session));
  QCoreApplication::processEvents();
  EXPECT_EQ(tables().tabText(tables().currentIndex()), "Compare");
  EXPECT_TRUE(some_label_says("a step"));
  auto& table = static_cast<TableView&>(*tables().currentWidget());
  for (int row = 0; row < table.model()->rowCount(); ++row) {
    if (table.table().rows[static_cast<size_t>(row)].name != "gemm") continue;
    state().set_range({0, 40'000});
    table.scrollTo(table.model()->index(row, 0));
    click_row(table, row);
  }
  EXPECT_EQ(state().session().name_of(state().selection()), "gemm");
  EXPECT_EQ(state().selection().trace, 1U);
  const auto places = places_of(*session, "gemm");
  ASSERT_EQ(places.size(), 2U);
  for (const SliceRef ref : places) {
    const TimeRange range = session->range_of(ref);
    EXPECT_LE(state().axis().begin_ns, range.begin_ns) << ref.trace;
    EXPECT_GE(state().axis().end_ns(), range.end_ns) << ref.trace;
    EXPECT_TRUE(lanes().rect().contains(centre_of(ref))) << ref.trace;
  }
}

TEST_F(Panes, AdviceShowsItsEvidence) {
  TestTrace trace(0);
  for (int step = 0; step < 4; ++step) {
    const double at = step * 1000;
    trace.slice("user_annotation", fmt::format("ProfilerStep#{}", step), 1, 1, at, 990)
        .slice("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1,
               1, at + 1, 700)
        .slice("cpu_op", "aten::mm", 1, 1, at + 710, 200);
  }
  const LoadedSession session = loaded({trace.read()});
  window_.show_session(session);
  window_.show_analysis(analyse_session(*session.session));
  QCoreApplication::processEvents();
  for (QPushButton* button : window_.findChildren<QPushButton*>()) {
    if (button->text() != "show evidence") continue;
    button->click();
    EXPECT_NE(state().session().name_of(state().selection()).find("DataLoader"),
              std::string_view::npos);
    return;
  }
  FAIL() << "no evidence to show";
}

TEST_F(Panes, FiguresStandBesideTheirNamesHoweverWideTheWindowIs) {
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

TEST_F(Panes, ATableThatScrollsBeginsWithColumnsThatAreNotCut) {
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

TEST_F(Panes, WhatWasFoundInATraceIsNotShownAgainstTheNextOne) {
  open_two_ranks();
  show_tab("Find");
  state().find("gemm");
  tables().find().wait();  // found, but not shown yet
  show_tab("Kernels");
  state().open(loaded({TestTrace(0).kernel("k", 7, 0, 5).read()}).session);
  QCoreApplication::processEvents();
  EXPECT_EQ(tables().find().table().hits().rowCount(), 0);
}

}  // namespace
}  // namespace redline::viewer
