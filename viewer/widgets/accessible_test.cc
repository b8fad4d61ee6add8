// A screen reader finds each control with a name and a fitting role.
#include <QAbstractButton>
#include <QAccessible>
#include <QLineEdit>
#include <QTableView>

#include "viewer/models/testing_study.h"
#include "viewer/widgets/chart_view.h"
#include "viewer/widgets/overview_strip.h"
#include "viewer/widgets/testing_window.h"
#include "viewer/widgets/track_column.h"

namespace redline::viewer {
namespace {

class Accessible : public Window {
 protected:
  static QString name_of(QObject* object) {
    QAccessibleInterface* interface = QAccessible::queryAccessibleInterface(object);
    return interface ? interface->text(QAccessible::Name) : QString();
  }
  static QAccessible::Role role_of(QObject* object) {
    QAccessibleInterface* interface = QAccessible::queryAccessibleInterface(object);
    return interface ? interface->role() : QAccessible::NoRole;
  }
  template <typename Widget>
  void expect_names(std::initializer_list<QAccessible::Role> roles, qsizetype at_least) {
    qsizetype seen = 0;
    for (Widget* widget : window_.findChildren<Widget*>()) {
      if (widget->objectName().startsWith(QLatin1String("qt_"))) continue;  // Qt's own parts
      ++seen;
      EXPECT_FALSE(name_of(widget).isEmpty()) << widget->metaObject()->className();
      if (roles.size() == 0) continue;
      EXPECT_NE(std::find(roles.begin(), roles.end(), role_of(widget)), roles.end())
          << widget->metaObject()->className() << ' ' << role_of(widget);
    }
    EXPECT_GE(seen, at_least);
  }
};

TEST_F(Accessible, EveryControlHasANameAndARole) {
  TestStudy(path("study.db")).add_search();
  window_.show_tuning(*load_tuning(path("study.db")));
  open_two_ranks();
  expect_names<QLineEdit>({QAccessible::EditableText}, 3);
  expect_names<QTableView>({QAccessible::Table}, 8);
  expect_names<ChartView>({}, 2);
  expect_names<LanesView>({}, 1);
  expect_names<RulerView>({}, 1);
  expect_names<OverviewStrip>({}, 1);
  expect_names<TrackColumn>({}, 1);
  for (QAbstractButton* button : window_.findChildren<QAbstractButton*>()) {
    if (!button->isVisible() || button->inherits("QTableCornerButton")) continue;
    EXPECT_FALSE(name_of(button).isEmpty()) << button->metaObject()->className();
    const QAccessible::Role role = role_of(button);
    EXPECT_TRUE(role == QAccessible::Button || role == QAccessible::ButtonMenu)
        << name_of(button).toStdString() << ' ' << role;
  }
}

TEST_F(Accessible, TheTimelineSaysWhatIsSelectedAndTheRulerWhatIsShown) {
  open_two_ranks();
  const auto said_of = [](QObject& part) {
    return QAccessible::queryAccessibleInterface(&part)
        ->text(QAccessible::Description)
        .toStdString();
  };
  EXPECT_EQ(said_of(lanes()), "nothing is selected");
  state().select(slice_named(state().session(), 0, "aten::addmm"));
  EXPECT_EQ(said_of(lanes()), "aten::addmm, 20.0 µs at +35.0 µs, rank 0 · CPU, thread 100");
  state().set_range({20'000, 60'000});
  EXPECT_EQ(said_of(*window_.findChild<RulerView*>()), "40.0 µs shown, from +20.0 µs");
}

TEST_F(Accessible, TracksAreAListWhoseItemsFold) {
  open_two_ranks();
  auto& column = *window_.findChild<TrackColumn*>();
  QAccessibleInterface* list = QAccessible::queryAccessibleInterface(&column);
  EXPECT_EQ(list->role(), QAccessible::List);
  ASSERT_EQ(list->childCount(), static_cast<int>(state().layout().rows().size()));
  QAccessibleInterface* group = list->child(0);
  EXPECT_EQ(group->text(QAccessible::Name), "rank 0 · CPU");
  EXPECT_TRUE(column.rect().contains(column.mapFromGlobal(group->rect().center())));
  EXPECT_TRUE(list->child(1)->text(QAccessible::Name).startsWith("rank 0 · CPU, thread 100"));
  group->actionInterface()->doAction(QAccessibleActionInterface::pressAction());
  EXPECT_TRUE(state().layout().rows()[0].folded);
  EXPECT_EQ(group->text(QAccessible::Name), "rank 0 · CPU, folded, 3 tracks · 14 slices");
}

TEST_F(Accessible, TablesAreReadCellByCell) {
  open_two_ranks();
  QTableView* kernels = nullptr;
  for (QTableView* table : window_.findChildren<QTableView*>()) {
    if (name_of(table) == QLatin1String("Kernels")) kernels = table;
  }
  ASSERT_NE(kernels, nullptr);
  QAccessibleInterface* interface = QAccessible::queryAccessibleInterface(kernels);
  ASSERT_NE(interface->tableInterface(), nullptr);
  EXPECT_EQ(interface->tableInterface()->rowCount(), 2);
  EXPECT_EQ(interface->tableInterface()->cellAt(0, 0)->text(QAccessible::Name), "gemm");
}

}  // namespace
}  // namespace redline::viewer
