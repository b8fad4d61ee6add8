#include "viewer/widgets/place.h"

#include <QMenu>

#include "viewer/widgets/testing_window.h"

namespace redline::viewer {
namespace {

class Places : public Window {
 protected:
  Places() {
    open_two_ranks();
    window_.keep_places();
    window_.resize(kSize);
    QCoreApplication::processEvents();
  }
  static constexpr QSize kSize{1500, 900};  // whatever the screen's is
  static void choose(MainWindow& window, const QString& part, const QString& item) {
    for (const QPushButton* button : window.findChildren<QPushButton*>()) {
      if (button->text() != "View") continue;
      for (const QAction* menu : button->menu()->actions()) {
        if (menu->text() != part) continue;
        for (QAction* action : menu->menu()->actions()) {
          if (action->text() == item) return action->trigger();
        }
      }
    }
    ADD_FAILURE() << "no item " << part.toStdString() << " > " << item.toStdString();
  }
  static QRect place_of(MainWindow& window, const QWidget& part) {
    return {part.mapTo(&window, QPoint()), part.size()};
  }
  static QRect tables_of(MainWindow& window) {
    return place_of(window, *window.findChild<TablesPane*>());
  }
  static QRect timeline_of(MainWindow& window) { return place_of(window, window.timeline()); }
};

TEST_F(Places, TheTablesStandAtTheSideThatTheUserChoosesAlsoNextTime) {
  const QRect at_first = tables_of(window_);
  EXPECT_GT(at_first.top(), timeline_of(window_).bottom());
  choose(window_, "Tables", "Above");
  EXPECT_LT(tables_of(window_).bottom(), timeline_of(window_).top());
  EXPECT_EQ(tables_of(window_).height(), at_first.height());
  choose(window_, "Tables", "At the right");
  EXPECT_GT(tables_of(window_).left(), timeline_of(window_).right());
  EXPECT_EQ(tables_of(window_).top(), timeline_of(window_).top());
  EXPECT_GT(tables_of(window_).width(), 200);
  MainWindow next(Theme::light());
  next.keep_places();
  next.resize(kSize);
  next.show();
  next.show_session(loaded({training_trace(0).read()}));
  QCoreApplication::processEvents();
  EXPECT_EQ(tables_of(next).top(), timeline_of(next).top());
  EXPECT_NEAR(tables_of(next).width(), tables_of(window_).width(), 2);
  choose(next, "Tables", "As at first");
  EXPECT_EQ(tables_of(next).left(), timeline_of(next).left());
  EXPECT_GT(tables_of(next).top(), timeline_of(next).bottom());
  MainWindow third(Theme::light());
  third.keep_places();
  EXPECT_EQ(third.findChild<QSplitter*>("tables")->orientation(), Qt::Vertical);
}

TEST_F(Places, ThePanesToo) {
  choose(window_, "Panes", "At the left");
  const QRect panes = place_of(window_, *window_.findChild<QSplitter*>("panes")->widget(0));
  EXPECT_LT(panes.right(), timeline_of(window_).left());
  choose(window_, "Panes", "Below");
  auto& panes_now = *window_.findChild<QSplitter*>("panes")->widget(1);
  EXPECT_GT(place_of(window_, panes_now).top(), tables_of(window_).bottom());
  EXPECT_EQ(place_of(window_, panes_now).left(), timeline_of(window_).left());
}

TEST_F(Places, WithoutAUserNothingIsRemembered) {
  MainWindow picture(Theme::light());
  choose(picture, "Tables", "Above");
  MainWindow next(Theme::light());
  next.keep_places();
  EXPECT_EQ(next.findChild<TablesPane*>(), next.findChild<QSplitter*>("tables")->widget(1));
}

}  // namespace
}  // namespace redline::viewer
