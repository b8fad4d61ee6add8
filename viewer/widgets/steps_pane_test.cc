// The table of steps with its bars: a chosen step scopes the other tables and panes.
#include <QLineEdit>

#include "viewer/widgets/step_bars.h"
#include "viewer/widgets/testing_window.h"

namespace redline::viewer {
namespace {

class StepsPane : public Window {};

TEST_F(StepsPane, AChosenStepScopesKernelsAndOperatorsUntilItIsReleased) {
  open_two_ranks();
  const auto totals = [&](const QString& tab) {
    show_tab(tab);
    std::map<std::string, int64_t> calls;
    for (const TableRow& row : tables().current_view()->table().rows) {
      calls[row.name] = row.values[1].whole();
    }
    return calls;
  };
  const auto kernels = totals("Kernels");
  const auto operators = totals("Operators");
  const auto calls_of_collectives = [&] {
    show_tab("Collectives");
    int64_t calls = 0;
    for (const TableRow& row : tables().current_view()->table().rows) {
      calls += row.values[5].whole();
    }
    return calls;
  };
  EXPECT_EQ(calls_of_collectives(), 4);
  EXPECT_EQ(kernels.at("gemm"), 4) << "two steps on each of two ranks";
  show_tab("Steps");
  QTest::mouseClick(tables().current_view()->viewport(), Qt::LeftButton, {}, {30, 10});
  window_.settle();
  EXPECT_EQ(totals("Kernels").at("gemm"), 1);
  EXPECT_EQ(totals("Operators").at("aten::addmm"), 1);
  EXPECT_LT(totals("Operators").at("aten::addmm"), operators.at("aten::addmm"));
  EXPECT_EQ(calls_of_collectives(), 1);
  const auto selected = [&](const std::string& name) {
    for (const TableRow& row : selection().table().table().rows) {
      if (row.name == name) return row.values[1].whole();
    }
    return int64_t{0};
  };
  EXPECT_EQ(selected("gemm"), 1) << "of rank 0 alone";
  state().select_time(state().session().range());
  window_.settle();
  EXPECT_EQ(selected("gemm"), 1) << "an area that is larger than the step";
  QPushButton* release = nullptr;
  for (QPushButton* button : tables().findChildren<QPushButton*>()) {
    if (button->text().contains("only rank 0 · step 5")) release = button;
  }
  ASSERT_NE(release, nullptr);
  const auto place_of = [&](const QWidget& part) {
    return QRect(part.mapTo(&tables(), QPoint()), part.size());
  };
  const QRect filter = place_of(*tables().findChild<QLineEdit*>());
  EXPECT_LT(place_of(*release).right(), filter.left());
  EXPECT_LT(filter.right(), tables().width());
  EXPECT_LT(tables().tabBar()->geometry().right(), place_of(*release).left());
  QTest::mouseClick(release, Qt::LeftButton);
  EXPECT_TRUE(release->isHidden());
  EXPECT_EQ(totals("Kernels"), kernels);
  EXPECT_EQ(totals("Operators"), operators);
  EXPECT_EQ(calls_of_collectives(), 4);
  window_.settle();
  EXPECT_EQ(selected("gemm"), 4);
}

TEST_F(StepsPane, ARowLeadsToACallInTheChosenStep) {
  open_two_ranks();
  for (const auto& [tab, name] :
       {std::pair("Kernels", "gemm"), std::pair("Operators", "aten::addmm")}) {
    show_tab("Steps");
    click_row(*tables().current_view(), 3);
    window_.settle();
    ASSERT_TRUE(state().chosen_step());
    EXPECT_EQ(state().chosen_step()->name, "rank 1 · step 6");
    show_tab(tab);
    TableView& rows = *tables().current_view();
    rows.select_name(name);
    ASSERT_EQ(rows.selected_rows().rows.size(), 1U) << tab;
    click_row(rows, rows.currentIndex().row());
    const SliceRef call = state().selection();
    ASSERT_TRUE(call) << tab;
    EXPECT_EQ(state().session().name_of(call), name);
    EXPECT_EQ(call.trace, 1U) << "the first of equally long ones is in rank 0";
    EXPECT_GE(state().session().range_of(call).begin_ns,
              state().session().range_of(state().chosen_step()->time).begin_ns);
    EXPECT_EQ(state().search().text(), fmt::format("\"{}\"", name)) << "its other calls are seen";
  }
}

TEST_F(StepsPane, TheSelectionsPaneNamesTheStepAndReleasesIt) {
  open_two_ranks();
  show_tab("Steps");
  click_row(*tables().current_view(), 1);
  QPushButton* release = selection().findChild<QPushButton*>();
  ASSERT_NE(release, nullptr);
  EXPECT_TRUE(release->isVisible());
  EXPECT_EQ(release->text(), "only rank 0 · step 6  ×");
  QTest::mouseClick(release, Qt::LeftButton);
  EXPECT_FALSE(state().chosen_step());
  EXPECT_FALSE(some_label_says("only rank 0"));
  QTest::mouseClick(tables().current_view()->viewport(), Qt::LeftButton, {}, {30, 10});
  EXPECT_TRUE(state().chosen_step());
  state().open(state().shared_session());
  EXPECT_FALSE(some_label_says("only rank 0")) << "a trace that is opened has no step chosen";
}

TEST_F(StepsPane, AClickOnAStepsBarChoosesIt) {
  open_two_ranks();
  show_tab("Steps");
  auto& bars = *tables().findChild<StepBars*>();
  ASSERT_EQ(bars.item_count(), 4) << "two steps of two ranks";
  for (const auto other : {Qt::RightButton, Qt::MiddleButton}) {
    QTest::mouseClick(&bars, other, {}, bars.item_rect(3).center().toPoint());
    EXPECT_FALSE(state().chosen_step());
  }
  QTest::mouseClick(&bars, Qt::LeftButton, {}, bars.item_rect(3).center().toPoint());
  ASSERT_TRUE(state().chosen_step());
  EXPECT_EQ(state().chosen_step()->name, "rank 1 · step 6");
  EXPECT_EQ(state().area().range, state().session().range_of(state().chosen_step()->time));
  const auto rows = tables().current_view()->selectionModel()->selectedRows();
  ASSERT_EQ(rows.size(), 1);
  EXPECT_EQ(rows[0].data().toString(), "rank 1 · step 6");
  const QPoint under = bars.item_rect(3).bottomLeft().toPoint() + QPoint(2, 3);
  EXPECT_EQ(bars.grab().toImage().pixel(under), Theme::light().accent.rgb());
  const QPoint at_the_top = bars.item_rect(3).topLeft().toPoint() + QPoint(1, 1);
  EXPECT_NE(bars.grab().toImage().pixel(at_the_top), Theme::light().panel.rgb());
  const auto above_first = [&bars] {
    return bars.grab().toImage().pixel(bars.item_rect(0).center().toPoint().x(),
                                       static_cast<int>(bars.item_rect(0).top()) - 6);
  };
  EXPECT_EQ(above_first(), Theme::light().panel.rgb());
  StepBar slow = analyse_session(state().session()).step_bars[0];
  slow.note = "slow, +20.0 %";
  StepBar usual = slow;
  usual.note = {};
  bars.show_bars({slow, usual});
  EXPECT_EQ(above_first(), Theme::light().text.rgb()) << "the mark of a slow step";
  bars.setFocus(Qt::TabFocusReason);
  QTest::keyClick(&bars, Qt::Key_Home);
  QTest::keyClick(&bars, Qt::Key_Return);
  EXPECT_EQ(state().chosen_step()->name, "rank 0 · step 5");
}

}  // namespace
}  // namespace redline::viewer
