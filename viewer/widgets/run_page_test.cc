// Uses the Run page as a user does: opens the logs of a job, and from there its windows.
#include "viewer/widgets/run_page.h"

#include <QHeaderView>
#include <QPointer>
#include <QScrollArea>

#include "viewer/models/testing_run.h"
#include "viewer/widgets/testing_window.h"

namespace redline::viewer {
namespace {

class RunWindowTest : public Window {
 protected:
  void SetUp() override {
    run_.add_window_with_trace(100, "early", training_trace(0).json());
    run_.add_window_with_trace(500, "late", training_trace(0).json());
    run_.write();
  }
  bool open_run() { return open({run_.folder()}); }
  RunPage& page() { return *window_.findChild<RunPage*>(); }
  RunChartView& chart() { return *page().findChild<RunChartView*>(); }
  void click_at_step(int64_t step, Qt::KeyboardModifiers keys = {}) {
    const QPoint at(static_cast<int>(chart().x_of(TestRun::begin_of(step))), chart().height() / 2);
    QTest::mouseClick(&chart(), Qt::LeftButton, keys, at);
  }
  std::string path_of_trace(size_t index = 0) {
    return state().session().traces().at(index).trace->path();
  }

  TestRun run_{path("logs")};
};

TEST_F(RunWindowTest, AFolderOfStepLogsIsAPageOfItsOwn) {
  ASSERT_TRUE(open_run());
  EXPECT_TRUE(page().isVisible());
  EXPECT_TRUE(window_.windowTitle().startsWith("logs"));
  EXPECT_TRUE(some_label_says("2 ranks · 600 steps"));
  EXPECT_TRUE(some_label_says("From step 300 on"));
  EXPECT_EQ(button("Run"), nullptr) << "nothing to return from";
  EXPECT_EQ(window_.export_to(path("ranks.csv"), ExportKind::kCsv), std::nullopt);
}

TEST_F(RunWindowTest, AClickOpensTheNearestWindowAndAButtonLeadsBack) {
  ASSERT_TRUE(open_run());
  ASSERT_TRUE(loads([&] { click_at_step(420); }));
  EXPECT_TRUE(lanes().isVisible());
  EXPECT_NE(path_of_trace().find("windows/late/"), std::string::npos) << path_of_trace();
  QTest::mouseClick(button("Run"), Qt::LeftButton);
  EXPECT_TRUE(page().isVisible());
  QTest::mouseClick(button("Timeline"), Qt::LeftButton);
  EXPECT_TRUE(lanes().isVisible());
}

TEST_F(RunWindowTest, ShiftAndAClickCompareWithTheWindowBefore) {
  ASSERT_TRUE(open_run());
  ASSERT_TRUE(loads([&] { click_at_step(20); }));
  QTest::mouseClick(button("Run"), Qt::LeftButton);
  ASSERT_TRUE(loads([&] { click_at_step(599, Qt::ShiftModifier); }));
  ASSERT_EQ(state().session().before_count(), 1U);
  EXPECT_NE(path_of_trace(0).find("windows/early/"), std::string::npos) << path_of_trace(0);
  EXPECT_NE(path_of_trace(1).find("windows/late/"), std::string::npos) << path_of_trace(1);
}

TEST_F(RunWindowTest, OfTwoWindowsTheEarlierIsBeforeWhicheverWasOpenedFirst) {
  ASSERT_TRUE(open_run());
  ASSERT_TRUE(loads([&] { click_at_step(599); }));
  QTest::mouseClick(button("Run"), Qt::LeftButton);
  ASSERT_TRUE(loads([&] { click_at_step(20, Qt::ShiftModifier); }));
  ASSERT_EQ(state().session().before_count(), 1U);
  EXPECT_NE(path_of_trace(0).find("windows/early/"), std::string::npos) << path_of_trace(0);
  EXPECT_NE(path_of_trace(1).find("windows/late/"), std::string::npos) << path_of_trace(1);
}

TEST_F(RunWindowTest, AWindowIsNotComparedWithOneOfAnotherJob) {
  ASSERT_TRUE(open_run());
  ASSERT_TRUE(loads([&] { click_at_step(20); }));
  TestRun other(path("other"));
  other.add_window_with_trace(100, "only", training_trace(0).json());
  other.write();
  ASSERT_TRUE(open({other.folder()}));
  ASSERT_TRUE(loads([&] { click_at_step(20, Qt::ShiftModifier); }));
  EXPECT_EQ(state().session().before_count(), 0U);
}

TEST_F(RunWindowTest, OnlyTheLeftButtonOpensAWindow) {
  ASSERT_TRUE(open_run());
  QSignalSpy chosen(&page(), &RunPage::traces_chosen);
  const QPoint at(static_cast<int>(chart().x_of(TestRun::begin_of(420))), chart().height() / 2);
  for (const auto other : {Qt::RightButton, Qt::MiddleButton}) {
    QTest::mouseClick(&chart(), other, {}, at);
  }
  EXPECT_TRUE(chosen.empty());
}

TEST_F(RunWindowTest, KeysWalkItsWindowsAndMarks) {
  ASSERT_TRUE(open_run());
  chart().setFocus(Qt::TabFocusReason);
  EXPECT_EQ(chart().item_count(), 2 + static_cast<int>(page().run().chart.marks.size()));
  QTest::keyClick(&chart(), Qt::Key_Right);
  EXPECT_TRUE(chart().item_text(chart().current()).contains("windows/late"));
  ASSERT_TRUE(loads([&] { QTest::keyClick(&chart(), Qt::Key_Return); }));
  EXPECT_NE(path_of_trace().find("windows/late/"), std::string::npos) << path_of_trace();
}

TEST_F(RunWindowTest, LogsBesideTracesAreAButtonAway) {
  training_trace(0).write(run_.folder() + "/rank0.pt.trace.json");
  ASSERT_TRUE(open_run());
  EXPECT_TRUE(lanes().isVisible());
  ASSERT_TRUE(QTest::qWaitFor([&] { return button("Run") != nullptr; }, kLoadLimitMs));
  QTest::mouseClick(button("Run"), Qt::LeftButton);
  EXPECT_TRUE(page().isVisible());
}

TEST_F(RunWindowTest, ReadAgainItKeepsTheChosenRankAndTheWidthsOfColumns) {
  ASSERT_TRUE(open_run());
  TableView& ranks = *page().findChild<TableView*>();
  ranks.select_name("1");
  ranks.horizontalHeader()->resizeSection(1, 123);
  page().show_run(*load_run({run_.folder()}));
  ASSERT_EQ(ranks.selected_rows().rows.size(), 1U);
  EXPECT_EQ(ranks.selected_rows().rows.front().name, "1");
  EXPECT_EQ(ranks.currentIndex().row(), 1);
  EXPECT_EQ(ranks.columnWidth(1), 123);
}

TEST_F(RunWindowTest, ReadAgainItLeavesFindingsThatStayTheSame) {
  ASSERT_TRUE(open_run());
  const auto headline = [this]() -> QLabel* {
    for (QLabel* label : page().findChildren<QLabel*>()) {
      if (label->text().contains("From step 300 on")) return label;
    }
    return nullptr;
  };
  const QPointer<QLabel> before = headline();
  ASSERT_FALSE(before.isNull());
  before->setSelection(0, 4);
  WholeRun run = *load_run({run_.folder()});
  run.parts.front().share = 0.5;
  page().show_run(run);
  QCoreApplication::processEvents();
  ASSERT_FALSE(before.isNull()) << "words can be copied while the job runs";
  EXPECT_EQ(before->selectedText().size(), 4);
  EXPECT_TRUE(some_label_says("30.0 min")) << "the new shares";
  run.findings.front().cost = "now another";
  page().show_run(run);
  EXPECT_TRUE(before.isNull());
  EXPECT_NE(headline(), nullptr);
}

TEST_F(RunWindowTest, NumbersBesideTheRateAreWhole) {
  WholeRun run = *load_run({run_.folder()});
  for (auto& point : run.chart.points) point.rate *= 1e6;
  RunChartView view(Theme::light());
  view.show_run(run);
  EXPECT_GE(view.x_of(run.chart.begin_ns),
            QFontMetrics(ui_font(11)).horizontalAdvance("1,000,000,000") + 6);
}

TEST_F(RunWindowTest, ALongHeadlineLeavesRoomForTheFindings) {
  ASSERT_TRUE(open_run());
  WholeRun run = *load_run({run_.folder()});
  run.rate = "20,480 samples/s, 13,107,200 tokens/s, shared ones counted once (10.0 steps/s)";
  run.subtitle = "2 of 8 ranks · 1,300 steps · 2 min 10 s · still running";
  run.spread += run.rate + run.rate;
  page().show_run(run);
  window_.resize(1000, 700);
  QCoreApplication::processEvents();
  EXPECT_LE(window_.minimumSizeHint().width(), 800);
  EXPECT_EQ(window_.width(), 1000);
  EXPECT_GE(page().findChild<QScrollArea*>()->width(), 240);
}

TEST_F(RunWindowTest, WithoutWindowsItSaysHowToRecordSome) {
  std::filesystem::remove_all(run_.folder() + "/windows");
  ASSERT_TRUE(open_run());
  EXPECT_TRUE(some_label_says("--every 10m"));
  click_at_step(300);
  EXPECT_TRUE(page().isVisible());
}

}  // namespace
}  // namespace redline::viewer
