// The tables under the timeline. A click on a row goes to its slice in the lanes. If a row stands
// for all slices of a name, the click goes to the longest of them and searches for the name, so
// that Enter in the search field goes on to the next one.
#pragma once

#include <QLabel>
#include <QLineEdit>
#include <QTabWidget>

#include "viewer/models/analyse.h"
#include "viewer/models/latest_task.h"
#include "viewer/widgets/find_pane.h"
#include "viewer/widgets/table_view.h"

namespace redline::viewer {

class FlameView;
class RooflineView;
class StepBars;

class TablesPane : public QTabWidget {
  Q_OBJECT

 public:
  explicit TablesPane(ViewState& state);

  /// Tabs that have nothing to show are hidden.
  void show_report(const AnalysedSession& analysed);
  [[nodiscard]] FindPane& find() { return *find_; }
  /// The table of the tab that is shown; null for Find, whose rows are hits.
  [[nodiscard]] TableView* current_view() const;
  /// The same, with that of Find.
  [[nodiscard]] RowsView* current_rows() const;
  /// The table of the tab that is shown.
  [[nodiscard]] Table current_table() const;
  /// How many rows of the tab that is shown current_table() leaves out.
  [[nodiscard]] size_t rows_left_out() const;
  /// Waits for what another thread computes for the tables.
  void wait();

 signals:
  void name_chosen(QString name);

 private:
  TableView* make_table(const QString& title);
  QWidget* make_compare_page();
  QLineEdit* make_filter();
  void show_filter();
  /// Says of how many ranks the table is, if not of all.
  void show_ranks_note(const TableView* view);
  /// The tab widget gives its corner room only when it is resized.
  void lay_out_corner();
  void show_gaps(const QString& gpu);
  void show_gap(TimeRef gap);
  QWidget* make_steps_page();
  QWidget* make_roofline_page();
  QWidget* make_modules_page();
  void choose_step(TimeRef step);
  /// Marks the row of the slice that is selected, if the table that is shown has one.
  void mark_row();
  /// Shows what the chosen step did; if none is chosen, what all steps did.
  void show_scope();
  /// What is said over the table of what changed, which is then shown.
  void show_diff();
  void show_modules();
  void fill(TableView& view, QWidget& page, Table table, int sort_column);

  ViewState& state_;
  QLineEdit* filter_;  ///< of the table that is shown
  QLabel* ranks_note_ = nullptr;
  QLabel* compare_notes_;
  TableView* compare_;
  QWidget* compare_page_;
  std::vector<TableView*> tables_;     ///< of the report
  std::vector<QWidget*> table_pages_;  ///< of tables_: the tables themselves, or what holds them
  TableView* gaps_ = nullptr;          ///< one of them
  TableView* steps_ = nullptr;         ///< one of them
  StepBars* step_bars_ = nullptr;
  TableView* roofline_ = nullptr;  ///< one of them
  RooflineView* roofline_view_ = nullptr;
  TableView* modules_ = nullptr;  ///< one of them
  QLabel* modules_notes_ = nullptr;
  FlameView* icicle_ = nullptr;
  AnalysedSession analysed_;
  FindPane* find_;
  LatestTask task_{this};
};

}  // namespace redline::viewer
