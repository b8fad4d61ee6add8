// Tests the left column: names that stay in sight, pins, the filter, the menu.
#include <QHelpEvent>
#include <QInputDialog>
#include <QMenu>
#include <QPointer>
#include <QToolTip>

#include "viewer/widgets/popups.h"
#include "viewer/widgets/testing_window.h"

namespace redline::viewer {
namespace {

class Tracks : public Window {
 protected:
  Tracks() { open_two_ranks(); }

  const Row& row_of(SliceRef ref) { return *state().layout().row_of(state().session(), ref); }
  SliceRef nccl_of_rank_1() { return slice_named(state().session(), 1, "ncclDevKernel_AllReduce"); }
  // How many pixels of a colour a part of the column has.
  int count(const QRect& part, const QColor& colour) {
    const QImage image = column().grab(part).toImage();
    int found = 0;
    for (int y = 0; y < image.height(); ++y) {
      for (int x = 0; x < image.width(); ++x) found += image.pixel(x, y) == colour.rgb() ? 1 : 0;
    }
    return found;
  }
};

TEST_F(Tracks, NamesStayInSightInDeepTracks) {
  const Row& row = row_of(slice_named(state().session(), 0, "aten::addmm"));
  window_.resize(1200, 420);
  QCoreApplication::processEvents();
  state().set_scroll(row.top + 8);
  const QRect top(0, Layout::kHeaderHeight, TrackColumn::kWidth - 1, 18);
  EXPECT_GT(count(top, Theme::light().text), 5) << "the track's name under its group's";
  const QRect header(0, 0, TrackColumn::kWidth - 1, Layout::kHeaderHeight);
  EXPECT_GT(count(header, Theme::light().text), 5);
  QTest::mouseClick(&column(), Qt::LeftButton, {}, {20, 8});
  EXPECT_TRUE(state().layout().rows().front().folded) << "a click on it folds the group";
}

TEST_F(Tracks, PinKeepsATrackOnTopAndItsSlicesCanBeClicked) {
  const Row row = row_of(nccl_of_rank_1());
  QTest::mouseClick(&column(), Qt::LeftButton, {},
                    {TrackColumn::kWidth - 15, row.view_top(state().scroll()) + 10});
  EXPECT_TRUE(row_of(nccl_of_rank_1()).pinned);
  window_.resize(1200, 420);
  QCoreApplication::processEvents();
  state().set_scroll(1000);
  EXPECT_GT(state().scroll(), 0);
  click_at(nccl_of_rank_1(), row_of(nccl_of_rank_1()).top);
  EXPECT_EQ(state().selection(), nccl_of_rank_1());
  const QImage image = lanes().grab().toImage();
  std::set<QRgb> colours;
  for (int x = 0; x < image.width(); ++x) colours.insert(image.pixel(x, 14));
  EXPECT_TRUE(colours.contains(Theme::light().of(SliceClass::kCommunication).rgb()));
  QTest::keyClick(&lanes(), Qt::Key_P);
  EXPECT_FALSE(row_of(nccl_of_rank_1()).pinned);
}

TEST_F(Tracks, FilterShowsWhatItNamesUntilASliceElsewhereIsGoneTo) {
  QLineEdit& filter = window_.timeline().filter();
  filter.setFocus();
  QTest::keyClicks(&filter, "stream 20");
  EXPECT_EQ(state().layout().rows().size(), 4U);
  QTest::keyClick(&filter, Qt::Key_Return);
  EXPECT_TRUE(lanes().hasFocus());
  state().go_to(slice_named(state().session(), 0, "aten::mul"));
  EXPECT_EQ(filter.text(), "");
  EXPECT_GT(state().layout().rows().size(), 4U);
}

TEST_F(Tracks, FilterKeepsItsCursorWhileItIsTypedIn) {
  QLineEdit& filter = window_.timeline().filter();
  filter.setFocus();
  QTest::keyClicks(&filter, "strm");
  filter.setCursorPosition(3);
  QTest::keyClicks(&filter, "ea");
  EXPECT_EQ(filter.text(), "stream");
  EXPECT_TRUE(filter.isUndoAvailable());
}

// Otherwise it would hide, pin or go to what has the same place among the tracks of the other one.
TEST_F(Tracks, MenuAndNoteCloseWhenOtherTracksArrive) {
  const auto open_menu = [&] {
    QPointer<QMenu> menu =
        make_track_menu(state(), row_of(nccl_of_rank_1()), &column(), nccl_of_rank_1());
    menu->popup(column().mapToGlobal(QPoint()));
    EXPECT_TRUE(menu->isVisible());
    return menu;
  };
  const auto is_open = [](const auto& popup) { return popup && popup->isVisible(); };
  auto menu = open_menu();
  state().add(analyse_session(state().session()));
  EXPECT_FALSE(is_open(menu));

  menu = open_menu();
  ask_for_note(state(), {5, ""}, &window_);
  const QPointer<QInputDialog> dialog = window_.findChild<QInputDialog*>();
  ASSERT_TRUE(is_open(dialog));
  state().open(loaded({training_trace(0).read()}).session);
  EXPECT_FALSE(is_open(menu));
  EXPECT_FALSE(is_open(dialog));
  EXPECT_TRUE(state().marks().empty());
}

TEST_F(Tracks, MenuHidesAndShows) {
  const size_t all = state().layout().rows().size();
  const auto trigger = [&](const Row& row, const QString& text) {
    QMenu* menu = make_track_menu(state(), row, &column());
    for (QAction* action : menu->actions()) {
      if (action->text().startsWith(text)) action->trigger();
    }
    delete menu;
  };
  const Row row = row_of(nccl_of_rank_1());
  trigger(row, "Hide all others");
  EXPECT_EQ(state().layout().rows().size(), 2U);
  trigger(state().layout().rows().front(), "Show all");
  EXPECT_EQ(state().layout().rows().size(), all);
  trigger(row_of(nccl_of_rank_1()), "Move up");
  EXPECT_LT(row_of(nccl_of_rank_1()).top, row.top);
}

// The quotes keep the gaps of GPU 10 out of those of GPU 1.
TEST_F(Tracks, MenuAsksForTheGapsOfOneGpu) {
  const QSignalSpy asked(&state(), &ViewState::gaps_wanted);
  const std::unique_ptr<QMenu> menu(make_track_menu(state(), row_of(nccl_of_rank_1()), &column()));
  for (QAction* action : menu->actions()) {
    if (action->text() == "Its idle gaps") action->trigger();
  }
  ASSERT_EQ(asked.count(), 1);
  EXPECT_EQ(asked[0][0].toString(), QStringLiteral("\"rank 1 · GPU 0\""));
}

TEST_F(Tracks, TooltipsAreAlwaysHtmlSoThatWordsAreEscapedOnce) {
  const Row* device = nullptr;
  for (const Row& row : state().layout().rows()) {
    if (row.is_header() || state().layout().item_of(row).kind != TrackItem::Kind::kDevice) continue;
    device = &row;
  }
  ASSERT_TRUE(device);
  const auto tip_of = [](QWidget& widget, QPoint at) {
    QHelpEvent help(QEvent::ToolTip, at, widget.mapToGlobal(at));
    QApplication::sendEvent(&widget, &help);
    return QToolTip::text().toStdString();
  };
  const int y = device->view_top(state().scroll()) + 5;
  EXPECT_TRUE(
      tip_of(column(), {20, y}).starts_with("<p style='white-space:pre-wrap'>rank 1 · GPU 0"));
  EXPECT_EQ(tip_of(lanes(), {centre_of(nccl_of_rank_1()).x(), y}),
            "<p style='white-space:pre-wrap'>communication alone 15.0 µs</p>");
}

TEST_F(Tracks, OverlapLaneIsPainted) {
  for (const Row& row : state().layout().rows()) {
    if (row.is_header() || state().layout().item_of(row).kind != TrackItem::Kind::kDevice) continue;
    const QImage image = lanes().grab().toImage();
    const int y = row.view_top(state().scroll()) + row.height / 2;
    std::set<QRgb> colours;
    for (int x = 0; x < image.width(); ++x) colours.insert(image.pixel(x, y));
    EXPECT_TRUE(colours.contains(Theme::light().of(SliceClass::kCompute).rgb()));
    EXPECT_TRUE(colours.contains(Theme::light().idle.rgb()));
    return;
  }
  FAIL() << "no overlap lane";
}

TEST_F(Tracks, AGpusHeaderSaysAtItsEndHowBusyItWas) {
  for (const Row& row : state().layout().rows()) {
    const TrackGroup& group = state().layout().group_of(row);
    if (!row.is_header() || group.busy.empty()) continue;
    const QRect end(TrackColumn::kWidth - 80, row.view_top(state().scroll()) + 1, 72,
                    Layout::kHeaderHeight - 3);
    EXPECT_GT(count(end, Theme::light().muted), 5);
    return;
  }
  FAIL() << "no such header";
}

TEST_F(Tracks, ACallInTheRuntimesRowLeadsToItsSlice) {
  for (const Row& row : state().layout().rows()) {
    if (row.is_header() || state().layout().item_of(row).kind != TrackItem::Kind::kRuntime)
      continue;
    const SliceRef launch = slice(row.trace, "cudaLaunchKernel");
    const int x = centre_of(launch).x();
    const QPoint at(x, row.view_top(state().scroll()) + row.height / 2);
    EXPECT_EQ(lanes().grab().toImage().pixelColor(at), Theme::light().of(SliceClass::kRuntime));
    QTest::mouseClick(&lanes(), Qt::LeftButton, {}, at);
    EXPECT_EQ(state().selection(), launch);
    return;
  }
  FAIL() << "no such row";
}

TEST_F(Tracks, AnAreaTintsNoPinnedTrackThatIsNotInIt) {
  const SliceRef linear = slice(0, "aten::linear");
  const auto top = [&] { return *state().layout().top_of(state().session(), linear); };
  state().set_scroll(top() - 40);
  const double y = top() - state().scroll() + 2;
  state().select_area({0, y}, {lanes().width() - 1.0, y});
  ASSERT_EQ(state().area().lanes.size(), 1U);
  const RowId id = row_of(nccl_of_rank_1()).id;
  state().rearrange([id](Layout& layout) { layout.set_pinned(id, true); });
  window_.resize(1200, 420);
  QCoreApplication::processEvents();
  state().set_scroll(top());
  ASSERT_EQ(state().scroll(), top()) << "its lane is behind the pinned one";
  const QPoint idle(3, row_of(nccl_of_rank_1()).top + Layout::kLaneHeight - 3);
  const auto colour = [&] { return lanes().grab().toImage().pixelColor(idle); };
  const QColor shown = colour();
  state().drop_area();
  EXPECT_EQ(shown, colour());
  state().select_time({-1'000'000, 1'000'000});
  EXPECT_NE(shown, colour()) << "now it is in the area";
}

TEST_F(Tracks, AnAreaFromAPinnedTrackDownHasOnlyLanesInSight) {
  const RowId id = row_of(nccl_of_rank_1()).id;
  state().rearrange([id](Layout& layout) { layout.set_pinned(id, true); });
  window_.resize(1200, 420);
  QCoreApplication::processEvents();
  state().set_scroll(1000);
  const int pinned = state().layout().pinned_height();
  ASSERT_GT(state().scroll(), pinned + Layout::kLaneHeight);
  state().select_area({10, 5}, {300, pinned + 40.0});
  const auto tops = [this] {
    std::vector<int> found;
    for (const LaneHit& hit : state().area().lanes) {
      const auto lanes = state().session().traces()[hit.trace].trace->lanes();
      const SliceRef first{hit.trace, lanes[hit.lane.value].first};
      found.push_back(*state().layout().top_of(state().session(), first));
    }
    return found;
  };
  ASSERT_FALSE(tops().empty());
  EXPECT_EQ(tops().front(), 0) << "the pinned one";
  for (const int top : tops()) {
    EXPECT_TRUE(top < pinned || top + Layout::kLaneHeight - state().scroll() > pinned) << top;
  }
  state().rearrange([id](Layout& layout) { layout.set_pinned(id, false); });
  state().select_area({10, -500}, {300, 60});
  for (const int top : tops()) EXPECT_GT(top + Layout::kLaneHeight, state().scroll());
}

}  // namespace
}  // namespace redline::viewer
