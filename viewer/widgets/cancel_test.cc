// The user cancels a load by its button or by Esc, early or late, or it fails; then the window
// shows again what was open before.
#include "viewer/models/testing_study.h"
#include "viewer/widgets/testing_window.h"
#include "viewer/widgets/tuning_page.h"

namespace redline::viewer {
namespace {

constexpr int kManyKernels = 200'000;  // 30 MB: reading is far from done at its first progress

class Cancel : public Window {
 protected:
  std::string write(const char* name, int kernels) {
    TestTrace trace(0);
    for (int i = 0; i < kernels; ++i) trace.kernel("k" + std::to_string(i % 7), 7, i * 10.0, 5);
    return trace.write(path(name));
  }
  bool open(const std::string& file) {
    QSignalSpy summed_up(&window_, &MainWindow::summed_up);
    window_.open({file});
    return summed_up.wait(kLoadLimitMs);
  }
  /// Opens a file and acts within the loader's first `signal`, after the window. A window that is
  /// held up finds what comes later in its queue, too: after the signal the load may be done.
  template <typename Signal, typename Act>
  void open_and_act(const std::string& file, Signal signal, Act act) {
    bool has_acted = false;
    QObject receiver;  // ends the connection, even if the wait was in vain
    const auto act_once = [&] {
      act();
      has_acted = true;
    };
    QObject::connect(&window_.loader(), signal, &receiver, act_once, Qt::SingleShotConnection);
    window_.open({file});
    ASSERT_TRUE(QTest::qWaitFor([&] { return has_acted; }, kLoadLimitMs));
  }
  /// Begins a load and acts when its first progress is shown.
  template <typename Act>
  void begin(const std::string& file, Act act) {
    open_and_act(file, &Loader::progress, act);
  }
  /// Opens a trace and goes into it, then begins to read a longer one, and acts when that one's
  /// first lanes are shown. Gives what was in sight before.
  template <typename Act>
  TimeRange open_and_begin_another(Act act) {
    EXPECT_TRUE(open(write("short.pt.trace.json", 10)));
    QTest::keyClick(&lanes(), Qt::Key_W);
    const TimeRange range = state().axis().range();
    window_.loader().set_first_look({.least_bytes = 1 << 20, .share = 8});
    open_and_act(write("long.pt.trace.json", kManyKernels), &Loader::begun, act);
    return range;
  }
  void click_cancel() {
    ASSERT_NE(button("Cancel"), nullptr);
    QTest::mouseClick(button("Cancel"), Qt::LeftButton);
  }
  [[nodiscard]] size_t slices() {
    size_t count = 0;
    for (const SessionTrace& one : state().session().traces()) count += one.trace->slice_count();
    return count;
  }
};

TEST_F(Cancel, TheFirstLoadLeavesTheWelcomePageAndAnotherWorks) {
  QSignalSpy loaded(&window_, &MainWindow::loaded);
  QSignalSpy failed(&window_, &MainWindow::failed);
  begin(write("long.pt.trace.json", kManyKernels), [this] { click_cancel(); });
  EXPECT_TRUE(some_label_says("Cancelled. Open a trace"));
  EXPECT_EQ(button("Cancel"), nullptr);
  EXPECT_TRUE(open(write("short.pt.trace.json", 10)));
  EXPECT_EQ(slices(), 10U);
  EXPECT_EQ(loaded.size(), 1) << "of the short one only";
  EXPECT_TRUE(failed.empty());
}

TEST_F(Cancel, EscBringsBackTheTraceThatWasOpen) {
  ASSERT_TRUE(open(write("short.pt.trace.json", 10)));
  QTest::keyClick(&lanes(), Qt::Key_W);
  const TimeRange range = state().axis().range();
  begin(write("long.pt.trace.json", kManyKernels), [this] {
    EXPECT_FALSE(lanes().isVisible());
    QTest::keyClick(QApplication::focusWidget() ? QApplication::focusWidget() : &window_,
                    Qt::Key_Escape);
  });
  EXPECT_TRUE(lanes().isVisible());
  EXPECT_TRUE(some_label_says("cancelled: what was open before"));
  EXPECT_EQ(slices(), 10U);
  EXPECT_EQ(state().axis().range(), range);
  EXPECT_TRUE(window_.windowTitle().startsWith("short"));
  ASSERT_TRUE(read_again());
  EXPECT_EQ(slices(), 10U) << "read again is what is open";
}

TEST_F(Cancel, AFailedLoadLeadsBackToTheTraceThatWasOpen) {
  const auto fail = [this] {
    EXPECT_FALSE(Window::open({path("nothing.json")}));
    EXPECT_TRUE(some_label_says("nothing.json: No such file"));
    EXPECT_FALSE(lanes().isVisible());
    EXPECT_EQ(window_.windowTitle(), "Redline");
    QCoreApplication::processEvents();  // shows the links
  };
  fail();
  EXPECT_EQ(button("Back to"), nullptr) << "nothing was open";
  QTest::keyClick(&window_, Qt::Key_Escape);
  EXPECT_TRUE(some_label_says("nothing.json: No such file"));
  ASSERT_TRUE(open(write("short.pt.trace.json", 10)));
  state().set_mark(5, "here");
  fail();
  QTest::keyClick(QApplication::focusWidget() ? QApplication::focusWidget() : &window_,
                  Qt::Key_Escape);
  EXPECT_TRUE(lanes().isVisible());
  EXPECT_TRUE(lanes().hasFocus());
  EXPECT_EQ(window_.windowTitle(), "short · Redline");
  EXPECT_EQ(state().marks().size(), 1U);
  fail();
  ASSERT_NE(button("Back to what was open before (Esc)"), nullptr);
  QTest::mouseClick(button("Back to"), Qt::LeftButton);
  EXPECT_TRUE(lanes().isVisible());
  ASSERT_TRUE(read_again());
  EXPECT_EQ(slices(), 10U) << "read again is what is open";
}

TEST_F(Cancel, FirstLanesGiveWayToTheTraceThatWasOpen) {
  const TimeRange range = open_and_begin_another([this] {
    EXPECT_GT(slices(), 10U);
    EXPECT_NE(button("Cancel"), nullptr);
    QTest::keyClick(&lanes(), Qt::Key_Escape);
  });
  EXPECT_EQ(slices(), 10U);
  EXPECT_EQ(state().axis().range(), range);
  EXPECT_FALSE(some_label_says("Reading"));
  EXPECT_FALSE(some_label_says("Summing up"));
  EXPECT_TRUE(some_label_says("10 events"));
  EXPECT_EQ(button("Cancel"), nullptr);
}

TEST_F(Cancel, WhatWasNotSummedUpYetIsAfterwards) {
  QSignalSpy summed_up(&window_, &MainWindow::summed_up);
  const std::string file = write("short.pt.trace.json", 10);
  // The session is shown by hand, because the sums of a short trace may be ready too soon to be
  // cancelled.
  window_.show_session(*load_session({file}));
  begin(write("long.pt.trace.json", kManyKernels), [this] { click_cancel(); });
  EXPECT_TRUE(lanes().isVisible());
  EXPECT_TRUE(QTest::qWaitFor([&] { return !summed_up.empty(); }, kLoadLimitMs));
  EXPECT_FALSE(some_label_says("Summing up"));
}

TEST_F(Cancel, SumsThatAnotherLoadCutOffAreMadeWhenItEndsWithoutATrace) {
  TestStudy study(path("study.db"));
  study.add_search();
  const std::string file = write("short.pt.trace.json", 10);
  for (const char* other : {"study.db", "nothing.json"}) {
    QSignalSpy summed_up(&window_, &MainWindow::summed_up);
    window_.show_session(*load_session({file}));  // by hand, as above
    window_.open({path(other)});
    EXPECT_TRUE(summed_up.wait(kLoadLimitMs)) << other;
    EXPECT_FALSE(lanes().isVisible());
  }
}

TEST_F(Cancel, FirstLanesAreGoneWhenAStudyWasOpenedInstead) {
  TestStudy study(path("study.db"));
  study.add_search();
  QSignalSpy tuned(&window_.loader(), &Loader::tuned);
  const TimeRange range = open_and_begin_another([this] { window_.open({path("study.db")}); });
  ASSERT_TRUE(QTest::qWaitFor([&] { return !tuned.empty(); }, kLoadLimitMs));
  EXPECT_TRUE(window_.findChild<TuningPage*>()->isVisible());
  EXPECT_EQ(slices(), 10U);
  EXPECT_EQ(state().axis().range(), range);
  EXPECT_TRUE(window_.windowTitle().startsWith("study.db"));
}

TEST_F(Cancel, AStudyIsBroughtBack) {
  TestStudy study(path("study.db"));
  study.add_search();
  ASSERT_TRUE(Window::open({path("study.db")}));
  window_.loader().set_first_look({.least_bytes = 1 << 20, .share = 8});
  open_and_act(write("long.pt.trace.json", kManyKernels), &Loader::begun,
               [this] { QTest::keyClick(&lanes(), Qt::Key_Escape); });
  EXPECT_TRUE(window_.findChild<TuningPage*>()->isVisible());
  EXPECT_TRUE(window_.windowTitle().startsWith("study.db"));
  EXPECT_EQ(slices(), 0U) << "first lanes of what was cancelled are gone";
}

TEST_F(Cancel, ManyTimesInARow) {
  const std::string file = write("long.pt.trace.json", kManyKernels / 4);
  for (int i = 0; i < 20; ++i) {
    window_.open({file});
    QTest::keyClick(&window_, Qt::Key_Escape);
    EXPECT_TRUE(some_label_says("Cancelled")) << i;
  }
  ASSERT_TRUE(open(file));
  EXPECT_EQ(slices(), kManyKernels / 4);
}

}  // namespace
}  // namespace redline::viewer
