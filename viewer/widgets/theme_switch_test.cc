// The theme changes while the window is open, by the menu or by the desktop, and is remembered.
#include <QMenu>
#include <QPalette>

#include "viewer/models/testing_study.h"
#include "viewer/widgets/chart_view.h"
#include "viewer/widgets/testing_window.h"

namespace redline::viewer {
namespace {

class ThemeSwitch : public Window {
 protected:
  ~ThemeSwitch() override { QApplication::setPalette(desktop_); }

  QAction* action(const QString& text) {
    for (QAction* one : window_.findChildren<QAction*>()) {
      if (one->text() == text) return one;
    }
    return nullptr;
  }
  QMenu& themes() { return *action("Theme")->menu(); }
  QString checked() {
    emit themes().aboutToShow();
    QStringList checked;
    for (const QAction* one : themes().actions()) {
      if (one->isChecked()) checked << one->text();
    }
    return checked.join(',');
  }
  static void set_desktop(const QColor& window) {
    QPalette palette = QApplication::palette();
    palette.setColor(QPalette::Window, window);
    QApplication::setPalette(palette);
    QCoreApplication::processEvents();
  }
  static QImage picture_of(QWidget& widget) {
    QCoreApplication::processEvents();
    return widget.grab().toImage().convertToFormat(QImage::Format_RGB32);
  }

  QPalette desktop_ = QApplication::palette();
};

TEST_F(ThemeSwitch, EveryPixelIsThatOfAWindowThatBeganDark) {
  open_two_ranks();
  state().select(slice_named(state().session(), 0, "gemm"));
  action("Dark")->trigger();
  const QImage changed = picture_of(window_);

  MainWindow dark(Theme::dark_theme());
  dark.resize(window_.size());
  dark.show();
  show_analysed(dark, {state().shared_session(), 0.01});
  dark.state().select(slice_named(dark.state().session(), 0, "gemm"));
  EXPECT_EQ(changed, picture_of(dark));
}

TEST_F(ThemeSwitch, AndBackItIsAsBefore) {
  open_two_ranks();
  const QImage light = picture_of(window_);
  action("Dark")->trigger();
  EXPECT_EQ(checked(), "Dark");
  EXPECT_NE(picture_of(window_), light);
  action("Light")->trigger();
  EXPECT_EQ(checked(), "Light");
  EXPECT_EQ(picture_of(window_), light);
}

TEST_F(ThemeSwitch, ChartsAreRepainted) {
  TestStudy(path("study.db")).add_search();
  window_.show_tuning(*load_tuning(path("study.db")));
  action("Dark")->trigger();
  const QImage chart = picture_of(*window_.findChild<ChartView*>());
  EXPECT_EQ(chart.pixel(1, 1), Theme::dark_theme().panel.rgb());
}

TEST_F(ThemeSwitch, AChoiceIsRememberedAndThatOfTheDesktopFollowsIt) {
  EXPECT_EQ(remembered_theme(), ThemeChoice::kDesktop);
  action("Dark")->trigger();
  EXPECT_EQ(remembered_theme(), ThemeChoice::kDark);
  set_desktop(Qt::white);
  EXPECT_TRUE(state().theme().dark) << "what was chosen stays";
  action("As the desktop")->trigger();
  EXPECT_EQ(remembered_theme(), ThemeChoice::kDesktop);
  EXPECT_FALSE(state().theme().dark);
  set_desktop(Qt::black);
  EXPECT_TRUE(state().theme().dark);
  set_desktop(Qt::white);
  EXPECT_FALSE(state().theme().dark);
}

TEST_F(ThemeSwitch, TheCommandLineWins) {
  remember_theme(ThemeChoice::kDark);
  EXPECT_EQ(first_theme(""), ThemeChoice::kDark) << "not said";
  EXPECT_EQ(first_theme("light"), ThemeChoice::kLight);
  EXPECT_EQ(first_theme("auto"), ThemeChoice::kDesktop);
}

}  // namespace
}  // namespace redline::viewer
