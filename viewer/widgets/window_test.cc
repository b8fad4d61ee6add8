// Drives the real window without a display, by keys, wheel and clicks, and checks what it shows.
#include <gtest/gtest.h>

#include <QTableView>
#include <QTableWidget>
#include <QTimer>
#include <filesystem>

#include "tests/paths.h"
#include "viewer/widgets/controls.h"
#include "viewer/widgets/popups.h"
#include "viewer/widgets/testing_window.h"

namespace redline::viewer {
namespace {

TEST_F(Window, OpensOnTheWholeOfAShortRecording) {
  open_two_ranks();
  EXPECT_EQ(state().axis().range(), state().session().range());
  EXPECT_EQ(state().axis().width, lanes().width());
}

TEST_F(Window, FitsASmallScreen) { EXPECT_LE(window_.minimumSizeHint().width(), 800); }

TEST_F(Window, ALongNameOrDamageDoesNotWidenIt) {
  const QString name(240, QLatin1Char('x'));
  LoadedSession session = loaded({training_trace(0).read()});
  session.unreadable.push_back({(name + ": it is torn").toStdString(), "/data/x"});
  window_.show_session(session);
  QCoreApplication::processEvents();
  EXPECT_LE(window_.minimumSizeHint().width(), 800);
  const auto* status = qobject_cast<ElidedButton*>(button("19 events"));
  ASSERT_TRUE(status);
  EXPECT_TRUE(status->tooltip_words().contains(name + ": it is torn\n"));
  window_.show_error(name + ": it is torn");
  QCoreApplication::processEvents();
  EXPECT_LE(window_.minimumSizeHint().width(), 800);
}

TEST_F(Window, TheKeysFitIntoASmallWindow) {
  window_.resize(1000, 700);
  const HelpDialog dialog(&window_);
  EXPECT_LE(dialog.height(), 700);
  EXPECT_LE(dialog.minimumSizeHint().height(), 200) << "it scrolls";
}

TEST_F(Window, KeysZoomAndPan) {
  open_two_ranks();
  const TimeAxis start = state().axis();
  QTest::keyClick(&lanes(), Qt::Key_W);
  EXPECT_NEAR(static_cast<double>(state().axis().span_ns), static_cast<double>(start.span_ns) / 1.3,
              2);
  const TimeAxis zoomed = state().axis();
  QTest::keyClick(&lanes(), Qt::Key_D);
  EXPECT_NEAR(static_cast<double>(state().axis().begin_ns - zoomed.begin_ns),
              0.1 * static_cast<double>(zoomed.span_ns), 2);
  QTest::keyClick(&lanes(), Qt::Key_A);
  EXPECT_NEAR(static_cast<double>(state().axis().begin_ns - zoomed.begin_ns), 0, 2);
  QTest::keyClick(&lanes(), Qt::Key_S);
  EXPECT_NEAR(static_cast<double>(state().axis().span_ns), static_cast<double>(start.span_ns), 3);
  QTest::keyClick(&lanes(), Qt::Key_Home);
  EXPECT_GT(state().axis().span_ns, start.span_ns);
}

TEST_F(Window, CtrlWheelZoomsAtTheCursorAndShiftWheelPans) {
  open_two_ranks();
  const QPointF at(200, 100);
  const int64_t under = state().axis().time_at(at.x());
  const int64_t span = state().axis().span_ns;
  wheel(lanes(), at, 120, Qt::ControlModifier);
  EXPECT_NEAR(static_cast<double>(state().axis().span_ns), static_cast<double>(span) / 1.25, 2);
  EXPECT_NEAR(static_cast<double>(state().axis().time_at(at.x()) - under), 0, 3);
  const TimeAxis before = state().axis();
  wheel(lanes(), at, -120, Qt::ShiftModifier);
  EXPECT_GT(state().axis().begin_ns, before.begin_ns);
  EXPECT_EQ(state().axis().span_ns, before.span_ns);
}

TEST_F(Window, PlainWheelScrollsTracksAndZoomsOnRulerAndOverview) {
  open_two_ranks();
  window_.resize(1200, 420);
  QCoreApplication::processEvents();
  const TimeAxis before = state().axis();
  wheel(lanes(), {100, 50}, -120, {});
  EXPECT_EQ(state().axis().range(), before.range());
  EXPECT_GT(state().scroll(), 0);
  wheel(*window_.findChild<RulerView*>(), {100, 5}, 120, {});
  EXPECT_LT(state().axis().span_ns, before.span_ns);
  const TimeAxis nearer = state().axis();
  wheel(*window_.findChild<OverviewStrip*>(), {100, 5}, 120, {});
  EXPECT_LT(state().axis().span_ns, nearer.span_ns);
}

TEST_F(Window, ADragInTheOverviewChoosesAPartOfTheWhole) {
  open_two_ranks();
  QTest::keyClick(&lanes(), Qt::Key_Home);
  auto& strip = *window_.findChild<OverviewStrip*>();
  const TimeRange all = state().axis().range();
  QTest::mouseClick(&strip, Qt::LeftButton, {}, {300, 10});
  EXPECT_EQ(state().axis().range(), all) << "a click on what is in sight moves nothing";
  const auto drag = [&](int from, int to) {
    QTest::mousePress(&strip, Qt::LeftButton, {}, {from, 10});
    QTest::mouseMove(&strip, {(from + to) / 2, 10});
    QTest::mouseMove(&strip, {to, 10});
    QTest::mouseRelease(&strip, Qt::LeftButton, {}, {to, 10});
  };
  drag(strip.width() / 4, strip.width() / 2);
  const TimeRange part = state().axis().range();
  EXPECT_NEAR(static_cast<double>(part.span_ns()) * 4,
              static_cast<double>(state().session().range().span_ns()), 4000);
  drag(strip.width() * 3 / 8, strip.width() * 5 / 8);
  EXPECT_EQ(state().axis().range().span_ns(), part.span_ns()) << "inside, it moves the part";
  EXPECT_GT(state().axis().begin_ns, part.begin_ns);
}

TEST_F(Window, DragPans) {
  open_two_ranks();
  QTest::keyClick(&lanes(), Qt::Key_W);
  const TimeAxis before = state().axis();
  QTest::mousePress(&lanes(), Qt::LeftButton, {}, {300, 60});
  for (int x = 300; x >= 200; x -= 20) QTest::mouseMove(&lanes(), {x, 60});
  QTest::mouseRelease(&lanes(), Qt::LeftButton, {}, {200, 60});
  EXPECT_GT(state().axis().begin_ns, before.begin_ns);
  EXPECT_FALSE(state().selection()) << "a drag is no click";
}

TEST_F(Window, ClickShowsDetailsOfBothRanks) {
  open_two_ranks();
  for (const uint32_t rank : {0U, 1U}) {
    const SliceRef ref = slice_named(state().session(), rank, "aten::addmm");
    click(ref);
    EXPECT_EQ(state().selection(), ref);
    EXPECT_TRUE(some_label_says("aten::")) << "the pane names the slice";
    const auto* table = window_.findChild<QTableWidget*>();
    QStringList values;
    for (int row = 0; row < table->rowCount(); ++row) values << table->item(row, 1)->text();
    EXPECT_TRUE(values.contains("cpu_op"));
    EXPECT_TRUE(values.contains(QString("rank %1").arg(rank)));
    EXPECT_TRUE(values.contains("20.000 µs"));
  }
  QTest::keyClick(&lanes(), Qt::Key_Escape);
  EXPECT_FALSE(state().selection());
}

TEST_F(Window, FZoomsToTheSelectionAndBackOut) {
  open_two_ranks();
  const SliceRef ref = slice_named(state().session(), 0, "gemm");
  click(ref);
  QTest::keyClick(&lanes(), Qt::Key_F);
  const TimeRange range = state().session().range_of(ref);
  EXPECT_TRUE(state().axis().range().contains(range.begin_ns));
  EXPECT_LT(state().axis().span_ns, range.span_ns() * 2);
  QTest::keyClick(&lanes(), Qt::Key_F);
  EXPECT_GE(state().axis().span_ns, state().session().range().span_ns());
}

TEST_F(Window, PeriodAndCommaWalkTheLane) {
  open_two_ranks();
  click(slice_named(state().session(), 0, "enumerate(DataLoader)#_Iter.__next__"));
  QTest::keyClick(&lanes(), Qt::Key_Period);
  EXPECT_EQ(state().session().name_of(state().selection()), "aten::linear");
  QTest::keyClick(&lanes(), Qt::Key_Comma);
  EXPECT_EQ(state().session().name_of(state().selection()), "enumerate(DataLoader)#_Iter.__next__");
}

TEST_F(Window, UpAndDownWalkFromLaneToLane) {
  open_two_ranks();
  const auto selected = [&] { return std::string(state().session().name_of(state().selection())); };
  click(slice_named(state().session(), 0, "aten::linear"));
  QTest::keyClick(&lanes(), Qt::Key_Down);
  EXPECT_EQ(selected(), "aten::addmm");
  QTest::keyClick(&lanes(), Qt::Key_Down);
  EXPECT_EQ(selected(), "cudaLaunchKernel");
  QTest::keyClick(&lanes(), Qt::Key_Down);
  EXPECT_EQ(selected(), "aten::mul") << "the nearest in time on the next thread";
  for (int i = 0; i < 4; ++i) QTest::keyClick(&lanes(), Qt::Key_Up);
  EXPECT_EQ(selected(), "ProfilerStep#5");
  QTest::keyClick(&lanes(), Qt::Key_Up);
  EXPECT_EQ(selected(), "ProfilerStep#5") << "there is no lane above";
}

TEST_F(Window, HoveringLeavesTheNameOnASliceAsItIs) {
  open_two_ranks();
  const SliceRef slice = slice_named(state().session(), 0, "aten::linear");
  const QRect inside = QRect(centre_of(slice), QSize(1, 1)).adjusted(-10, -5, 10, 5);
  const QImage before = lanes().grab(inside).toImage();
  state().set_hover(slice);
  EXPECT_EQ(lanes().grab(inside).toImage(), before);
}

TEST_F(Window, SearchFindsNextAndPrevious) {
  open_two_ranks();
  QTest::keyClick(&lanes(), Qt::Key_Slash);
  SearchField& field = window_.search_field();
  EXPECT_TRUE(field.hasFocus());
  QTest::keyClicks(&field, "gemm");
  EXPECT_TRUE(some_label_says("4 found"));
  QTest::keyClick(&field, Qt::Key_Return);
  EXPECT_TRUE(some_label_says("1 of 4"));
  const SliceRef first = state().selection();
  EXPECT_EQ(state().session().name_of(first), "gemm");
  QTest::keyClick(&field, Qt::Key_Return);
  EXPECT_TRUE(some_label_says("2 of 4"));
  EXPECT_EQ(state().selection().trace, 1U);
  QTest::keyClick(&field, Qt::Key_Return, Qt::ShiftModifier);
  EXPECT_EQ(state().selection(), first);
  QTest::keyClick(&field, Qt::Key_Escape);
  EXPECT_TRUE(lanes().hasFocus());
  EXPECT_EQ(field.text(), "gemm") << "leaving the field keeps the search";
  QTest::keyClick(&lanes(), Qt::Key_Escape);
  EXPECT_FALSE(state().selection());
  EXPECT_EQ(field.text(), "gemm");
  QTest::keyClick(&lanes(), Qt::Key_Escape);
  EXPECT_EQ(field.text(), "");
}

TEST_F(Window, GoingToASliceShowsItWhole) {
  open_two_ranks();
  for (const char* name : {"ProfilerStep#5", "cudaLaunchKernel"}) {
    state().set_range({0, 10'000});
    const SliceRef ref = slice_named(state().session(), 1, name);
    state().go_to(ref);
    const TimeRange range = state().session().range_of(ref);
    EXPECT_GE(state().axis().x_of(range.begin_ns), 0) << name;
    EXPECT_LE(state().axis().x_of(range.end_ns), lanes().width()) << name;
    EXPECT_GE(state().axis().x_of(range.end_ns) - state().axis().x_of(range.begin_ns), 40) << name;
  }
}

TEST_F(Window, TypingInTheSearchFieldDoesNotMoveTheView) {
  open_two_ranks();
  const TimeRange before = state().axis().range();
  QTest::keyClick(&lanes(), Qt::Key_F, Qt::ControlModifier);
  QTest::keyClicks(&window_.search_field(), "wasdf");
  EXPECT_EQ(state().axis().range(), before);
  EXPECT_EQ(window_.search_field().text(), "wasdf");
}

TEST_F(Window, ARowOfATableLeadsToTheTimeline) {
  open_two_ranks();
  auto* table = window_.findChild<TablesPane*>()->current_view();
  ASSERT_GT(table->model()->rowCount(), 0);
  const QModelIndex cell = table->model()->index(0, 0);
  QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(cell).center());
  EXPECT_EQ(state().session().name_of(state().selection()), cell.data().toString().toStdString());
}

TEST_F(Window, OverviewSaysWhereAStepGoes) {
  open_two_ranks();
  EXPECT_TRUE(some_label_says("Average step"));
  EXPECT_TRUE(some_label_says("2 steps · 2 ranks"));
  EXPECT_TRUE(some_label_says("dataloader"));
}

TEST_F(Window, ClickOnATrackFoldsIt) {
  open_two_ranks();
  const int before = state().layout().height();
  QTest::mouseClick(window_.findChild<TrackColumn*>(), Qt::LeftButton, {}, {20, 5});
  EXPECT_LT(state().layout().height(), before);
  QTest::mouseClick(window_.findChild<TrackColumn*>(), Qt::LeftButton, {}, {20, 5});
  EXPECT_EQ(state().layout().height(), before);
}

TEST_F(Window, PictureHasTheSlicesOfBothRanks) {
  window_.resize(1200, 1000);
  open_two_ranks();
  const QImage image = lanes().grab().toImage();
  const QRgb compute = Theme::light().of(SliceClass::kCompute).rgb();
  for (const uint32_t rank : {0U, 1U}) {
    const QPoint at = centre_of(slice_named(state().session(), rank, "gemm"));
    EXPECT_EQ(image.pixel(at.x(), at.y() + 7), compute) << "rank " << rank;
  }
}

TEST_F(Window, QuestionMarkShowsTheKeys) {
  open_two_ranks();
  bool shown = false;
  QTimer::singleShot(0, &window_, [&shown] {
    QWidget* dialog = QApplication::activeModalWidget();
    shown = dialog != nullptr;
    if (dialog) dialog->close();
  });
  QTest::keyClick(&lanes(), Qt::Key_Question);
  EXPECT_TRUE(shown);
}

TEST_F(Window, EveryZoomPaints) {
  open_two_ranks();
  for (int i = 0; i < 60; ++i) {
    QTest::keyClick(&lanes(), Qt::Key_W);
    lanes().repaint();
  }
  EXPECT_LE(state().axis().span_ns, 100);
  for (int i = 0; i < 80; ++i) {
    QTest::keyClick(&lanes(), Qt::Key_S);
    lanes().repaint();
  }
  EXPECT_GT(state().axis().span_ns, state().session().range().span_ns());
}

TEST_F(Window, LoadsInTheBackground) {
  ASSERT_TRUE(open({training_trace(0).write(path("rank0.pt.trace.json"))}));
  EXPECT_EQ(state().session().traces().size(), 1U);
  EXPECT_TRUE(some_label_says("19 events"));
}

TEST_F(Window, WhatCannotBeReadIsASentence) {
  QSignalSpy failed(&window_, &MainWindow::failed);
  window_.open({"/no/such/trace.json"});
  ASSERT_TRUE(failed.wait(kLoadLimitMs));
  EXPECT_TRUE(some_label_says("/no/such/trace.json"));
}

TEST_F(Window, ALoadThatWasReplacedIsForgotten) {
  QSignalSpy done(&window_, &MainWindow::loaded);
  QSignalSpy failed(&window_, &MainWindow::failed);
  window_.open({"/no/such/trace.json"});
  window_.open({training_trace(1).write(path("rank1.pt.trace.json"))});
  ASSERT_TRUE(done.wait(kLoadLimitMs));
  EXPECT_EQ(failed.count(), 0);
}

TEST_F(Window, EveryRealTracePaints) {
  const std::filesystem::path folder = redline::testing::shared_dir() + "/traces";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no shared traces here";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto session = load_session({entry.path().string()});
    ASSERT_TRUE(session) << session.error();
    window_.show_session(*session);
    const QImage image = lanes().grab().toImage();
    std::set<QRgb> colours;
    for (int x = 0; x < image.width(); ++x) {
      for (int y = 0; y < image.height(); y += 6) colours.insert(image.pixel(x, y));
    }
    EXPECT_GT(colours.size(), 8U) << entry.path();
  }
}

TEST_F(Window, HostileFilesPaintOrSpeak) {
  const std::filesystem::path folder =
      redline::testing::shared_dir() + "/data/trace_event_edge_cases";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no shared data here";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto session = load_session({entry.path().string()});
    session ? window_.show_session(*session)
            : window_.show_error(QString::fromStdString(session.error()));
    EXPECT_FALSE(window_.grab().isNull()) << entry.path();
    state().find("a");
    state().find_next();
    EXPECT_FALSE(window_.grab().isNull()) << entry.path();
  }
}

TEST_F(Window, TheTablesTakeTheRoomThatTheLanesLeave) {
  auto* tables = window_.findChild<TablesPane*>();
  const auto tables_at = [&](QSize size) {
    window_.resize(size);
    QCoreApplication::processEvents();
    open_two_ranks();
    return tables->height();
  };
  const int small = tables_at({1280, 720});
  EXPECT_GT(tables_at({3840, 2160}), 3 * small);
  EXPECT_GE(lanes().height(), state().layout().height()) << "and leave what the lanes need";
  EXPECT_LE(lanes().height(), state().layout().height() + 1);
}

}  // namespace
}  // namespace redline::viewer

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  // The tests need no display and do not disturb one that is there.
  qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication application(argc, argv);
  return RUN_ALL_TESTS();
}
