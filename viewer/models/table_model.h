// Tables as Qt's views want them: a Table sorted by any column, and the hits of a search.
#pragma once

#include <QAbstractTableModel>
#include <algorithm>
#include <memory>

#include "viewer/models/find_results.h"
#include "viewer/models/latest_task.h"
#include "viewer/models/table.h"

namespace redline::viewer {

/// What tables have in common: how their columns and values are shown.
class ValuesModel : public QAbstractTableModel {
 public:
  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;

 protected:
  [[nodiscard]] virtual const std::vector<TableColumn>& columns() const = 0;
  [[nodiscard]] virtual size_t row_count() const = 0;
  [[nodiscard]] virtual TableValue value(size_t row, size_t column) const = 0;
};

/// A Table, sorted by any column.
class TableModel : public ValuesModel {
  Q_OBJECT

 public:
  /// Stays sorted by the same column, also where others have come before it.
  void set_table(Table table);
  [[nodiscard]] const Table& table() const { return table_; }
  [[nodiscard]] const TableRow& row(int index) const {
    return table_.rows[static_cast<size_t>(index)];
  }
  void sort(int column, Qt::SortOrder order) override;
  [[nodiscard]] int sort_column() const { return sort_column_; }  ///< -1: as the table comes

 protected:
  [[nodiscard]] const std::vector<TableColumn>& columns() const override { return table_.columns; }
  [[nodiscard]] size_t row_count() const override { return table_.rows.size(); }
  [[nodiscard]] TableValue value(size_t row, size_t column) const override {
    return table_.rows[row].values[column];
  }

 private:
  /// By each row's new place the one where it was before.
  std::vector<size_t> sort_rows();

  Table table_;
  int sort_column_ = -1;
  Qt::SortOrder sort_order_ = Qt::DescendingOrder;
};

/// The hits of a search. A row holds a reference only; its words are made when it is shown. Ten
/// million hits are sorted on a thread of their own, and the old order is shown meanwhile.
class HitsModel : public ValuesModel {
  Q_OBJECT

 public:
  void set_hits(std::shared_ptr<const Session> session, Hits hits);
  [[nodiscard]] size_t size() const { return hits_->size(); }
  /// Views look at every row that they are given, so they only get as many as a user may scroll to.
  static constexpr size_t kMostShown = 1'000'000;
  [[nodiscard]] size_t shown_count() const { return std::min(size(), kMostShown); }
  [[nodiscard]] SliceRef hit(int row) const { return (*hits_)[static_cast<size_t>(row)]; }
  /// The rows that are shown.
  [[nodiscard]] Table table() const;
  /// One of them.
  [[nodiscard]] TableRow row(size_t index) const;
  /// Returns at once; sorted() follows.
  void sort(int column, Qt::SortOrder order) override;

 signals:
  void sorted();

 protected:
  [[nodiscard]] const std::vector<TableColumn>& columns() const override { return hit_columns(); }
  [[nodiscard]] size_t row_count() const override { return shown_count(); }
  [[nodiscard]] TableValue value(size_t row, size_t column) const override {
    return hit_value(*session_, (*hits_)[row], column);
  }

 private:
  std::shared_ptr<const Session> session_;
  Hits hits_ = std::make_shared<const std::vector<SliceRef>>();
  LatestTask task_{this};
};

}  // namespace redline::viewer
