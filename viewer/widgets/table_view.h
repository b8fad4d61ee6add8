// A Table on the screen: sorted by a click on a title, a row leads to its slice.
#pragma once

#include <QTableView>

#include "viewer/models/table_model.h"

namespace redline::viewer {

class TableView : public QTableView {
  Q_OBJECT

 public:
  explicit TableView(const QString& title, QWidget* parent = nullptr);

  /// Sorted by `sort_column`, largest first, until the user sorts otherwise; -1: as it comes.
  void show_table(Table table, int sort_column);
  [[nodiscard]] const Table& table() const { return model_.table(); }

 signals:
  void slice_chosen(redline::viewer::SliceRef ref);
  void name_chosen(QString name);

 private:
  void choose(const QModelIndex& index);
  void fit_columns();
  [[nodiscard]] int widest_of(int column) const;

  TableModel model_;
};

}  // namespace redline::viewer
