// The window's parts as they look, against pictures of them that somebody has looked at.
#include <gtest/gtest.h>

#include <QFontDatabase>
#include <QFontInfo>
#include <QProcessEnvironment>

#include "viewer/goldens/picture.h"
#include "viewer/goldens/training_run.h"
#include "viewer/models/test_study.h"
#include "viewer/widgets/panes.h"
#include "viewer/widgets/tuning_page.h"
#include "viewer/widgets/window_fixture.h"

namespace redline::viewer {
namespace {

constexpr QSize kWindow(1200, 720);
constexpr double kGemmUs = 2000;
constexpr double kSlowGemmUs = 2900;

LoadedSession one_rank() { return loaded({TrainingRun(0, kGemmUs, kGemmUs).read()}); }
LoadedSession fast_and_slow_rank() {
  return loaded({TrainingRun(0, kGemmUs, kSlowGemmUs).read(),
                 TrainingRun(1, kSlowGemmUs, kSlowGemmUs).read()});
}
LoadedSession slow_and_fast_run() {
  std::vector runs{TrainingRun(0, kSlowGemmUs, kSlowGemmUs).read(),
                   TrainingRun(0, kGemmUs, kGemmUs).read()};
  return {std::make_shared<const Session>(std::move(runs), 1), 0.01};
}

class Golden : public ::testing::Test {
 protected:
  Golden() { QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, folder_.path()); }

  void open(const LoadedSession& session, const Theme& theme = Theme::light(),
            QSize size = kWindow) {
    show_window(theme, size);
    window_->show_session(session);
    window_->show_analysis(analyse_session(*session.session));
    window_->settle();
  }
  void show_window(const Theme& theme, QSize size) {
    window_ = std::make_unique<MainWindow>(theme);
    window_->resize(size);
    window_->show();
    ASSERT_TRUE(QTest::qWaitForWindowActive(window_.get()));
  }
  template <typename Part>
  Part& part() {
    return *window_->findChild<Part*>();
  }
  ViewState& state() { return window_->state(); }
  SliceRef slice(uint32_t rank, std::string_view name) {
    return slice_named(state().session(), rank, name);
  }

  void expect_golden(QWidget& widget, const std::string& name) {
    window_->settle();
    const auto problem = check_picture(widget.grab().toImage(), name);
    EXPECT_FALSE(problem) << name << ": " << *problem;
  }
  void expect_tab(const char* title, const std::string& name) {
    ASSERT_TRUE(window_->show_tab(title));
    expect_golden(part<TablesPane>(), name);
  }

  QTemporaryDir folder_;
  std::unique_ptr<MainWindow> window_;
};

TEST_F(Golden, ThereIsNoFontButOurs) {
  for (const char* family : {"Inter", "DejaVu Sans", "Monospace"}) {
    EXPECT_EQ(QFontInfo(QFont(family)).family(), "Redline Golden") << family;
  }
}

TEST_F(Golden, Window) {
  open(one_rank());
  expect_golden(*window_, "window");
}

TEST_F(Golden, TwoRunsInTheDark) {
  open(slow_and_fast_run(), Theme::dark_theme());
  expect_golden(*window_, "compare-dark");
}

TEST_F(Golden, SelectionWithItsArrowsAndAMark) {
  for (const bool dark : {false, true}) {
    open(one_rank(), dark ? Theme::dark_theme() : Theme::light(), {1200, 980});
    state().select(slice(0, "aten::addmm"));
    state().set_range({0, 14'000'000});
    state().set_mark(8'400'000, "wgrad");
    expect_golden(window_->timeline(), dark ? "timeline-dark" : "timeline-light");
  }
}

TEST_F(Golden, ColoursByNameAPinAFoldAndLessThanAPixel) {
  open(one_rank());
  state().set_colours_by_name(true);
  const Layout& layout = state().layout();
  const RowId pinned = layout.row_of(state().session(), slice(0, "aten::mm"))->id;
  state().rearrange([&](Layout& changed) { changed.set_pinned(pinned, true); });
  state().toggle(layout.row_of(state().session(), slice(0, "aten::conv2d"))->id);
  state().set_range({-60'000'000, 160'000'000});
  expect_golden(window_->timeline(), "timeline-far");
}

TEST_F(Golden, ACollectiveOfTwoRanks) {
  open(fast_and_slow_rank());
  state().rearrange([](Layout& layout) { layout.set_filter("stream"); });
  state().select(slice(1, TrainingRun::kAllReduce));
  state().select_area_of_slice();
  state().set_range({0, 15'000'000});
  expect_golden(window_->timeline(), "timeline-ranks");
}

TEST_F(Golden, TablesOfTwoRanks) {
  open(fast_and_slow_rank());
  expect_tab("Collectives", "collectives");
  expect_tab("Ranks", "ranks");
  state().find("aten::");
  expect_tab("Find", "find");
}

TEST_F(Golden, TablesInTheDark) {
  open(one_rank(), Theme::dark_theme());
  expect_tab("Operators", "operators-dark");
  expect_tab("Memory", "memory-dark");
}

TEST_F(Golden, Panes) {
  open(one_rank());
  state().select(slice(0, "aten::conv2d"));
  expect_golden(part<DetailsPane>(), "details");
  state().select_area_of_slice();
  expect_golden(part<SelectionPane>(), "selection");
}

TEST_F(Golden, Tuning) {
  const std::string path = folder_.filePath("study.db").toStdString();
  TestStudy study(path);
  study.add_search();
  study.trial({{"amp", "bf16"}, {"batch_size", "128"}}, 4000, "screen");
  show_window(Theme::light(), kWindow);
  window_->show_tuning(*load_tuning(path));
  expect_golden(part<TuningPage>(), "tuning");
}

}  // namespace
}  // namespace redline::viewer

namespace {

// The machine's fonts, its scale and its desktop are none of a picture's business.
void forget_surroundings() {
  for (const QString& name : QProcessEnvironment::systemEnvironment().keys()) {
    if (name.startsWith("QT_") || name.startsWith("FONTCONFIG_") || name.startsWith("FREETYPE_")) {
      qunsetenv(name.toUtf8());
    }
  }
  qputenv("QT_QPA_PLATFORM", "offscreen");
  qputenv("FONTCONFIG_FILE", REDLINE_SOURCE_DIR "/viewer/goldens/font/fonts.conf");
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  forget_surroundings();
  QApplication application(argc, argv);
  QFontDatabase::addApplicationFont(REDLINE_SOURCE_DIR "/viewer/goldens/font/golden.ttf");
  QApplication::setStyle("Fusion");
  QApplication::setFont(redline::viewer::ui_font(12));
  QApplication::setCursorFlashTime(0);
  return RUN_ALL_TESTS();
}
