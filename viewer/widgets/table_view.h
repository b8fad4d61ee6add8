// A Table on the screen: a click on a title sorts it, a row leads to its slice.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "viewer/models/table_model.h"
#include "viewer/widgets/rows_view.h"

namespace redline::viewer {

class TableView : public RowsView {
  Q_OBJECT

 public:
  explicit TableView(const QString& title);

  /// Sorted by `sort_column`, largest first, until the user sorts otherwise; -1: as it comes.
  /// Columns without a value are not shown.
  void show_table(Table table, int sort_column);
  /// Newer figures of the rows that are shown: the chosen ones, the order and the scroll stay, and
  /// the widths if no column is new.
  void update_table(Table table);
  /// Shows only the rows that have `text` in some value.
  void set_filter(const std::string& text);
  [[nodiscard]] const std::string& filter() const { return filter_; }
  /// The rows that are shown.
  [[nodiscard]] const Table& table() const { return model_.table(); }
  [[nodiscard]] Table all_rows() const override { return model_.table(); }
  /// The row of this name, if there is one.
  void select_name(const std::string& name);
  /// The first row that `is_it` is true of, if there is one.
  void select_row(const std::function<bool(const TableRow& row)>& is_it);

 signals:
  void slice_chosen(redline::viewer::SliceRef ref);
  void name_chosen(QString name);
  void time_chosen(redline::viewer::TimeRef time);

 protected:
  [[nodiscard]] Table rows_at(const std::set<int>& rows) const override;

 private:
  void choose(const QModelIndex& index);
  void show_rows();

  TableModel model_;
  Table all_;
  std::string filter_;
};

/// The hits of a search; sorting ten million of them does not hold up the window.
class HitsView : public RowsView {
  Q_OBJECT

 public:
  explicit HitsView(const QString& title);

  /// Shows hits, which must have the longest first.
  void show_hits(std::shared_ptr<const Session> session, Hits hits);
  [[nodiscard]] HitsModel& hits() { return model_; }
  [[nodiscard]] const HitsModel& hits() const { return model_; }
  [[nodiscard]] Table all_rows() const override { return model_.table(); }

 signals:
  void slice_chosen(redline::viewer::SliceRef ref);

 protected:
  [[nodiscard]] Table rows_at(const std::set<int>& rows) const override;

 private:
  HitsModel model_;
};

}  // namespace redline::viewer
