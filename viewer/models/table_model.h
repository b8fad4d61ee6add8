// A Table as Qt's views want it, sorted by any column.
#pragma once

#include <QAbstractTableModel>

#include "viewer/models/table.h"

namespace redline::viewer {

class TableModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  explicit TableModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

  /// Keeps the column that it is sorted by where the columns stay the same.
  void set_table(Table table);
  [[nodiscard]] const Table& table() const { return table_; }
  [[nodiscard]] const TableRow& row(int index) const {
    return table_.rows[static_cast<size_t>(index)];
  }
  void sort(int column, Qt::SortOrder order) override;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;

 private:
  void sort_rows();
  [[nodiscard]] int alignment(int column) const;

  Table table_;
  int sort_column_ = -1;
  Qt::SortOrder sort_order_ = Qt::DescendingOrder;
};

}  // namespace redline::viewer
