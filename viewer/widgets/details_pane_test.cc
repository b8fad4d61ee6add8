#include <QAction>
#include <QClipboard>
#include <QTableWidget>

#include "viewer/widgets/panes.h"
#include "viewer/widgets/testing_window.h"

namespace redline::viewer {
namespace {

class Details : public Window {
 protected:
  DetailsPane& pane() { return *window_.findChild<DetailsPane*>(); }
};

TEST_F(Details, ShowTheWholeCallStack) {
  // Tries all lengths, because some need one line more for their last few pixels.
  std::string stack;
  for (size_t length = 1; length < 60; ++length) {
    stack += fmt::format("{}torch/{}.py({}): forward", stack.empty() ? "" : ";",
                         std::string(length, 'n'), length);
  }
  TestTrace trace(0);
  trace.slice("cpu_op", "aten::mm", 1, 1, 0, 10, fmt::format(R"({{"Call stack":"{}"}})", stack));
  window_.show_session(loaded({trace.read()}));
  state().select(slice(0, "aten::mm"));
  window_.findChild<DetailsPane*>()->grab();
  auto* table = window_.findChild<DetailsPane*>()->findChild<QTableWidget*>();
  for (int row = 0; row < table->rowCount(); ++row) {
    if (table->item(row, 0)->text() != "Call stack") continue;
    const int inner = table->columnWidth(1) - 16 -
                      2 * (1 + table->style()->pixelMetric(QStyle::PM_FocusFrameHMargin));
    const QString words = table->item(row, 1)->text().replace('/', QStringLiteral("/\u200b"));
    const QRect needed = table->fontMetrics().boundingRect(QRect(0, 0, inner, 100'000),
                                                           Qt::TextWordWrap | Qt::AlignLeft, words);
    EXPECT_GE(table->rowHeight(row), needed.height());
    return;
  }
  FAIL() << "no call stack";
}

TEST_F(Details, WordsOfAFileAreNoHtml) {
  const std::string name = "<img src='file:///dev/zero'>";
  TestTrace trace(0);
  trace.slice("cpu_op", name, 1, 1, 0, 10, R"({"<b>field</b>":"<i>value</i>"})");
  window_.show_session(loaded({trace.read()}));
  state().select(slice(0, name.c_str()));
  const auto& table = *pane().findChild<QTableWidget*>();
  const int last = table.rowCount() - 1;
  const QString tip = QStringLiteral("<p style='white-space:pre-wrap'>%1</p>");
  EXPECT_EQ(table.item(last, 0)->toolTip(), tip.arg("&lt;b&gt;field&lt;/b&gt;"));
  EXPECT_EQ(table.item(last, 1)->toolTip(), tip.arg("&lt;i&gt;value&lt;/i&gt;"));
  int labels = 0;
  for (const QLabel* label : window_.findChildren<QLabel*>()) {
    if (!label->text().contains("img src")) continue;
    ++labels;
    EXPECT_EQ(label->textFormat(), Qt::PlainText);
  }
  EXPECT_EQ(labels, 2) << "the heading and the status line";
}

TEST_F(Details, AreCopiedInPartOrWhole) {
  TestTrace trace(0);
  const std::string name = "void at::native::reduce_kernel<512, 1, at::native::MeanOps>(float)";
  trace.slice("cuda_runtime", "cudaLaunchKernel", 1, 1, 0, 5, R"({"correlation":9})")
      .slice("kernel", name, 0, 7, 10, 20,
             R"({"device":0,"stream":7,"correlation":9,"grid":[4,1]})");
  window_.show_session(loaded({trace.read()}));
  state().select(slice(0, name.c_str()));
  auto& table = *pane().findChild<QTableWidget*>();
  const auto copied = [&table](int row) {
    return QString("field\tvalue\n%1\t%2\n")
        .arg(table.item(row, 0)->text(), table.item(row, 1)->text());
  };
  QGuiApplication::clipboard()->clear();
  QTest::mouseClick(table.viewport(), Qt::LeftButton, {},
                    table.visualItemRect(table.item(1, 0)).center());
  QTest::keyClick(&table, Qt::Key_C, Qt::ControlModifier);
  EXPECT_EQ(QGuiApplication::clipboard()->text(), copied(1));
  QStringList actions;
  for (QLabel* label : pane().findChildren<QLabel*>()) {
    for (QAction* action : label->actions()) {
      actions << action->text();
      action->trigger();
    }
  }
  EXPECT_EQ(actions, QStringList{"Copy all details of the slice"});
  const QString all = QGuiApplication::clipboard()->text();
  EXPECT_TRUE(all.startsWith("field\tvalue\nname\t" + QString::fromStdString(name) + "\n"))
      << all.toStdString();
  EXPECT_TRUE(all.contains("\nlaunched by\tcudaLaunchKernel\n")) << all.toStdString();
  EXPECT_TRUE(all.contains("\ngrid\t[4,1]\n")) << all.toStdString();
  EXPECT_EQ(all.count('\n'), 2 + 1 + table.rowCount());
}

}  // namespace
}  // namespace redline::viewer
