// Compares how the window's parts look with pictures of them that somebody has approved.
//
// Pictures are compared pixel by pixel, because a test that allows a share of differing pixels
// would not see that a word changed. This works because everything that is drawn is fixed (font,
// scale, theme, platform), so that a picture does not depend on the machine.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <QDir>
#include <QFontDatabase>
#include <QFontInfo>
#include <QImage>
#include <QLineEdit>
#include <QProcessEnvironment>
#include <QPropertyAnimation>
#include <QToolButton>
#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "tests/paths.h"
#include "tests/training_run.h"
#include "viewer/models/hang_rows.h"
#include "viewer/models/testing_hang.h"
#include "viewer/models/testing_run.h"
#include "viewer/models/testing_study.h"
#include "viewer/widgets/run_page.h"
#include "viewer/widgets/step_bars.h"
#include "viewer/widgets/testing_window.h"
#include "viewer/widgets/tuning_page.h"

namespace redline::viewer {
namespace {

using testing::TrainingRun;

constexpr QSize kWindow(1280, 720);
constexpr QSize kLargeWindow(1920, 1080);
constexpr QSize kLargestWindow(3840, 2160);
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

constexpr int kRounding = 2;

bool differ(QRgb one, QRgb other) {
  return std::max({std::abs(qRed(one) - qRed(other)), std::abs(qGreen(one) - qGreen(other)),
                   std::abs(qBlue(one) - qBlue(other))}) > kRounding;
}

QRgb pale(QRgb colour) {
  const auto channel = [](int value) { return 255 - (255 - value) / 4; };
  return qRgb(channel(qRed(colour)), channel(qGreen(colour)), channel(qBlue(colour)));
}

// A picture with few colours gets a palette, which makes it smaller and loses nothing.
QImage with_palette(const QImage& image) {
  constexpr size_t kMostColours = 256;
  std::set<QRgb> colours;
  for (int y = 0; y < image.height() && colours.size() <= kMostColours; ++y) {
    for (int x = 0; x < image.width(); ++x) colours.insert(image.pixel(x, y));
  }
  if (colours.size() > kMostColours) return image;
  return image.convertToFormat(QImage::Format_Indexed8, {colours.begin(), colours.end()});
}

bool save(const QImage& image, const std::string& path) {
  constexpr int kSmallest = 0;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  return image.save(QString::fromStdString(path), "PNG", kSmallest);
}

struct Difference {
  int pixels = 0;
  QImage shown;  ///< the picture in pale colours, with differing pixels in red
};

/// Counts the pixels that differ by more than two levels in some channel. All x86 instruction sets
/// blend alike, but other processors may round differently, and text on a slice is blended twice.
Difference difference_of(const QImage& picture, const QImage& golden) {
  Difference difference{0, QImage(picture.size(), QImage::Format_RGB32)};
  for (int y = 0; y < picture.height(); ++y) {
    for (int x = 0; x < picture.width(); ++x) {
      const bool differs =
          !golden.rect().contains(x, y) || differ(picture.pixel(x, y), golden.pixel(x, y));
      difference.pixels += differs ? 1 : 0;
      difference.shown.setPixel(x, y, differs ? qRgb(255, 0, 0) : pale(picture.pixel(x, y)));
    }
  }
  return difference;
}

/// Returns a sentence if the picture differs from its golden. The picture is then in the build's
/// folder `goldens`, where it can be looked at and copied to become the golden.
std::optional<std::string> check_picture(const QImage& picture, const std::string& name) {
  const std::string kept =
      fmt::format("{}/viewer/goldens/{}.png", redline::testing::source_dir(), name);
  const auto built =
      std::filesystem::path(redline::testing::programs_dir()).parent_path() / "goldens";
  const std::string now = built / (name + ".png");
  const std::string shown = built / "differences" / (name + ".png");
  const QImage golden(QString::fromStdString(kept));
  const Difference difference = difference_of(picture, golden);
  if (golden.size() == picture.size() && difference.pixels == 0) {
    std::filesystem::remove(now);  // a picture of an earlier run would be taken for a new one
    std::filesystem::remove(shown);
    return std::nullopt;
  }
  const QImage opaque = picture.convertToFormat(QImage::Format_RGB32);
  if (!save(with_palette(opaque), now)) return fmt::format("{}: cannot be written", now);
  if (!save(difference.shown, shown)) return fmt::format("{}: cannot be written", shown);
  return fmt::format(
      "{} pixels of {} x {} differ\n  kept        {} ({} x {})\n  now         {}\n"
      "  difference  {}\nIf it is as it should be: cp {} {}",
      difference.pixels, picture.width(), picture.height(), kept, golden.width(), golden.height(),
      now, shown, now, kept);
}

QImage grey(int width, int height) {
  QImage image(width, height, QImage::Format_RGB32);
  image.fill(qRgb(100, 100, 100));
  return image;
}

TEST(Picture, ADifferenceIsMoreThanRounding) {
  const QImage golden = grey(8, 4);
  QImage picture = golden;
  EXPECT_EQ(difference_of(picture, golden).pixels, 0);
  picture.setPixel(5, 2, qRgb(102, 98, 100));
  EXPECT_EQ(difference_of(picture, golden).pixels, 0);
  picture.setPixel(6, 3, qRgb(100, 100, 103));
  const Difference one = difference_of(picture, golden);
  EXPECT_EQ(one.pixels, 1);
  EXPECT_EQ(one.shown.pixel(6, 3), qRgb(255, 0, 0));
  EXPECT_NE(one.shown.pixel(5, 2), qRgb(255, 0, 0));
}

TEST(Picture, WhatTheGoldenLacksDiffers) {
  EXPECT_EQ(difference_of(grey(8, 4), grey(8, 3)).pixels, 8);
  EXPECT_EQ(difference_of(grey(8, 4), QImage()).pixels, 32);
}

class Golden : public ::testing::Test {
 protected:
  Golden() { QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, folder_.path()); }

  void open(const LoadedSession& session, const Theme& theme = Theme::light(),
            QSize size = kWindow) {
    show_window(theme, size);
    show_analysed(*window_, session);
    settle();
  }
  /// Qt fades the buttons that empty fields in and out. If both run at once, as on a busy machine,
  /// the button stays half seen.
  void settle() {
    window_->settle();
    ASSERT_TRUE(QTest::qWaitFor(
        [&] { return window_->findChildren<QPropertyAnimation*>().isEmpty(); }, kLoadLimitMs));
    for (QLineEdit* field : window_->findChildren<QLineEdit*>()) {
      for (QToolButton* button : field->findChildren<QToolButton*>()) {
        button->setProperty("opacity", field->text().isEmpty() ? 0.0 : 1.0);
      }
    }
  }
  void show_window(const Theme& theme, QSize size) {
    window_ = std::make_unique<MainWindow>(theme);
    window_->resize(size);
    window_->show();
    ASSERT_TRUE(QTest::qWaitForWindowActive(window_.get(), kLoadLimitMs));
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
    settle();
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

TEST_F(Golden, LargeWindows) {
  open(fast_and_slow_rank(), Theme::dark_theme(), kLargeWindow);
  expect_golden(*window_, "window-1080-dark");
  open(one_rank(), Theme::light(), kLargestWindow);
  expect_golden(*window_, "window-2160");
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
  state().select(slice(1, testing::kV100.all_reduce));
  state().select_area_of_slice();
  state().set_range({0, 15'000'000});
  expect_golden(window_->timeline(), "timeline-ranks");
}

TEST_F(Golden, TablesOfTwoRanks) {
  open(fast_and_slow_rank());
  expect_tab("Collectives", "collectives");
  expect_tab("Ranks", "ranks");
  state().go_to_time(analyse_session(state().session()).step_bars.front().time);
  expect_tab("Flame", "flame");
  part<StepBars>().choose(1);
  expect_tab("Steps", "steps");
  state().choose_step(std::nullopt);
  state().find("aten::");
  expect_tab("Find", "find");
}

TEST_F(Golden, AJobThatHung) {
  const LoadedSession session = fast_and_slow_rank();
  show_window(Theme::light(), kWindow);
  window_->show_session(session);
  AnalysedSession analysed = analyse_session(*session.session);
  ReportTables tables = *analysed.tables;
  tables.hang = hang_rows(*session.session, hung_report());
  analysed.tables = std::make_shared<const ReportTables>(std::move(tables));
  window_->show_analysis(analysed);
  expect_tab("Hang", "hang");
}

TEST_F(Golden, TablesInTheDark) {
  open(one_rank(), Theme::dark_theme());
  expect_tab("Operators", "operators-dark");
  expect_tab("Memory", "memory-dark");
  expect_tab("Steps", "steps-dark");
  expect_tab("Path", "path-dark");
  expect_tab("Flame", "flame-dark");
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
  Tuning tuning = *load_tuning(path);
  ChartPoint& point = tuning.batches.series[0].points.front();  // wide enough to be seen
  point.low = 0.5 * *point.y;
  point.high = 1.4 * *point.y;
  point.is_hollow = true;
  tuning.command = "redline run --config best.json -- python train.py";  // without a folder's name
  window_->show_tuning(tuning);
  expect_golden(part<TuningPage>(), "tuning");
}

TEST_F(Golden, TheWholeRun) {
  TestRun run(folder_.filePath("logs").toStdString());
  run.add_window_with_trace(100, "early", "{}");
  run.add_window_with_trace(500, "late", "{}");
  run.write();
  for (const bool dark : {false, true}) {
    show_window(dark ? Theme::dark_theme() : Theme::light(), kWindow);
    window_->show_run(*load_run({run.folder()}));
    expect_golden(part<RunPage>(), dark ? "run-dark" : "run");
  }
}

}  // namespace
}  // namespace redline::viewer

namespace {

// Pictures must not depend on the machine's fonts, scale and desktop.
void forget_surroundings() {
  for (const QString& name : QProcessEnvironment::systemEnvironment().keys()) {
    if (name.startsWith("QT_") || name.startsWith("FONTCONFIG_") || name.startsWith("FREETYPE_")) {
      qunsetenv(name.toUtf8());
    }
  }
  qputenv("TZ", "UTC");
  qputenv("QT_QPA_PLATFORM", "offscreen");
  qputenv("FONTCONFIG_FILE", QByteArray::fromStdString(redline::testing::source_dir() +
                                                       "/viewer/goldens/font/fonts.conf"));
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  forget_surroundings();
  QApplication application(argc, argv);
  QFontDatabase::addApplicationFont(
      QString::fromStdString(redline::testing::source_dir() + "/viewer/goldens/font/golden.ttf"));
  QApplication::setStyle("Fusion");
  QApplication::setFont(redline::viewer::ui_font(12));
  QApplication::setCursorFlashTime(0);
  return RUN_ALL_TESTS();
}
