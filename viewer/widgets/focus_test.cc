// Where the keyboard's focus is must be seen, whichever part has it and in both themes.
#include <QMenu>
#include <set>

#include "viewer/widgets/testing_contrast.h"
#include "viewer/widgets/testing_window.h"

namespace redline::viewer {
namespace {

/// How many pixels of a part change so much that an eye sees it.
int seen_changes(const QImage& before, const QImage& after) {
  constexpr double kSeen = 3;
  int changes = 0;
  for (int y = 0; y < before.height(); ++y) {
    for (int x = 0; x < before.width(); ++x) {
      if (before.pixel(x, y) == after.pixel(x, y)) continue;
      changes += contrast(before.pixelColor(x, y), after.pixelColor(x, y)) >= kSeen ? 1 : 0;
    }
  }
  return changes;
}

class Focus : public Window, public ::testing::WithParamInterface<ThemeChoice> {
 protected:
  Focus() {
    window_.set_theme(GetParam());
    open_two_ranks();
  }
  QImage picture() {
    QCoreApplication::processEvents();
    return window_.grab().toImage();
  }
};

TEST_P(Focus, IsSeenWhereverTabLeads) {
  constexpr int kLeast = 20;
  std::set<const QWidget*> seen;
  for (QWidget* at = window_.focusWidget(); seen.insert(at).second; at = window_.focusWidget()) {
    const QImage with = picture();
    at->clearFocus();
    const QImage without = picture();
    at->setFocus(Qt::TabFocusReason);
    EXPECT_GE(seen_changes(without, with), kLeast)
        << at->metaObject()->className() << ' ' << at->accessibleName().toStdString() << ' '
        << at->toolTip().toStdString();
    QTest::keyClick(at, Qt::Key_Tab);
  }
  EXPECT_GE(seen.size(), 12U) << "lanes, ruler, tracks, tables, fields, buttons";
}

TEST_P(Focus, TheRulerActsOnItsMarkByKeys) {
  state().set_mark(state().axis().time_at(state().axis().width / 2.0), "here");
  auto* ruler = window_.findChild<RulerView*>();
  ruler->setFocus(Qt::TabFocusReason);
  const int64_t span = state().axis().span_ns;
  QTest::keyClick(ruler, Qt::Key_W);
  EXPECT_LT(state().axis().span_ns, span) << "the timeline's keys hold there, too";
  QContextMenuEvent event(QContextMenuEvent::Keyboard, {}, ruler->mapToGlobal(QPoint()));
  QApplication::sendEvent(ruler, &event);
  auto* menu = ruler->findChild<QMenu*>();
  ASSERT_NE(menu, nullptr);
  menu->actions().back()->trigger();
  menu->close();
  EXPECT_TRUE(state().marks().empty());
}

INSTANTIATE_TEST_SUITE_P(LightAndDark, Focus,
                         ::testing::Values(ThemeChoice::kLight, ThemeChoice::kDark));

}  // namespace
}  // namespace redline::viewer
