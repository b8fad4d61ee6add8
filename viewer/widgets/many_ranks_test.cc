// The window on a job of many ranks: those that are not loaded are loaded when they are wanted.
#include "viewer/models/testing_study.h"
#include "viewer/widgets/find_pane.h"
#include "viewer/widgets/testing_window.h"
#include "viewer/widgets/track_column.h"

namespace redline::viewer {
namespace {

class ManyRanksWindow : public Window {
 protected:
  ManyRanksWindow() {
    for (int rank = 0; rank < 6; ++rank) {
      TestTrace trace = training_trace(rank, 1'000'000 + 3 * rank);
      if (rank == 5) trace.kernel("only_here", 7, 200, 40);
      trace.write(path(fmt::format("rank{}.pt.trace.json", rank)));
    }
    window_.loader().set_many_ranks({.least_ranks = 4, .least_bytes = 0, .opened = 2});
    QSignalSpy summed_up(&window_, &MainWindow::summed_up);
    window_.open({folder_.path()});
    EXPECT_TRUE(summed_up.wait(kLoadLimitMs));
  }
  const Row& row_of(uint32_t trace) {
    const auto& rows = state().layout().rows();
    return *std::find_if(rows.begin(), rows.end(),
                         [trace](const Row& row) { return row.trace == trace; });
  }
  std::string state_of(uint32_t trace) {
    return header_note(state().layout().group_of(row_of(trace)));
  }
  /// Shows all that the window does, until the rank's lanes and its figures are there.
  template <typename Act>
  void load(uint32_t trace, const Act& act) {
    QSignalSpy summed_up(&window_, &MainWindow::summed_up);
    act();
    EXPECT_EQ(state_of(trace), "reading …");
    ASSERT_TRUE(summed_up.wait(kLoadLimitMs));
    ASSERT_TRUE(state().session().traces()[trace].is_loaded);
  }
};

TEST_F(ManyRanksWindow, UnfoldingARankLoadsIt) {
  EXPECT_TRUE(some_label_says("2 of 6 ranks loaded"));
  EXPECT_EQ(state_of(4), "not loaded");
  const int top = row_of(4).top;
  load(4, [&] {
    state().set_scroll(top);
    auto& tracks = *window_.findChild<TrackColumn*>();
    QTest::mouseClick(&tracks, Qt::LeftButton, {}, {14, top - state().scroll() + 5});
  });
  EXPECT_EQ(row_of(4).top, top) << "it stays where it was";
  EXPECT_GT(row_of(4 + 1).top, top + 3 * Layout::kHeaderHeight) << "its lanes are open";
  EXPECT_TRUE(some_label_says("3 of 6 ranks loaded"));
  show_tab("Steps");
  EXPECT_EQ(tables().current_table().rows.size(), 6U) << "two of each loaded rank";
  EXPECT_TRUE(some_label_says("3 of 6 ranks"));
}

TEST_F(ManyRanksWindow, ARowShowsHowBusyItsRankWas) {
  state().set_scroll(row_of(4).top);
  state().fit();
  const QImage lanes_image = lanes().grab().toImage();
  const int y = row_of(4).view_top(state().scroll()) + Layout::kFoldedTop + 2;
  int compute = 0;
  int idle = 0;
  for (int x = 0; x < lanes_image.width(); ++x) {
    const QRgb pixel = lanes_image.pixel(x, y);
    compute += pixel == state().theme().of(SliceClass::kCompute).rgb() ? 1 : 0;
    idle += pixel == state().theme().idle.rgb() ? 1 : 0;
  }
  EXPECT_GT(compute, 50);
  // Of 199 us it computed for 50 and communicated for 30.
  EXPECT_NEAR(static_cast<double>(compute) / idle, 50.0 / 119, 0.05);
}

TEST_F(ManyRanksWindow, ARowOfARankLeadsThere) {
  show_tab("Ranks");
  ASSERT_EQ(tables().current_table().rows.size(), 6U) << "of all ranks, loaded or not";
  const auto label_of_ranks = [this] {
    for (const QLabel* label : tables().findChildren<QLabel*>()) {
      if (label->isVisible() && label->text().endsWith(" of 6 ranks")) return true;
    }
    return false;
  };
  EXPECT_FALSE(label_of_ranks());
  load(3, [this] { click_row(*tables().current_view(), 3); });
  EXPECT_EQ(state().selection().trace, 3U);
  EXPECT_TRUE(state().session().name_of(state().selection()).starts_with("ProfilerStep#"));
  EXPECT_EQ(tables().tabText(tables().currentIndex()), "Ranks") << "the user is still there";
  show_tab("Steps");
  EXPECT_TRUE(label_of_ranks());
}

TEST_F(ManyRanksWindow, AChosenStepStaysChosenWhenMoreRanksAreLoaded) {
  show_tab("Steps");
  click_row(*tables().current_view(), 1);
  const auto step = state().chosen_step();
  ASSERT_TRUE(step);
  load(4, [this] { state().want_ranks({4}); });
  EXPECT_EQ(state().chosen_step(), step);
  show_tab("Kernels");
  window_.settle();
  for (const TableRow& row : tables().current_view()->table().rows) {
    EXPECT_EQ(row.values[1].whole(), 1) << row.name << ": of that step alone";
  }
}

TEST_F(ManyRanksWindow, ASearchSaysWhatItDidNotSearch) {
  show_tab("Find");
  state().find("only_here");
  window_.settle();
  EXPECT_TRUE(some_label_says("Nothing in the 2 ranks that are loaded"));
  EXPECT_TRUE(some_label_says("none in 2 ranks"));
  load(5, [this] { state().want_all_ranks(); });
  window_.settle();
  EXPECT_EQ(state().search().count(), 1U);
  EXPECT_FALSE(some_label_says("in 2 ranks"));
  EXPECT_FALSE(state().session().is_partial());
}

TEST_F(ManyRanksWindow, ARankThatAnotherLoadCutOffIsReadAfterAll) {
  TestStudy study(path("study.db"));
  study.add_search();
  load(4, [this] {
    state().toggle(row_of(4).id);
    window_.open({path("study.db")});
  });
  EXPECT_TRUE(some_label_says("study.db")) << "the user is still there";
}

TEST_F(ManyRanksWindow, ARankThatIsGoneIsNamed) {
  ASSERT_TRUE(std::filesystem::remove(path("rank4.pt.trace.json")));
  QSignalSpy read(&window_.loader(), &Loader::ranks_read);
  state().toggle(row_of(4).id);
  ASSERT_TRUE(read.wait(kLoadLimitMs));
  EXPECT_EQ(state_of(4), "cannot be read");
  EXPECT_TRUE(some_label_says("rank4.pt.trace.json"));
}

}  // namespace
}  // namespace redline::viewer
