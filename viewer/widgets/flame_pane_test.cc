// Drives the flame graph in the real window.
#include "viewer/widgets/flame_pane.h"

#include <QSignalSpy>

#include "viewer/widgets/testing_window.h"

namespace redline::viewer {
namespace {

class FlameGraph : public Window {
 protected:
  FlameGraph() { open_two_ranks(); }
  FlamePane& pane() { return *window_.findChild<FlamePane*>(); }
  FlameView& view() { return pane().view(); }
  /// Does something, and waits until the graph that follows is shown.
  template <typename Act>
  void shown_after(const Act& act) {
    QSignalSpy shown(&pane(), &FlamePane::shown);
    act();
    ASSERT_TRUE(!shown.isEmpty() || shown.wait(kLoadLimitMs));
  }
  int item_named(const std::string& name) {
    for (int i = 0; i < view().item_count(); ++i) {
      if (view().item_text(i).startsWith(QString::fromStdString(name) + "\n")) return i;
    }
    ADD_FAILURE() << "no box " << name;
    return 0;
  }
  QPoint place_of(const std::string& name) {
    return view().item_rect(item_named(name)).center().toPoint();
  }
};

TEST_F(FlameGraph, GShowsItOfTheSelectedSlice) {
  click(slice_named(state().session(), 0, "aten::linear"));
  shown_after([&] { QTest::keyClick(&lanes(), Qt::Key_G); });
  EXPECT_TRUE(pane().isVisible());
  EXPECT_EQ(state().area().range.span_ns(), 30'000);
  EXPECT_EQ(view().item_text(item_named("aten::addmm")),
            "aten::addmm\ntotal 20.0 µs, 33.3 % of what is shown\nself 15.0 µs\n1 call")
      << "self is without the launch, and the other rank's main thread is shown, too";
  EXPECT_TRUE(some_label_says("Host time of 30.0 µs"));
}

TEST_F(FlameGraph, GShowsItOfWhatWasSelectedLast) {
  const auto press_g = [this] { QTest::keyClick(&lanes(), Qt::Key_G); };
  state().select(slice(0, "aten::linear"));
  shown_after(press_g);
  state().select(slice(0, "aten::mul"));
  shown_after(press_g);
  EXPECT_EQ(state().area().range, state().session().range_of(slice(0, "aten::mul")));
  const TimeRange area{0, 50'000};
  shown_after([&] { state().select_time(area); });
  press_g();
  EXPECT_EQ(state().area().range, area) << "the area is newer than the slice";
  state().select(slice(0, "gemm"));
  for (QPushButton* link : selection().findChildren<QPushButton*>()) {
    if (link->text() == "flame graph (G)") link->click();
  }
  EXPECT_EQ(state().area().range, area) << "the link is about what is summed up beside it";
}

TEST_F(FlameGraph, WhatIsFoldedHiddenOrFilteredAwayIsOfTheWholeRecordingToo) {
  state().rearrange([](Layout& layout) {
    layout.fold_all(true);
    layout.hide(layout.rows().front().id);
    layout.set_filter("stream");
  });
  shown_after([&] { ASSERT_TRUE(window_.show_tab("flame")); });
  EXPECT_TRUE(some_label_says("Host time of the whole recording"));
  EXPECT_TRUE(view().item_text(item_named("aten::sum")).endsWith("2 calls"));
  const int boxes = view().item_count();
  shown_after([&] { state().select_time(state().session().range()); });
  EXPECT_EQ(view().item_count(), boxes);
  EXPECT_EQ(state().area().lanes.size(), state().session().lane_count());
  state().drop_area();
  shown_after([&] { state().put(state().shared_session()); });  // more ranks are there
  EXPECT_EQ(view().item_count(), boxes);
}

TEST_F(FlameGraph, AStepThatIsChosenIsSummedUpAlone) {
  const Step& step = state().session().steps().front();
  shown_after([&] { ASSERT_TRUE(window_.show_tab("flame")); });
  EXPECT_TRUE(some_label_says("the whole recording"));
  EXPECT_TRUE(view().item_text(item_named("aten::mul")).endsWith("2 calls"));
  shown_after([&] {
    const int64_t origin = state().session().traces()[0].origin_ns;
    state().go_to_time({0, origin + step.range.begin_ns, origin + step.range.end_ns});
  });
  EXPECT_TRUE(view().item_text(item_named("aten::mul")).endsWith("1 call"));
}

TEST_F(FlameGraph, AChosenStepIsThatOfItsRankAlone) {
  show_tab("Steps");
  click_row(*tables().current_view(), 1);
  ASSERT_EQ(state().chosen_step()->name, "rank 0 · step 6");
  shown_after([&] { ASSERT_TRUE(window_.show_tab("flame")); });
  EXPECT_EQ(view().item_text(0), "all threads\n109.0 µs in 2 threads") << "99 µs and 10 µs";
  EXPECT_TRUE(some_label_says("Host time of 99.0 µs"));
  shown_after([&] { state().drop_area(); });
  EXPECT_EQ(view().item_text(0), "all threads\n109.0 µs in 2 threads") << "it is still chosen";
  state().select_time({0, 50'000});
  EXPECT_EQ(view().item_count(), 0);
  EXPECT_TRUE(some_label_says("Nothing of the area is in the step."));
  shown_after([&] { state().choose_step(std::nullopt); });
  EXPECT_TRUE(some_label_says("Host time of 50.0 µs"));
  shown_after([&] { state().drop_area(); });
  EXPECT_EQ(view().item_text(0), "all threads\n436.0 µs in 4 threads")
      << "both steps of both ranks";
}

TEST_F(FlameGraph, AClickZoomsAndEscAndADoubleClickGoBack) {
  shown_after([&] { ASSERT_TRUE(window_.show_tab("flame")); });
  QTest::mouseClick(&view(), Qt::LeftButton, {}, place_of("ProfilerStep"));
  const uint32_t step = view().zoomed();
  EXPECT_EQ(view().flame().node(step).name, "ProfilerStep");
  EXPECT_EQ(view().item_rect(item_named("ProfilerStep")).width(), view().width());
  QTest::mouseClick(&view(), Qt::LeftButton, {}, place_of("aten::linear"));
  EXPECT_EQ(view().flame().node(view().zoomed()).name, "aten::linear");
  view().setFocus();
  QTest::keyClick(&view(), Qt::Key_Escape);
  EXPECT_EQ(view().zoomed(), step);
  const QPoint inside = place_of("aten::linear");
  QTest::mouseClick(&view(), Qt::LeftButton, {}, inside);
  QTest::mouseDClick(&view(), Qt::LeftButton, {}, inside);
  EXPECT_EQ(view().zoomed(), 0U) << "back from where the click found it";
  state().select(slice_named(state().session(), 0, "gemm"));
  QTest::keyClick(&view(), Qt::Key_Escape);
  EXPECT_FALSE(state().selection()) << "with nothing zoomed the timeline has the key";
}

TEST_F(FlameGraph, KeysWalkTheStacks) {
  shown_after([&] { ASSERT_TRUE(window_.show_tab("flame")); });
  view().setFocus(Qt::TabFocusReason);
  QStringList walked;
  for (const Qt::Key key : {Qt::Key_Down, Qt::Key_Down, Qt::Key_Down, Qt::Key_Right, Qt::Key_Up}) {
    QTest::keyClick(&view(), key);
    walked << view().item_text(view().current()).section('\n', 0, 0);
  }
  EXPECT_EQ(walked[1], "ProfilerStep");
  EXPECT_EQ(walked[2], "aten::linear");
  EXPECT_EQ(walked[3], "enumerate(DataLoader)#_Iter.__next__");
  EXPECT_EQ(walked[4], "ProfilerStep");
  QTest::keyClick(&view(), Qt::Key_Return);
  EXPECT_EQ(view().flame().node(view().zoomed()).name, "ProfilerStep");
}

TEST_F(FlameGraph, ASearchKeepsTheColourOfWhatItFinds) {
  shown_after([&] { ASSERT_TRUE(window_.show_tab("flame")); });
  const Theme& theme = Theme::light();
  const auto colour_of = [&](const std::string& name) {
    const QPoint box = view().item_rect(item_named(name)).topLeft().toPoint();
    return view().grab().toImage().pixelColor(box + QPoint(1, 2));
  };
  const QColor operators = theme.of(SliceClass::kOperator);
  EXPECT_EQ(colour_of("aten::linear"), operators);
  state().find("addmm");
  EXPECT_EQ(colour_of("aten::linear"), theme.idle);
  EXPECT_EQ(colour_of("aten::addmm"), operators);
  for (const char* of_no_box : {"cpu_op", "args:[4,8]", "gemm", "thread"}) {
    state().find(of_no_box);
    EXPECT_EQ(colour_of("aten::linear"), operators) << of_no_box;
  }
}

TEST_F(FlameGraph, ExportWritesItsStacks) {
  shown_after([&] { ASSERT_TRUE(window_.show_tab("flame")); });
  const Table table = window_.findChild<TablesPane*>()->current_table();
  EXPECT_EQ(table.title, "Flame");
  EXPECT_FALSE(table.rows.empty());
}

}  // namespace
}  // namespace redline::viewer
