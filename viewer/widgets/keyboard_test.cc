// Uses the whole window without a mouse: each part can be reached and does its work.
#include <fmt/format.h>
#include <QAccessible>
#include <QMenu>
#include <QPushButton>
#include <set>

#include "viewer/widgets/legend.h"
#include "viewer/widgets/testing_window.h"

namespace redline::viewer {
namespace {

class Keyboard : public Window {
 protected:
  Keyboard() { open_two_ranks(); }

  const Row& row(size_t index) { return state().layout().rows()[index]; }
  QString name_of_focus() {
    const QWidget* focus = window_.focusWidget();
    const auto* button = qobject_cast<const QPushButton*>(focus);
    return button ? button->text() : focus ? focus->accessibleName() : QString();
  }
  static QMenu* menu_of(QWidget& widget) {
    QContextMenuEvent event(QContextMenuEvent::Keyboard, {}, widget.mapToGlobal(QPoint()));
    QApplication::sendEvent(&widget, &event);
    return widget.findChild<QMenu*>();
  }
  static QStringList texts_of(const QMenu& menu) {
    QStringList texts;
    for (const QAction* action : menu.actions()) texts << action->text();
    return texts;
  }
};

TEST_F(Keyboard, TabReachesEveryPart) {
  std::set<QString> reached;
  for (int i = 0; i < 100; ++i) {
    reached.insert(name_of_focus());
    QTest::keyClick(window_.focusWidget(), Qt::Key_Tab);
  }
  for (const char* part : {"Search", "Open", "Compare", "Tuning", "Export", "View", "?",
                           "Filter tracks", "Tracks", "Timeline", "Kernels", "Colours by class"}) {
    EXPECT_TRUE(reached.contains(part)) << part;
  }
}

TEST_F(Keyboard, TracksAreFoldedPinnedAndHidden) {
  column().setFocus();
  QTest::keyClick(&column(), Qt::Key_Return);
  EXPECT_TRUE(row(0).folded);
  QTest::keyClick(&column(), Qt::Key_Right);
  EXPECT_FALSE(row(0).folded);
  QTest::keyClick(&column(), Qt::Key_Down);
  EXPECT_EQ(column().accessibleDescription(), "rank 0 · CPU, thread 100, main · python");
  QMenu* menu = menu_of(column());
  ASSERT_NE(menu, nullptr);
  EXPECT_EQ(texts_of(*menu).first(), "Pin on top");
  menu->close();
  const RowId pinned = row(1).id;
  QTest::keyClick(&column(), Qt::Key_P);
  EXPECT_EQ(row(0).id, pinned);
  EXPECT_TRUE(row(0).pinned);
  QTest::keyClick(&column(), Qt::Key_P);
  EXPECT_EQ(row(1).id, pinned);
}

TEST_F(Keyboard, APeriodSelectsAndTheMenuKeyActsOnIt) {
  lanes().setFocus();
  QTest::keyClick(&lanes(), Qt::Key_Period);
  const SliceRef ref = state().selection();
  ASSERT_TRUE(ref);
  QMenu* menu = menu_of(lanes());
  ASSERT_NE(menu, nullptr);
  EXPECT_EQ(texts_of(*menu).mid(0, 3),
            (QStringList{"Zoom to the slice", "Find all of its name", "Copy its name"}));
  menu->actions()[1]->trigger();
  menu->close();
  EXPECT_EQ(state().search().text(), fmt::format("\"{}\"", state().session().name_of(ref)));
}

TEST_F(Keyboard, AltWithADigitOrALetterShowsATab) {
  const QStringList titles = window_.tab_titles();
  ASSERT_EQ(titles.mid(0, 2), (QStringList{"Kernels", "Operators"}));
  QTest::keyClick(&window_, Qt::Key_2, Qt::AltModifier);
  EXPECT_EQ(name_of_focus(), "Operators");
  QTest::keyClick(&window_, Qt::Key_D, Qt::AltModifier);
  EXPECT_TRUE(window_.findChild<DetailsPane*>()->isVisible());
  QTest::keyClick(&window_, Qt::Key_O, Qt::AltModifier);
  EXPECT_TRUE(window_.findChild<OverviewPane*>()->isVisible());
  QTest::keyClick(&window_, Qt::Key_S, Qt::AltModifier);
  EXPECT_TRUE(window_.findChild<SelectionPane*>()->isVisible());
}

TEST_F(Keyboard, LettersAreTheTimelinesInEveryTable) {
  state().select(slice_named(state().session(), 0, "gemm"));
  int visited = 0;
  for (QTableView* table : window_.findChildren<QTableView*>()) {
    if (!table->isVisible() || table->model()->rowCount() == 0) continue;
    ++visited;
    const QString name = table->accessibleName();
    table->setCurrentIndex(table->model()->index(0, 0));
    table->setFocus();
    const int64_t span = state().axis().span_ns;
    QTest::keyClick(table, Qt::Key_S);
    EXPECT_GT(state().axis().span_ns, span) << name.toStdString();
    QTest::keyClick(table, Qt::Key_W);
    QTest::keyClick(table, Qt::Key_M);
    EXPECT_EQ(state().marks().size(), 1U) << name.toStdString();
    QTest::keyClick(table, Qt::Key_M);
    QTest::keyClick(table, Qt::Key_Down);
    EXPECT_EQ(table->currentIndex().row(), std::min(1, table->model()->rowCount() - 1));
  }
  EXPECT_GE(visited, 2) << "the kernels, and the details of one";
}

TEST_F(Keyboard, LColoursByNameAndBack) {
  const QImage by_class = lanes().grab().toImage();
  auto* legend = window_.findChild<LegendEntries*>();
  EXPECT_TRUE(legend->accessibleName().contains("communication"));
  QTest::keyClick(&lanes(), Qt::Key_L);
  EXPECT_TRUE(some_label_says("Colours by name"));
  EXPECT_TRUE(legend->accessibleName().contains("gemm"));
  const QPoint gemm = centre_of(slice_named(state().session(), 0, "gemm"));
  const QRgb colour = Theme::light().slice[state().colours().names().front().colour].rgb();
  EXPECT_EQ(lanes().grab().toImage().pixel(gemm.x(), gemm.y() + Layout::kLaneHeight / 2 - 2),
            colour);
  QTest::mouseClick(legend, Qt::LeftButton, {}, {12, Legend::kHeight / 2});
  EXPECT_EQ(state().search().text(), "gemm") << "the legend's names can be found";
  state().find({});
  legend->setFocus(Qt::TabFocusReason);
  QTest::keyClick(legend, Qt::Key_Home);
  QTest::keyClick(legend, Qt::Key_Return);
  EXPECT_EQ(state().search().text(), "gemm") << "by keys, too";
  state().find({});
  EXPECT_TRUE(state().saved_view().colours_by_name);
  QTest::keyClick(&lanes(), Qt::Key_L);
  lanes().setFocus();
  EXPECT_EQ(lanes().grab().toImage(), by_class);
}

TEST_F(Keyboard, ALegendThatIsTooShortSaysSoAndNamesAll) {
  LegendEntries legend(state());
  const auto last = [&legend] { return legend.item_text(legend.item_count() - 1); };
  legend.resize(3000, Legend::kHeight);
  const int all = legend.item_count();
  EXPECT_FALSE(last().contains('\n'));
  legend.resize(200, Legend::kHeight);
  ASSERT_LT(legend.item_count(), all);
  EXPECT_EQ(last().count('\n'), all - 1);
  EXPECT_LE(legend.item_rect(legend.item_count() - 1).right(), 200);
  state().set_colours_by_name(true);
  legend.resize(60, Legend::kHeight);
  legend.choose(legend.item_count() - 1);
  EXPECT_EQ(state().search().text(), "") << "it is no name";
}

TEST_F(Keyboard, EverythingThatTakesTheFocusHasAName) {
  for (const QWidget* widget : window_.findChildren<QWidget*>()) {
    const bool own = !widget->objectName().startsWith(QLatin1String("qt_"));
    if (!own || !(widget->focusPolicy() & Qt::TabFocus) || widget->inherits("QTabBar")) continue;
    QAccessibleInterface* interface =
        QAccessible::queryAccessibleInterface(const_cast<QWidget*>(widget));
    ASSERT_NE(interface, nullptr);
    EXPECT_FALSE(interface->text(QAccessible::Name).isEmpty()) << widget->metaObject()->className();
  }
}

}  // namespace
}  // namespace redline::viewer
