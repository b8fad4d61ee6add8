// The panes beside and under the timeline, and the arrows, are linked with the lanes.
#include <QAction>
#include <QClipboard>
#include <QHeaderView>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollBar>
#include <QSignalSpy>

#include "viewer/widgets/panes.h"
#include "viewer/widgets/step_bars.h"
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
    int column = 0;
    while (table.isColumnHidden(column)) ++column;
    const QModelIndex cell = table.model()->index(row, column);
    table.scrollTo(cell);
    ASSERT_FALSE(table.isRowHidden(row));
    ASSERT_FALSE(table.visualRect(cell).isEmpty());
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
  EXPECT_EQ(visible.join(","), "Kernels,Operators,Collectives,Steps,Ranks,Gaps,Find,Flame");
  show_tab("Collectives");
  click_row(*tables().current_view(), 1);
  EXPECT_EQ(state().session().name_of(state().selection()), "ncclDevKernel_AllReduce");
  show_tab("Ranks");
  click_row(*tables().current_view(), 1);
  EXPECT_EQ(state().session().name_of(state().selection()), "ProfilerStep#5");
  EXPECT_EQ(state().selection().trace, 1U);
}

TEST_F(Panes, AmongMillionsARowLeadsToItsSliceWithoutHoldingUpTheWindow) {
  open_two_ranks();
  state().set_searched_at_once(0);
  show_tab("Kernels");
  TableView& table = *tables().current_view();
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
  for (const char* title : {"Kernels", "Operators", "Collectives", "Ranks", "Gaps"}) {
    show_tab(title);
    QCoreApplication::processEvents();
    const TableView& table = *tables().current_view();
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
  EXPECT_TRUE(some_label_says("times are those of a step"));
  TableView& table = *tables().current_view();
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
  EXPECT_TRUE(some_label_says("at most")) << "beside the factor";
  for (QPushButton* button : window_.findChildren<QPushButton*>()) {
    if (button->text() != "show evidence") continue;
    button->click();
    EXPECT_NE(state().session().name_of(state().selection()).find("DataLoader"),
              std::string_view::npos);
    return;
  }
  FAIL() << "no evidence to show";
}

TEST_F(Panes, EvidenceThatIsNoSliceIsATimeInAllLanes) {
  open_two_ranks();
  state().select(slice(0, "gemm"));
  const SessionTrace& trace = state().session().traces()[1];
  const int64_t begin = trace.origin_ns + 20'000;
  state().go_to_time({1, begin, begin + 30'000});
  EXPECT_FALSE(state().selection());
  EXPECT_EQ(state().area().range, (TimeRange{20'000, 50'000}));
  EXPECT_EQ(state().area().lanes.size(), state().session().lane_count());
  state().go_to_time({1, begin, begin});
  EXPECT_TRUE(state().area().empty());
  EXPECT_EQ(state().moment(), 20'000);
  const int x = static_cast<int>(state().axis().x_of(20'000));
  const QImage picture = lanes().grab().toImage();
  EXPECT_EQ(picture.pixel(x + 1, picture.height() - 2), Theme::light().accent.rgb());
  QTest::keyClick(&lanes(), Qt::Key_Escape);
  EXPECT_FALSE(state().moment());
}

TEST_F(Panes, IdleTimeLeadsToItsGapAndBack) {
  open_two_ranks();
  EXPECT_EQ(tables().tabText(tables().currentIndex()), "Kernels");
  const DeviceLane& lane = state().derived().devices[1];
  const Layout& layout = state().layout();
  const auto row = std::find_if(layout.rows().begin(), layout.rows().end(), [&](const Row& one) {
    return !one.is_header() && one.trace == lane.trace() &&
           layout.item_of(one).kind == TrackItem::Kind::kDevice;
  });
  ASSERT_NE(row, layout.rows().end());
  const auto gap = lane.gap_at(state().session().traces()[1].origin_ns + 120'000);
  ASSERT_TRUE(gap);
  const TimeRange range =
      state().session().range_of(TimeRef{lane.trace(), gap->begin_ns, gap->end_ns});
  state().fit();
  state().set_scroll(row->top - 40);
  const int x = static_cast<int>(state().axis().x_of((range.begin_ns + range.end_ns) / 2));
  QTest::mouseClick(&lanes(), Qt::LeftButton, {}, {x, row->view_top(state().scroll()) + 8});
  EXPECT_EQ(tables().tabText(tables().currentIndex()), "Gaps");
  EXPECT_EQ(state().area().range, range);
  const auto chosen = tables().current_view()->selectionModel()->selectedRows();
  ASSERT_EQ(chosen.size(), 1);
  const auto& rows = tables().current_view()->table().rows;
  EXPECT_EQ(state().session().range_of(*rows[static_cast<size_t>(chosen[0].row())].time), range);
  state().drop_area();
  click_row(*tables().current_view(), chosen[0].row());
  EXPECT_EQ(state().area().range, range);
  emit state().gaps_wanted("rank 1 · GPU 0");
  for (const TableRow& one : tables().current_view()->table().rows) EXPECT_EQ(one.time->trace, 1U);
}

TEST_F(Panes, ARowOfMemoryLeadsToThePeak) {
  TestTrace trace = training_trace(0);
  for (const auto& [at, bytes, total] : {std::tuple(36, 4096, 8192), std::tuple(60, -4096, 4096)}) {
    trace.raw(fmt::format(
        R"({{"ph":"i","name":"[memory]","pid":100,"tid":100,"ts":{},"args":{{"Device Type":1,)"
        R"("Device Id":0,"Bytes":{},"Addr":64,"Total Allocated":{}}}}})",
        1'000'000 + at, bytes, total));
  }
  const LoadedSession session = loaded({trace.read()});
  window_.show_session(session);
  window_.show_analysis(analyse_session(*session.session));
  show_tab("Memory");
  click_row(*tables().current_view(), 1);
  EXPECT_EQ(state().moment(), 36'000);
  const auto peak_bytes = [this] {
    show_tab("Memory");
    return tables().current_view()->table().rows.at(0).values[2].whole();
  };
  EXPECT_EQ(peak_bytes(), 8192);
  show_tab("Steps");
  click_row(*tables().current_view(), 1);
  window_.settle();
  EXPECT_EQ(peak_bytes(), 4096) << "of the second step: what the first one left";
}

TEST_F(Panes, FilteredRowsAreThoseOfTheTableThatIsShown) {
  open_two_ranks();
  auto* filter = tables().findChild<QLineEdit*>();
  QTest::keyClicks(filter, "GEM");
  ASSERT_EQ(tables().current_view()->table().rows.size(), 1U);
  EXPECT_EQ(tables().current_table().rows[0].name, "gemm") << "export writes what is shown";
  show_tab("Operators");
  EXPECT_EQ(filter->text(), "");
  EXPECT_GT(tables().current_view()->table().rows.size(), 1U);
  show_tab("Kernels");
  EXPECT_EQ(filter->text(), "GEM");
  filter->clear();
  EXPECT_EQ(tables().current_view()->table().rows.size(), 2U);
  show_tab("Find");
  EXPECT_FALSE(filter->isVisible()) << "the search field filters here";
}

TEST_F(Panes, AChosenStepScopesKernelsAndOperatorsUntilItIsReleased) {
  open_two_ranks();
  const auto totals = [&](const QString& tab) {
    show_tab(tab);
    std::map<std::string, int64_t> calls;
    for (const TableRow& row : tables().current_view()->table().rows) {
      calls[row.name] = row.values[1].whole();
    }
    return calls;
  };
  const auto kernels = totals("Kernels");
  const auto operators = totals("Operators");
  const auto calls_of_collectives = [&] {
    show_tab("Collectives");
    int64_t calls = 0;
    for (const TableRow& row : tables().current_view()->table().rows) {
      calls += row.values[4].whole();
    }
    return calls;
  };
  EXPECT_EQ(calls_of_collectives(), 4);
  EXPECT_EQ(kernels.at("gemm"), 4) << "two steps on each of two ranks";
  show_tab("Steps");
  QTest::mouseClick(tables().current_view()->viewport(), Qt::LeftButton, {}, {30, 10});
  window_.settle();
  EXPECT_EQ(totals("Kernels").at("gemm"), 1);
  EXPECT_EQ(totals("Operators").at("aten::addmm"), 1);
  EXPECT_LT(totals("Operators").at("aten::addmm"), operators.at("aten::addmm"));
  EXPECT_EQ(calls_of_collectives(), 1);
  const auto selected = [&](const std::string& name) {
    for (const TableRow& row : selection().table().table().rows) {
      if (row.name == name) return row.values[1].whole();
    }
    return int64_t{0};
  };
  EXPECT_EQ(selected("gemm"), 1) << "of rank 0 alone";
  state().select_time(state().session().range());
  window_.settle();
  EXPECT_EQ(selected("gemm"), 1) << "an area that is larger than the step";
  QPushButton* release = nullptr;
  for (QPushButton* button : tables().findChildren<QPushButton*>()) {
    if (button->text().contains("only rank 0 · step 5")) release = button;
  }
  ASSERT_NE(release, nullptr);
  const auto place_of = [&](const QWidget& part) {
    return QRect(part.mapTo(&tables(), QPoint()), part.size());
  };
  const QRect filter = place_of(*tables().findChild<QLineEdit*>());
  EXPECT_LT(place_of(*release).right(), filter.left());
  EXPECT_LT(filter.right(), tables().width());
  EXPECT_LT(tables().tabBar()->geometry().right(), place_of(*release).left());
  QTest::mouseClick(release, Qt::LeftButton);
  EXPECT_TRUE(release->isHidden());
  EXPECT_EQ(totals("Kernels"), kernels);
  EXPECT_EQ(totals("Operators"), operators);
  EXPECT_EQ(calls_of_collectives(), 4);
  window_.settle();
  EXPECT_EQ(selected("gemm"), 4);
}

TEST_F(Panes, TheSelectionsPaneNamesTheStepAndReleasesIt) {
  open_two_ranks();
  show_tab("Steps");
  click_row(*tables().current_view(), 1);
  QPushButton* release = selection().findChild<QPushButton*>();
  ASSERT_NE(release, nullptr);
  EXPECT_TRUE(release->isVisible());
  EXPECT_EQ(release->text(), "only rank 0 · step 6  ×");
  QTest::mouseClick(release, Qt::LeftButton);
  EXPECT_FALSE(state().chosen_step());
  EXPECT_FALSE(some_label_says("only rank 0"));
  QTest::mouseClick(tables().current_view()->viewport(), Qt::LeftButton, {}, {30, 10});
  EXPECT_TRUE(state().chosen_step());
  state().open(state().shared_session());
  EXPECT_FALSE(some_label_says("only rank 0")) << "a trace that is opened has no step chosen";
}

TEST_F(Panes, AClickOnAStepsBarChoosesIt) {
  open_two_ranks();
  show_tab("Steps");
  auto& bars = *tables().findChild<StepBars*>();
  ASSERT_EQ(bars.item_count(), 4) << "two steps of two ranks";
  QTest::mouseClick(&bars, Qt::LeftButton, {}, bars.item_rect(3).center().toPoint());
  ASSERT_TRUE(state().chosen_step());
  EXPECT_EQ(state().chosen_step()->name, "rank 1 · step 6");
  EXPECT_EQ(state().area().range, state().session().range_of(state().chosen_step()->time));
  const auto rows = tables().current_view()->selectionModel()->selectedRows();
  ASSERT_EQ(rows.size(), 1);
  EXPECT_EQ(rows[0].data().toString(), "rank 1 · step 6");
  const QPoint under = bars.item_rect(3).bottomLeft().toPoint() + QPoint(2, 3);
  EXPECT_EQ(bars.grab().toImage().pixel(under), Theme::light().accent.rgb());
  const QPoint at_the_top = bars.item_rect(3).topLeft().toPoint() + QPoint(1, 1);
  EXPECT_NE(bars.grab().toImage().pixel(at_the_top), Theme::light().panel.rgb());
  const auto above_first = [&bars] {
    return bars.grab().toImage().pixel(bars.item_rect(0).center().toPoint().x(),
                                       static_cast<int>(bars.item_rect(0).top()) - 6);
  };
  EXPECT_EQ(above_first(), Theme::light().panel.rgb());
  StepBar slow = analyse_session(state().session()).step_bars[0];
  slow.note = "slow, +20.0 %";
  StepBar usual = slow;
  usual.note = {};
  bars.show_bars({slow, usual});
  EXPECT_EQ(above_first(), Theme::light().text.rgb()) << "the mark of a slow step";
  bars.setFocus(Qt::TabFocusReason);
  QTest::keyClick(&bars, Qt::Key_Home);
  QTest::keyClick(&bars, Qt::Key_Return);
  EXPECT_EQ(state().chosen_step()->name, "rank 0 · step 5");
}

TEST_F(Panes, ColumnsFitTheRowsThatAreShownNow) {
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

TEST_F(Panes, NamesStayWhenATableIsScrolledSideways) {
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

TEST_F(Panes, ATableIsFittedAnewWhenItIsShown) {
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

TEST_F(Panes, SelectedRowsAreCopiedForASpreadsheet) {
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

TEST_F(Panes, ASelectedSliceMarksItsRowAndARowItsSlices) {
  open_two_ranks();
  const auto marked = [this] {
    const auto rows = tables().current_view()->selectionModel()->selectedRows();
    return rows.size() == 1 ? rows[0].data().toString() : QString();
  };
  show_tab("Kernels");
  state().select(slice(1, "ncclDevKernel_AllReduce"));
  EXPECT_EQ(marked(), "ncclDevKernel_AllReduce");
  show_tab("Operators");
  state().select(slice(0, "aten::mul"));
  EXPECT_EQ(marked(), "aten::mul");
  state().select(slice(1, "ncclDevKernel_AllReduce"));
  EXPECT_EQ(marked(), "");
  show_tab("Collectives");
  ASSERT_EQ(tables().current_view()->selectionModel()->selectedRows().size(), 1);
  EXPECT_EQ(tables().current_view()->selectionModel()->selectedRows(1)[0].data(), "rank 1");
  const auto is_underlined = [this](SliceRef ref) {
    const QPoint middle = centre_of(ref);
    const QImage picture = lanes().grab().toImage();
    return picture.pixel(middle.x(), middle.y() + Layout::kLaneHeight / 2 - 2) ==
           Theme::light().text.rgb();
  };
  click_row(*tables().current_view(), 0);
  state().select({});
  state().fit();
  EXPECT_TRUE(is_underlined(slice(0, "ncclDevKernel_AllReduce")));
  SliceRef last = slice(0, "ncclDevKernel_AllReduce");
  const SliceRef first = last;
  for (uint32_t i = 0; i < state().session().traces()[0].trace->slice_count(); ++i) {
    if (state().session().name_of({0, {i}}) == "ncclDevKernel_AllReduce") last = {0, {i}};
  }
  EXPECT_NE(first, last);
  EXPECT_TRUE(is_underlined(last)) << "another call";
  EXPECT_FALSE(is_underlined(slice(0, "gemm")));
  show_tab("Kernels");
  state().find({});
  EXPECT_FALSE(is_underlined(slice(0, "ncclDevKernel_AllReduce")));
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
