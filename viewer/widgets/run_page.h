// The step logs of a whole job: its rate and chart, what held it back, where its time went, and its
// ranks. A click on the chart opens the recorded window that is nearest in time.
#pragma once

#include <QLabel>
#include <QScrollArea>
#include <QTimer>

#include "viewer/models/latest_task.h"
#include "viewer/models/run.h"
#include "viewer/widgets/run_chart_view.h"
#include "viewer/widgets/table_view.h"

namespace redline::viewer {

class RunPage : public QWidget {
  Q_OBJECT

 public:
  explicit RunPage(const Theme& theme);

  /// While the job runs, the page reads its logs again every few seconds as long as it is shown.
  void show_run(WholeRun run);
  [[nodiscard]] const WholeRun& run() const { return run_; }

 signals:
  void traces_chosen(const std::vector<std::string>& paths);
  void comparison_chosen(const std::vector<std::string>& before,
                         const std::vector<std::string>& after);

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  QWidget* make_left();
  QWidget* make_right();
  void show_findings();
  QWidget* make_parts();
  void show_parts();
  void open_window(size_t index, bool compares);
  void read_again();

  const Theme& theme_;
  WholeRun run_;
  RunWindow opened_;  ///< the window that was opened last
  QLabel* rate_ = nullptr;
  QLabel* subtitle_ = nullptr;
  QLabel* spread_ = nullptr;
  QLabel* left_out_ = nullptr;
  QLabel* hint_ = nullptr;
  RunChartView* chart_ = nullptr;
  TableView* ranks_ = nullptr;
  QScrollArea* findings_ = nullptr;
  QWidget* parts_ = nullptr;  ///< where an hour goes, below the findings
  QTimer again_;
  LatestTask task_{this};
};

}  // namespace redline::viewer
