// The panes beside and under the timeline, and the arrows, are linked with the lanes.
#include <QHeaderView>
#include <QLineEdit>
#include <algorithm>

#include "viewer/widgets/testing_window.h"

namespace redline::viewer {
namespace {

class Panes : public Window {};

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

TEST_F(Panes, RSumsUpASliceWithoutLength) {
  TestTrace trace = training_trace(0);
  trace.slice("cpu_op", "aten::empty", 100, 100, 65, 0);
  show_analysed(window_, loaded({trace.read()}));
  state().select(slice(0, "aten::empty"));
  QSignalSpy shown(&selection(), &SelectionPane::shown);
  QTest::keyClick(&lanes(), Qt::Key_R);
  ASSERT_TRUE(shown.wait(kLoadLimitMs));
  const auto& rows = selection().table().table().rows;
  EXPECT_EQ(std::ranges::count(rows, std::string("aten::empty"), &TableRow::name), 1);
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
  EXPECT_EQ(visible.join(","), "Kernels,Operators,Collectives,Steps,Ranks,Gaps,Path,Find,Flame");
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

TEST_F(Panes, ATraceWithoutSlicesSaysSoAndShowsFind) {
  show_analysed(window_, loaded({TestTrace(0).read()}));
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

TEST_F(Panes, BracketsFollowLaunchesAndWithoutOneOtherLinks) {
  TestTrace trace(0);
  trace.slice("cpu_op", "aten::linear", 1, 1, 0, 20)
      .slice("cuda_runtime", "cudaLaunchKernel", 1, 1, 5, 2, R"({"correlation":7})")
      .slice("cpu_op", "LinearBackward0", 1, 1, 30, 5)
      .kernel("gemm", 7, 40, 5);
  for (const auto& [phase, at] : {std::pair("s", 0), std::pair("f", 30)}) {
    trace.raw(fmt::format(
        R"({{"ph":"{}","id":3,"cat":"fwdbwd","name":"fwdbwd","pid":1,"tid":1,"ts":{},"bp":"e"}})",
        phase, 1'000'000 + at));
  }
  show_analysed(window_, loaded({trace.read()}));
  state().select(slice(0, "aten::linear"));
  QTest::keyClick(&lanes(), Qt::Key_BracketRight);
  EXPECT_EQ(state().selection(), slice(0, "gemm")) << "though its backward pass begins before";
  QTest::keyClick(&lanes(), Qt::Key_BracketLeft);
  EXPECT_EQ(state().selection(), slice(0, "cudaLaunchKernel"));
  state().select(slice(0, "LinearBackward0"));
  QTest::keyClick(&lanes(), Qt::Key_BracketLeft);
  EXPECT_EQ(state().selection(), slice(0, "aten::linear"));
}

TEST_F(Panes, TwoRunsStandSideBySideWithWhatChanged) {
  const auto session = std::make_shared<const Session>(
      std::vector{training_trace(0).read(),
                  training_trace(0, 77'000'000).kernel("gemm", 7, 176, 30).read()},
      1);
  show_analysed(window_, {session, 0.01});
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
  show_analysed(window_, loaded({trace.read()}));
  EXPECT_TRUE(some_label_says("at most")) << "beside the factor";
  ASSERT_NE(button("show evidence"), nullptr);
  button("show evidence")->click();
  EXPECT_NE(state().session().name_of(state().selection()).find("DataLoader"),
            std::string_view::npos);
}

TEST_F(Panes, OverviewSaysWhatTheFiguresLackAndThatRulesCouldNotSee) {
  TestTrace trace(0);
  trace.slice("user_annotation", "ProfilerStep#0", 1, 1, 0, 1000)
      .slice("cpu_op", "aten::mm", 1, 1, 0, 600)
      .slice("cuda_runtime", "cudaLaunchKernel", 1, 1, 10, 2);
  show_analysed(window_, loaded({trace.read()}));
  EXPECT_TRUE(some_label_says("Average step"));
  EXPECT_TRUE(some_label_says("GPU work was not recorded: times are those of the host"));
  EXPECT_TRUE(some_label_says("Most rules need to know what the GPU did."));
  testing::TraceText lossy;
  lossy.top(R"("redline": {"dropped": 7})").slice("overhead", "CUPTI", 0, 1000);
  show_analysed(window_, loaded({*trace::parse_trace("rank0.json", lossy.str())}));
  EXPECT_TRUE(some_label_says("No steps and no operators in this trace"));
  EXPECT_TRUE(some_label_says("Dropped 7 events while recording rank 0: all figures lack them"));
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
  emit state().gaps_wanted("\"rank 1 · GPU 0\"");
  EXPECT_FALSE(tables().current_view()->table().rows.empty());
  for (const TableRow& one : tables().current_view()->table().rows) EXPECT_EQ(one.time->trace, 1U);
}

TEST_F(Panes, AGapThatIsNotAmongTheLongestGetsARow) {
  TestTrace trace(0);
  for (int i = 0; i < 203; ++i) trace.kernel("k", 7, 10 * i, 5);
  show_analysed(window_, loaded({trace.read()}));
  for (const int64_t begin_us : {2'005, 2'015, 5}) {
    const int64_t begin = state().session().traces()[0].origin_ns + begin_us * 1000;
    const TimeRef gap{0, begin, begin + 5'000};
    emit state().gap_chosen(gap);
    EXPECT_EQ(tables().tabText(tables().currentIndex()), "Gaps");
    const Table chosen = tables().current_view()->selected_rows();
    ASSERT_EQ(chosen.rows.size(), 1U) << begin_us;
    EXPECT_EQ(chosen.rows[0].time, gap);
    EXPECT_EQ(tables().current_view()->table().rows.size(), 201U) << "not one for each click";
  }
}

TEST_F(Panes, ARowOfMemoryLeadsToThePeak) {
  TestTrace trace = training_trace(0);
  for (const auto& [at, bytes, total] : {std::tuple(36, 4096, 8192), std::tuple(60, -4096, 4096)}) {
    trace.raw(fmt::format(
        R"({{"ph":"i","name":"[memory]","pid":100,"tid":100,"ts":{},"args":{{"Device Type":1,)"
        R"("Device Id":0,"Bytes":{},"Addr":64,"Total Allocated":{}}}}})",
        1'000'000 + at, bytes, total));
  }
  show_analysed(window_, loaded({trace.read()}));
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
  EXPECT_EQ(tables().current_view()->selectionModel()->selectedRows(2)[0].data(), "rank 1");
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
  state().set_range({-100'000'000, 100'000'000});
  EXPECT_TRUE(is_underlined(last)) << "slices of less than a pixel, too";
  state().fit();
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
