// The tables under the timeline. A click on a row goes to its slice in the lanes. If a row stands
// for all slices of a name, the click goes to the longest of them and searches for the name, so
// that Enter in the search field goes on to the next one.
#pragma once

#include <QTabWidget>

#include "trace/report/diff.h"
#include "trace/report/report.h"
#include "viewer/widgets/find_pane.h"
#include "viewer/widgets/table_view.h"

namespace redline::viewer {

class TablesPane : public QTabWidget {
  Q_OBJECT

 public:
  explicit TablesPane(ViewState& state, QWidget* parent = nullptr);

  /// Tabs that have nothing to show are hidden.
  void show_report(const trace::Report& report);
  void show_diff(const trace::Diff& diff);
  [[nodiscard]] FindPane& find() { return *find_; }
  /// The table of the tab that is shown.
  [[nodiscard]] Table current_table() const;
  /// How many rows of the tab that is shown current_table() leaves out.
  [[nodiscard]] size_t rows_left_out() const;

 signals:
  void name_chosen(QString name);

 private:
  TableView* add_table(const QString& title);
  void fill(TableView& view, Table table, int sort_column);

  ViewState& state_;
  TableView* compare_;
  std::vector<TableView*> tables_;  ///< of the report
  FindPane* find_;
};

}  // namespace redline::viewer
