// The questions that people ask of a training trace, each answered in at most two actions of the
// user. An action is a click, a key, or typing one word.
#include <QLineEdit>

#include "tests/training_run.h"
#include "trace/report/kernel_name.h"
#include "viewer/models/testing_study.h"
#include "viewer/widgets/testing_window.h"
#include "viewer/widgets/tuning_page.h"

namespace redline::viewer {
namespace {

using testing::TrainingRun;

class Question : public Window {
 protected:
  void show(std::vector<std::shared_ptr<const trace::Trace>> traces, size_t before = 0) {
    show_analysed(window_, {std::make_shared<const Session>(std::move(traces), before), 0.01});
    window_.settle();
  }
  void show_fast_and_slow_rank() {
    show({TrainingRun(0, 2000, 2900).read(), TrainingRun(1, 2900, 2900).read()});
  }
  /// An action: a click on the tab.
  void click_tab(const QString& title) {
    QTabBar* bar = tables().tabBar();
    for (int i = 0; i < tables().count(); ++i) {
      if (tables().tabText(i) != title) continue;
      QTest::mouseClick(bar, Qt::LeftButton, {}, bar->tabRect(i).center());
    }
    EXPECT_EQ(tables().tabText(tables().currentIndex()), title);
  }
  /// What the shown table says in a row.
  std::string cell(size_t row, const std::string& title) {
    const TableView& view = *tables().current_view();
    for (size_t c = 0; c < view.table().columns.size(); ++c) {
      const bool is_it = view.table().columns[c].title == title;
      EXPECT_FALSE(is_it && view.isColumnHidden(static_cast<int>(c))) << title;
    }
    return cell_text(view.table(), row, title);
  }
};

TEST_F(Question, WhichIsTheLongestKernelOfAStep) {
  show({TrainingRun(0, 2000, 2000).read()});
  click_tab("Steps");
  EXPECT_EQ(cell(1, "Step"), "step 9");
  EXPECT_EQ(cell(1, "Its name"), trace::short_kernel_name(testing::kV100.all_reduce, 60));
  EXPECT_EQ(cell(1, "Longest kernel"), "2.70 ms");
}

TEST_F(Question, WhyWasTheGpuIdleAtItsLongestGap) {
  show({TrainingRun(0, 2000, 2000).read()});
  click_tab("Gaps");
  EXPECT_NE(cell(0, "Host meanwhile"), "no Host meanwhile");
  EXPECT_NE(cell(0, "Launched by"), "");
  QTest::mouseClick(tables().current_view()->viewport(), Qt::LeftButton, {}, {30, 10});
  EXPECT_EQ(value_text(state().area().range.span_ns(), Unit::kDuration), cell(0, "Idle"));
}

TEST_F(Question, WhichRankIsTheStraggler) {
  show_fast_and_slow_rank();
  EXPECT_TRUE(
      some_label_says("Rank 1: longest own work (in forward or the script around it), "
                      "900.0 µs a step more"))
      << "without any action";
  click_tab("Ranks");
  EXPECT_EQ(cell(1, "Rank (times a step)"),
            "rank 1 · longest own work (in forward or the script around it), waited for most");
}

TEST_F(Question, WhichOperatorLaunchedAKernel) {
  show({TrainingRun(0, 2000, 2000).read()});
  const SliceRef kernel = slice_named(state().session(), 0, testing::kV100.product);
  state().go_to(kernel);
  state().select({});
  click(kernel);
  const Table& links = window_.findChild<DetailsPane*>()->findChild<TableView*>()->table();
  ASSERT_FALSE(links.rows.empty());
  EXPECT_EQ(links.rows[0].values[0].text(), "aten::addmm");
  EXPECT_EQ(links.rows[0].values[1].text(), "in operator");
}

TEST_F(Question, HowMuchMemoryIsHeldAtThePeakAndByWhom) {
  show({TrainingRun(0, 2000, 2000).read()});
  click_tab("Memory");
  const auto& rows = tables().current_view()->table().rows;
  int64_t held = 0;
  for (size_t i = 1; i < rows.size(); ++i) held += rows[i].values[2].whole();
  EXPECT_EQ(held, rows[0].values[2].whole());
  QTest::mouseClick(tables().current_view()->viewport(), Qt::LeftButton, {}, {30, 10});
  EXPECT_TRUE(state().moment());
}

TEST_F(Question, HowDoesAnOperatorDifferBetweenTwoRuns) {
  show({TrainingRun(0, 2900, 2900).read(), TrainingRun(0, 2000, 2000).read()}, 1);
  QTest::keyClicks(tables().findChild<QLineEdit*>(), "aten::addmm");
  ASSERT_FALSE(tables().current_view()->table().rows.empty());
  EXPECT_EQ(cell(0, "Name"), "aten::addmm");
  EXPECT_NE(cell(0, "Before"), "no Before");
  EXPECT_NE(cell(0, "After"), "no After");
}

TEST_F(Question, WhatIsTheBandwidthOfAllReduce) {
  show_fast_and_slow_rank();
  click_tab("Collectives");
  EXPECT_TRUE(QString::fromStdString(cell(0, "Bus bandwidth")).endsWith("B/s"))
      << cell(0, "Bus bandwidth");
}

TEST_F(Question, HowMuchTimePassesBetweenSteps) {
  show({TrainingRun(0, 2000, 2000).read()});
  click_tab("Steps");
  EXPECT_EQ(cell(1, "Gap before"), "50.0 µs");
}

TEST_F(Question, WhichThreadsAreWhat) {
  TestTrace trace = training_trace(0);
  trace.slice("cpu_op", "autograd::engine::evaluate_function: MmBackward0", 100, 102, 5, 10);
  trace.raw(R"({"ph":"M","name":"thread_name","pid":100,"tid":103,"ts":1,)"
            R"~("args":{"name":"pt_pin_memory"}})~");
  trace.slice("cpu_op", "aten::copy_", 100, 103, 5, 10);
  show({trace.read()});
  std::map<std::string, std::string> notes;
  for (const TrackGroup& group : state().layout().groups()) {
    for (const TrackItem& item : group.tracks) notes[item.title] = item.note;
  }
  EXPECT_EQ(notes["thread 100"], "main · python");
  EXPECT_EQ(notes["thread 102"], "autograd");
  EXPECT_EQ(notes["thread 103"], "loader · pt_pin_memory");
}

TEST_F(Question, WhatWasTheBatchSizeOfTheBestTrial) {
  TestStudy(path("study.db")).add_search();
  window_.show_tuning(*load_tuning(path("study.db")));
  EXPECT_TRUE(some_label_says("batch_size 128"));
}

}  // namespace
}  // namespace redline::viewer
