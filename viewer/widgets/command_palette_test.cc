// Ctrl + Shift + P finds what the window can do by name, and does it.
#include "viewer/widgets/command_palette.h"

#include <QClipboard>
#include <QMenu>

#include "viewer/widgets/controls.h"
#include "viewer/widgets/testing_window.h"

namespace redline::viewer {
namespace {

class Palette : public Window {
 protected:
  CommandPalette& open_palette() {
    QTest::keyClick(&lanes(), Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
    auto* palette = window_.findChild<CommandPalette*>();
    EXPECT_NE(palette, nullptr);
    return *palette;
  }
  static QStringList texts_of(const CommandPalette& palette) {
    QStringList texts;
    const auto* list = palette.findChild<QListWidget*>();
    for (int i = 0; i < list->count(); ++i) texts << list->item(i)->text();
    return texts;
  }
  /// Types some words and Enter, after moving down in what they find.
  void run(const QString& words, int down = 0) {
    auto* field = open_palette().findChild<QLineEdit*>();
    QTest::keyClicks(field, words);
    for (int i = 0; i < down; ++i) QTest::keyClick(field, Qt::Key_Down);
    QTest::keyClick(field, Qt::Key_Return);
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    EXPECT_EQ(window_.findChild<CommandPalette*>(), nullptr) << "it closes";
  }
};

TEST_F(Palette, HasEachActionWithItsKey) {
  open_two_ranks();
  const QStringList all = texts_of(open_palette());
  for (const char* one : {"Show: Operators  (Alt + 2)", "Zoom in  (W)", "Move left  (A, Left)",
                          "Search  (Ctrl + F)", "To the previous slice of the lane  (,)",
                          "Drop the selection, then the search  (Esc)", "Open: A folder of ranks …",
                          "Export: Window as PNG …", "View: Theme: Dark", "All keys  (?)"}) {
    EXPECT_TRUE(all.contains(one)) << one << " is not in\n" << all.join('\n').toStdString();
  }
}

TEST_F(Palette, AFileIsNamedAsItIs) {
  QMenu menu;
  menu.addAction(for_button("R&D && more"));
  std::vector<Command> commands;
  add_commands_of(menu, "Open", commands);
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(commands[0].name, QStringLiteral("Open: R&D && more"));
}

TEST_F(Palette, WordsInAnyOrderFindAndEnterDoes) {
  open_two_ranks();
  run("operators show");
  auto* tables = window_.findChild<TablesPane*>();
  EXPECT_EQ(tables->tabText(tables->currentIndex()), "Operators");
  const int64_t span = state().axis().span_ns;
  run("zoom", 1);
  EXPECT_GT(state().axis().span_ns, span) << "the second that is found: zoom out";
  TableView& operators = *tables->current_view();
  operators.selectRow(1);
  run("copy rows");
  EXPECT_EQ(QGuiApplication::clipboard()->text().toStdString(),
            table_tsv(operators.selected_rows()));
  run("theme dark");
  EXPECT_TRUE(state().theme().dark);
}

TEST_F(Palette, WithoutATraceItOffersToOpenOne) {
  QTest::keyClick(&window_, Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
  const auto* palette = window_.findChild<CommandPalette*>();
  ASSERT_NE(palette, nullptr);
  const QStringList all = texts_of(*palette);
  EXPECT_FALSE(all.filter("Open: ").isEmpty());
  EXPECT_TRUE(all.filter("Zoom").isEmpty());
}

}  // namespace
}  // namespace redline::viewer
