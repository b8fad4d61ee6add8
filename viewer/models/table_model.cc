#include "viewer/models/table_model.h"

#include <algorithm>

#include "viewer/models/format.h"

namespace redline::viewer {

void TableModel::set_table(Table table) {
  beginResetModel();
  if (table.columns.size() != table_.columns.size()) sort_column_ = -1;
  table_ = std::move(table);
  sort_rows();
  endResetModel();
}

void TableModel::sort(int column, Qt::SortOrder order) {
  emit layoutAboutToBeChanged();
  sort_column_ = column;
  sort_order_ = order;
  sort_rows();
  emit layoutChanged();
}

void TableModel::sort_rows() {
  if (sort_column_ < 0 || sort_column_ >= columnCount()) return;
  const auto column = static_cast<size_t>(sort_column_);
  const bool ascending = sort_order_ == Qt::AscendingOrder;
  std::stable_sort(table_.rows.begin(), table_.rows.end(),
                   [&](const TableRow& left, const TableRow& right) {
                     const TableValue& a = left.values[column];
                     const TableValue& b = right.values[column];
                     return ascending ? value_less(a, b) : value_less(b, a);
                   });
}

int TableModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(table_.rows.size());
}

int TableModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(table_.columns.size());
}

// Words to the left, figures to the right.
int TableModel::alignment(int column) const {
  const bool words = table_.columns[static_cast<size_t>(column)].unit == Unit::kText;
  return static_cast<int>(words ? Qt::AlignLeft : Qt::AlignRight) |
         static_cast<int>(Qt::AlignVCenter);
}

QVariant TableModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount() || index.column() >= columnCount()) return {};
  const auto column = static_cast<size_t>(index.column());
  const TableValue& value = row(index.row()).values[column];
  const Unit unit = table_.columns[column].unit;
  switch (role) {
    case Qt::DisplayRole:
      return QString::fromStdString(value_text(value, unit));
    case Qt::ToolTipRole:
      return unit == Unit::kText ? QString::fromStdString(value_text(value, unit)).left(1000)
                                 : QVariant();
    case Qt::TextAlignmentRole:
      return alignment(index.column());
    default:
      return {};
  }
}

QVariant TableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) return {};
  const TableColumn& column = table_.columns[static_cast<size_t>(section)];
  if (role == Qt::TextAlignmentRole) return alignment(section);
  if (role == Qt::ToolTipRole && !column.meaning.empty()) {
    return QString::fromStdString(column.meaning);
  }
  return role == Qt::DisplayRole ? QString::fromStdString(column.title) : QVariant();
}

}  // namespace redline::viewer
