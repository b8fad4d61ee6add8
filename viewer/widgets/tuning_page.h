// An autotune study: what won, two charts, what mattered, and every trial.
#pragma once

#include <QFileSystemWatcher>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTimer>
#include <QVBoxLayout>

#include "viewer/models/latest_task.h"
#include "viewer/models/tuning.h"
#include "viewer/widgets/chart_view.h"
#include "viewer/widgets/table_view.h"

namespace redline::viewer {

class TuningPage : public QWidget {
  Q_OBJECT

 public:
  explicit TuningPage(const Theme& theme);

  /// Keeps the chosen trial, the filter and the table's look if the study is the same as before.
  /// From then on the page follows the file, to which a running search adds its trials.
  void show_tuning(Tuning tuning);
  [[nodiscard]] const Tuning& tuning() const { return tuning_; }
  /// The trials that the filter leaves.
  [[nodiscard]] const Table& table() const { return trials_->table(); }
  void choose_trial(int64_t id);
  [[nodiscard]] int64_t chosen_trial() const { return chosen_; }

 signals:
  void traces_chosen(const std::vector<std::string>& paths);
  void comparison_chosen(const std::vector<std::string>& before,
                         const std::vector<std::string>& after);

 private:
  QWidget* make_head();
  QWidget* make_left();
  QWidget* make_right();
  void show_head();
  void show_shares();
  void filter_trials();
  void show_trial(int64_t id);
  [[nodiscard]] QStringList existing_files() const;
  void watch_files();
  void read_again();
  void open_trace();
  void compare_with_default();
  [[nodiscard]] std::vector<std::string> traces_of(int64_t trial) const;

  const Theme& theme_;
  Tuning tuning_;
  int64_t chosen_ = 0;
  QLabel* rate_ = nullptr;
  QLabel* spread_ = nullptr;
  QLabel* verdict_ = nullptr;
  QLabel* knobs_ = nullptr;
  QLabel* notes_ = nullptr;
  QLabel* command_ = nullptr;
  QLabel* figures_ = nullptr;
  ChartView* batches_ = nullptr;
  ChartView* convergence_ = nullptr;
  QLineEdit* filter_ = nullptr;
  TableView* trials_ = nullptr;
  QWidget* shares_ = nullptr;
  QVBoxLayout* right_ = nullptr;
  QPlainTextEdit* details_ = nullptr;
  QPushButton* open_ = nullptr;
  QPushButton* compare_ = nullptr;
  QFileSystemWatcher files_;  ///< while the search runs
  QTimer changed_;
  LatestTask task_{this};
};

}  // namespace redline::viewer
