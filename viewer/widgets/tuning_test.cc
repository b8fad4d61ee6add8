// Uses the Tuning page as a user does: opens a study, looks at its trials, and opens their traces.
#include <QAccessible>
#include <QHeaderView>
#include <QScrollBar>

#include "viewer/models/testing_study.h"
#include "viewer/widgets/controls.h"
#include "viewer/widgets/testing_window.h"
#include "viewer/widgets/tuning_page.h"

namespace redline::viewer {
namespace {

class TuningWindow : public Window {
 protected:
  TuningWindow() : study_(path("study.db")) { study_.add_search(); }
  TuningPage& page() { return *window_.findChild<TuningPage*>(); }
  TableView& trials() { return *page().findChild<TableView*>(); }
  static int item_of(const ChartView& chart, int64_t trial) {
    for (int item = 0; item < chart.item_count(); ++item) {
      if (chart.chart().point(static_cast<size_t>(item)).id == trial) return item;
    }
    return ItemsView::kNoItem;
  }

  TestStudy study_;
};

TEST_F(TuningWindow, AStudyIsShownWithItsWinner) {
  ASSERT_TRUE(open({path("study.db")}));
  EXPECT_TRUE(page().isVisible());
  EXPECT_TRUE(some_label_says("5,000 samples/s"));
  EXPECT_EQ(page().chosen_trial(), 4);
  EXPECT_EQ(page().table().rows.size(), 4U);
  const auto image = page().grab().toImage();
  const QRgb series = Theme::light().of(SliceClass::kCompute).rgb();
  int dots = 0;
  for (int y = 100; y < image.height(); ++y) {
    for (int x = 0; x < image.width() - 360; ++x) dots += image.pixel(x, y) == series ? 1 : 0;
  }
  EXPECT_GT(dots, 60) << "points of both charts, and the line through them";
}

TEST_F(TuningWindow, TheTrialThatIsShownStaysMarkedWhenTrialsAreSorted) {
  ASSERT_TRUE(open({path("study.db")}));
  for (const auto order : {Qt::AscendingOrder, Qt::DescendingOrder}) {
    trials().horizontalHeader()->setSortIndicator(0, order);
    const Table marked = trials().selected_rows();
    ASSERT_EQ(marked.rows.size(), 1U);
    EXPECT_EQ(marked.rows[0].name, std::to_string(page().chosen_trial()));
  }
}

TEST_F(TuningWindow, AnAmpersandInAPathTakesNoKeyAway) {
  { TestStudy(path("R&D.db")).add_search(); }
  ASSERT_TRUE(open({path("R&D.db")}));
  ElidedButton* status = nullptr;
  for (ElidedButton* each : window_.findChildren<ElidedButton*>()) {
    if (each->isVisible() && each->text().contains("D.db")) status = each;
  }
  ASSERT_NE(status, nullptr);
  EXPECT_TRUE(status->shortcut().isEmpty()) << "Alt + D shows Details";
  EXPECT_TRUE(status->text().contains("R&&D.db")) << "which is shown as R&D.db";
  status->setFixedWidth(30);
  EXPECT_TRUE(status->tooltip_words().contains("R&D.db"));
}

TEST_F(TuningWindow, LongWordsDoNotWidenThePage) {
  ASSERT_TRUE(open({path("study.db")}));
  Tuning tuning = page().tuning();
  tuning.verdict += std::string(200, 'x');
  tuning.figures += std::string(200, 'y');
  page().show_tuning(tuning);
  QCoreApplication::processEvents();
  EXPECT_LE(window_.minimumSizeHint().width(), 800);
  for (const QLabel* label : page().findChildren<QLabel*>()) {
    if (!label->text().endsWith("yyy")) continue;
    EXPECT_TRUE(label->toolTip().contains("trials")) << "what is cut is there";
  }
}

TEST_F(TuningWindow, ItSaysThatTheLearningRateStays) {
  TestStudy study(path("samples.db"));
  study.take_step_samples(64);
  study.trial({}, 1000, "default");
  study.take_step_samples(352);
  study.trial({{"batch_size", "352"}}, 2000, "batch");
  ASSERT_TRUE(open({path("samples.db")}));
  EXPECT_TRUE(some_label_says("352 samples a step, not 64; the learning rate stays the same"));
}

TEST_F(TuningWindow, NumbersBesideAChartAreWhole) {
  Chart chart{"Rate", "batch size", true, {}};
  chart.series.push_back({"a", {{16, 5e6, true, 1, "one"}}, false, {}});
  EXPECT_GE(heights_width(chart), QFontMetrics(ui_font(11)).horizontalAdvance("5,000,000") + 6);
  ChartView view(Theme::light());
  view.resize(400, 300);
  view.show_chart(chart);
  const double wide = view.place_of(chart.series[0].points[0]).x();
  chart.series[0].points[0].y = 5;
  view.show_chart(chart);
  EXPECT_GT(wide, view.place_of(chart.series[0].points[0]).x());
}

TEST_F(TuningWindow, ASearchWithoutBatchSizesHasNoChartOfThem) {
  TestStudy study(path("metric.db"), "", "rate (.*)");
  ASSERT_TRUE(open({path("metric.db")}));
  const auto charts = page().findChildren<ChartView*>();
  EXPECT_TRUE(charts[0]->isVisible()) << "the first trial may have one";
  study.observe_nothing();
  study.trial({{"num_workers", "4"}}, 1000, "first");
  ASSERT_TRUE(open({path("metric.db")}));
  EXPECT_FALSE(charts[0]->isVisible());
  EXPECT_TRUE(charts[1]->isVisible());
}

TEST_F(TuningWindow, APointARowAndTheFilterAgree) {
  ASSERT_TRUE(open({path("study.db")}));
  auto* chart = page().findChild<ChartView*>();
  const ChartPoint failed = chart->chart().series[0].points[2];
  EXPECT_EQ(failed.id, 3);
  QTest::mouseClick(chart, Qt::LeftButton, {}, chart->place_of(failed).toPoint());
  EXPECT_EQ(page().chosen_trial(), 3);
  ASSERT_EQ(trials().selectionModel()->selectedRows().size(), 1);
  EXPECT_EQ(trials().selectionModel()->selectedRows()[0].row(), 2);
  EXPECT_TRUE(page().findChild<QPlainTextEdit*>()->toPlainText().contains("CUDA out of memory"));

  QTest::keyClicks(page().findChild<QLineEdit*>(), "screen");
  ASSERT_EQ(page().table().rows.size(), 1U);
  EXPECT_EQ(page().table().rows[0].name, "2");
  EXPECT_EQ(window_.export_to(path("t.csv"), ExportKind::kCsv), std::nullopt);
}

TEST_F(TuningWindow, ChartsAreWalkedByKeysAndReadAloud) {
  ASSERT_TRUE(open({path("study.db")}));
  auto* chart = page().findChild<ChartView*>();
  ASSERT_EQ(chart->chart().series.size(), 2U) << "amp off, amp bf16";
  const QImage without = chart->grab().toImage();
  chart->setFocus(Qt::TabFocusReason);
  EXPECT_NE(chart->grab().toImage(), without) << "the focus is seen";
  EXPECT_EQ(chart->current(), item_of(*chart, page().chosen_trial())) << "begins at the chosen one";
  QTest::keyClick(chart, Qt::Key_End);
  EXPECT_EQ(chart->current(), item_of(*chart, 3));
  EXPECT_EQ(page().chosen_trial(), 4) << "walking chooses nothing";
  QTest::keyClick(chart, Qt::Key_Return);
  EXPECT_EQ(page().chosen_trial(), 3);
  QTest::keyClick(chart, Qt::Key_Home);
  QTest::keyClick(chart, Qt::Key_Down);
  EXPECT_EQ(chart->current(), item_of(*chart, 1)) << "the other series";

  QAccessibleInterface* list = QAccessible::queryAccessibleInterface(chart);
  ASSERT_EQ(list->childCount(), 4);
  QAccessibleInterface* item = list->focusChild();
  ASSERT_NE(item, nullptr);
  EXPECT_EQ(item->text(QAccessible::Name), chart->item_text(chart->current()));
  EXPECT_TRUE(item->text(QAccessible::Name).contains("1,000"));
  EXPECT_TRUE(item->state().focused);
  EXPECT_EQ(list->childAt(item->rect().center().x(), item->rect().center().y()), item);
  item->actionInterface()->doAction(QAccessibleActionInterface::pressAction());
  EXPECT_EQ(page().chosen_trial(), 1);
}

TEST_F(TuningWindow, ATraceOfATrialIsOpenedAndTheStudyIsOneClickAway) {
  study_.add_trace(4, training_trace(0).json());
  ASSERT_TRUE(open({path("study.db")}));
  ASSERT_NE(button("Open its trace"), nullptr);
  EXPECT_EQ(button("Compare with the default"), nullptr) << "the default has no trace";
  ASSERT_TRUE(loads([this] { QTest::mouseClick(button("Open its trace"), Qt::LeftButton); }));
  EXPECT_TRUE(lanes().isVisible());
  EXPECT_EQ(state().session().traces().size(), 1U);
  QTest::mouseClick(button("Tuning"), Qt::LeftButton);
  EXPECT_TRUE(page().isVisible());
  QTest::mouseClick(button("Timeline"), Qt::LeftButton);
  EXPECT_TRUE(lanes().isVisible());
}

TEST_F(TuningWindow, TimelineAndStudyHaveEachItsNameAndItsFiles) {
  ASSERT_TRUE(open({training_trace(0).write(path("rank0.pt.trace.json"))}));
  const QString title = window_.windowTitle();
  ASSERT_TRUE(open({path("study.db")}));
  EXPECT_TRUE(window_.windowTitle().startsWith("study.db"));
  EXPECT_TRUE(some_label_says(path("study.db").c_str()));
  QTest::mouseClick(button("Timeline"), Qt::LeftButton);
  EXPECT_EQ(window_.windowTitle(), title);
  EXPECT_FALSE(some_label_says("study.db"));
  EXPECT_TRUE(some_label_says("loaded in"));
  ASSERT_TRUE(read_again());
  EXPECT_TRUE(lanes().isVisible()) << "the trace was read again";
  EXPECT_EQ(window_.windowTitle(), title);
  QTest::mouseClick(button("Tuning"), Qt::LeftButton);
  EXPECT_TRUE(window_.windowTitle().startsWith("study.db"));
  ASSERT_TRUE(read_again());
  EXPECT_TRUE(page().isVisible());
}

TEST_F(TuningWindow, ASearchThatGoesOnAddsItsTrials) {
  { TestStudy(path("ended.db")).add_search(); }
  ASSERT_TRUE(open({path("ended.db")}));
  ASSERT_EQ(page().table().rows.size(), 4U);
  page().choose_trial(2);
  TestStudy resumed(path("ended.db"));
  for (const size_t count : {5U, 6U}) {
    resumed.trial({{"num_workers", std::to_string(count)}}, 1500, "screen");
    EXPECT_TRUE(QTest::qWaitFor([&] { return page().table().rows.size() == count; }, kLoadLimitMs));
  }
  EXPECT_EQ(page().chosen_trial(), 2);
}

TEST_F(TuningWindow, ASearchThatGoesOnLeavesTheTableAsTheUserHasIt) {
  {
    TestStudy study(path("long.db"));
    study.add_search();
    for (int i = 1; i <= 30; ++i) study.trial({{"batch_size", std::to_string(i)}}, 900, "screen");
  }
  ASSERT_TRUE(open({path("long.db")}));
  QCoreApplication::processEvents();
  QHeaderView& header = *trials().horizontalHeader();
  QScrollBar& bar = *trials().verticalScrollBar();
  auto& details = *page().findChild<QPlainTextEdit*>();
  const auto sorted_by = [&] {
    return trials().model()->headerData(header.sortIndicatorSection(), Qt::Horizontal).toString();
  };
  header.setSortIndicator(header.count() - 1, Qt::DescendingOrder);
  ASSERT_EQ(sorted_by(), "Ended");
  page().choose_trial(30);
  EXPECT_GT(bar.value(), 0);
  bar.setValue(0);
  const auto rows = QItemSelectionModel::Select | QItemSelectionModel::Rows;
  trials().selectionModel()->select(trials().model()->index(0, 0), rows);
  header.resizeSection(1, 123);
  details.selectAll();
  const auto is_as_before = [&] {
    EXPECT_EQ(bar.value(), 0);
    EXPECT_EQ(sorted_by(), "Ended");
    const Table selected = trials().selected_rows();
    ASSERT_EQ(selected.rows.size(), 2U);
    EXPECT_EQ(selected.rows[0].name, "3") << "out of memory comes before ok";
    EXPECT_EQ(selected.rows[1].name, "30");
    EXPECT_EQ(trials().table().rows[0].name, "3");
    EXPECT_EQ(page().chosen_trial(), 30);
    EXPECT_TRUE(details.textCursor().hasSelection());
  };
  TestStudy resumed(path("long.db"));
  const auto has_rows = [this](size_t count) {
    return QTest::qWaitFor([&] { return page().table().rows.size() == count; }, kLoadLimitMs);
  };
  resumed.trial({{"num_workers", "5"}}, 900, "screen");
  ASSERT_TRUE(has_rows(35));
  is_as_before();
  EXPECT_EQ(header.sectionSize(1), 123);
  resumed.trial({{"num_workers", "6"}}, 900, "screen", {}, "another process");
  ASSERT_TRUE(has_rows(36));
  is_as_before();
}

TEST_F(TuningWindow, WhatIsNoStudyIsASentence) {
  std::ofstream(path("empty.db")).flush();
  EXPECT_FALSE(open({path("empty.db")}));
  EXPECT_TRUE(some_label_says("empty.db: it is empty"));
}

}  // namespace
}  // namespace redline::viewer
