// The real window without a display, on traces in memory.
#pragma once

#include <gtest/gtest.h>

#include <QApplication>
#include <QLabel>
#include <QPushButton>
#include <QSettings>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QWheelEvent>

#include "tests/temporary_folder.h"
#include "viewer/models/testing_trace.h"
#include "viewer/widgets/main_window.h"
#include "viewer/widgets/panes.h"
#include "viewer/widgets/tables_pane.h"

namespace redline::viewer {

/// Long on any machine: it ends only waits that are in vain.
inline constexpr int kLoadLimitMs = 120'000;

inline LoadedSession loaded(std::vector<std::shared_ptr<const trace::Trace>> traces) {
  return {std::make_shared<const Session>(std::move(traces)), 0.01};
}

/// Shows the session and all that is known of it.
inline void show_analysed(MainWindow& window, const LoadedSession& session) {
  window.show_session(session);
  window.show_analysis(analyse_session(*session.session));
  QCoreApplication::processEvents();
}

class Window : public ::testing::Test {
 protected:
  Window() {
    QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, settings_.path());
    window_.resize(1200, 800);
    window_.show();
    window_.activateWindow();
    EXPECT_TRUE(QTest::qWaitForWindowActive(&window_, kLoadLimitMs))
        << "keys go to what has the focus";
  }

  void open_two_ranks() {
    show_analysed(window_, loaded({training_trace(0).read(), training_trace(1, 1'000'010).read()}));
  }
  std::string path(const std::string& name) { return folder_ / name; }
  /// Does `act` and waits until what it opens is shown, or cannot be.
  template <typename Act>
  bool loads(Act act) {
    QSignalSpy loaded(&window_, &MainWindow::loaded);
    QSignalSpy failed(&window_, &MainWindow::failed);
    act();
    return QTest::qWaitFor([&] { return !loaded.empty() || !failed.empty(); }, kLoadLimitMs) &&
           !loaded.empty();
  }
  bool open(const std::vector<std::string>& paths) {
    return loads([&] { window_.open(paths); });
  }
  bool read_again() {
    return loads([this] { QTest::keyClick(&window_, Qt::Key_F5); });
  }
  ViewState& state() { return window_.state(); }
  TablesPane& tables() { return *window_.findChild<TablesPane*>(); }
  LanesView& lanes() { return window_.timeline().lanes(); }
  TrackColumn& column() { return *window_.findChild<TrackColumn*>(); }
  SelectionPane& selection() { return *window_.findChild<SelectionPane*>(); }
  /// The visible button whose text begins so.
  QPushButton* button(const QString& words) {
    for (QPushButton* one : window_.findChildren<QPushButton*>()) {
      if (one->text().startsWith(words) && one->isVisible()) return one;
    }
    return nullptr;
  }

  SliceRef slice(uint32_t trace, const char* name) {
    return slice_named(state().session(), trace, name);
  }
  QPoint centre_of(SliceRef ref) {
    const auto top = state().layout().top_of(state().session(), ref);
    EXPECT_TRUE(top);
    const TimeRange range = state().session().range_of(ref);
    const double x = state().axis().x_of(range.begin_ns + range.span_ns() / 2);
    return {static_cast<int>(x), *top - state().scroll() + Layout::kLaneHeight / 2};
  }
  void click(SliceRef ref) { QTest::mouseClick(&lanes(), Qt::LeftButton, {}, centre_of(ref)); }
  /// Clicks the slice in its lane, which stands at `top` of the view.
  void click_at(SliceRef ref, int top) {
    const TimeRange range = state().session().range_of(ref);
    const double x = state().axis().x_of(range.begin_ns + range.span_ns() / 2);
    QTest::mouseClick(&lanes(), Qt::LeftButton, {},
                      {static_cast<int>(x), top + Layout::kLaneHeight / 2});
  }
  void wheel(QWidget& widget, QPointF at, int turn, Qt::KeyboardModifiers keys) {
    QWheelEvent event(at, widget.mapToGlobal(at), {}, QPoint(0, turn), Qt::NoButton, keys,
                      Qt::NoScrollPhase, false);
    QApplication::sendEvent(&widget, &event);
  }
  void show_tab(const QString& title) {
    for (int i = 0; i < tables().count(); ++i) {
      if (tables().tabText(i) == title) tables().setCurrentIndex(i);
    }
    EXPECT_EQ(tables().tabText(tables().currentIndex()), title);
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
  bool some_label_says(const QString& text) {
    for (const QLabel* label : window_.findChildren<QLabel*>()) {
      if (label->isVisible() && label->text().contains(text)) return true;
    }
    for (const QPushButton* button : window_.findChildren<QPushButton*>()) {
      if (button->isVisible() && button->text().contains(text)) return true;
    }
    return false;
  }

  testing::TemporaryFolder folder_;
  QTemporaryDir settings_;  ///< so that the user's own stay as they are
  MainWindow window_{Theme::light()};
};

}  // namespace redline::viewer
