#include "viewer/models/table_model.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "viewer/models/format.h"
#include "viewer/models/tooltip.h"

namespace redline::viewer {
namespace {

constexpr qsizetype kLongestTip = 1000;

bool is_text(Unit unit) { return unit == Unit::kText || unit == Unit::kName; }

// Words are aligned to the left, figures to the right.
int alignment(Unit unit) {
  return static_cast<int>(is_text(unit) ? Qt::AlignLeft : Qt::AlignRight) |
         static_cast<int>(Qt::AlignVCenter);
}

/// Where the column that `from` has at `index` stands in `to`; -1: nowhere.
int same_column(const Table& from, int index, const Table& to) {
  if (index < 0 || index >= std::ssize(from.columns)) return -1;
  const std::string& title = from.columns[static_cast<size_t>(index)].title;
  const auto found = std::ranges::find(to.columns, title, &TableColumn::title);
  return found == to.columns.end() ? -1 : static_cast<int>(found - to.columns.begin());
}

}  // namespace

int ValuesModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(row_count());
}

int ValuesModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(columns().size());
}

QVariant ValuesModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount() || index.column() >= columnCount()) return {};
  const auto column = static_cast<size_t>(index.column());
  const Unit unit = columns()[column].unit;
  if (role == Qt::TextAlignmentRole) return alignment(unit);
  const bool is_tip = role == Qt::ToolTipRole && is_text(unit);
  if (role != Qt::DisplayRole && !is_tip) return {};
  const TableValue shown_value = value(static_cast<size_t>(index.row()), column);
  const QString shown = QString::fromStdString(is_tip ? whole_text(shown_value, unit)
                                                      : value_text(shown_value, unit));
  return is_tip ? tooltip_of(shown.left(kLongestTip)) : shown;
}

QVariant ValuesModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) return {};
  const TableColumn& column = columns()[static_cast<size_t>(section)];
  if (role == Qt::TextAlignmentRole) return alignment(column.unit);
  if (role == Qt::ToolTipRole && !column.meaning.empty()) {
    return tooltip_of(QString::fromStdString(column.meaning));
  }
  return role == Qt::DisplayRole ? QString::fromStdString(column.title) : QVariant();
}

void TableModel::set_table(Table table) {
  beginResetModel();
  if (table.columns.size() != table_.columns.size()) {
    sort_column_ = same_column(table_, sort_column_, table);
  }
  table_ = std::move(table);
  sort_rows();
  endResetModel();
}

void TableModel::sort(int column, Qt::SortOrder order) {
  emit layoutAboutToBeChanged({}, VerticalSortHint);
  sort_column_ = column;
  sort_order_ = order;
  const std::vector<size_t> from = sort_rows();
  std::vector<int> to(from.size());
  for (size_t i = 0; i < from.size(); ++i) to[from[i]] = static_cast<int>(i);
  // The selected rows and the current one: otherwise their numbers would stay, of other rows.
  const QModelIndexList before = persistentIndexList();
  QModelIndexList after;
  for (const QModelIndex& each : before) {
    after << index(to[static_cast<size_t>(each.row())], each.column());
  }
  changePersistentIndexList(before, after);
  emit layoutChanged({}, VerticalSortHint);
}

std::vector<size_t> TableModel::sort_rows() {
  std::vector<size_t> from(row_count());
  std::iota(from.begin(), from.end(), size_t{0});
  if (sort_column_ < 0 || sort_column_ >= columnCount()) return from;
  const auto column = static_cast<size_t>(sort_column_);
  const bool ascending = sort_order_ == Qt::AscendingOrder;
  std::ranges::stable_sort(from, [&](size_t left, size_t right) {
    const TableValue& a = table_.rows[left].values[column];
    const TableValue& b = table_.rows[right].values[column];
    return ascending ? value_less(a, b) : value_less(b, a);
  });
  std::vector<TableRow> rows;
  rows.reserve(from.size());
  for (const size_t row : from) rows.push_back(std::move(table_.rows[row]));
  table_.rows = std::move(rows);
  return from;
}

void HitsModel::set_hits(std::shared_ptr<const Session> session, Hits hits) {
  task_.cancel();
  beginResetModel();
  session_ = std::move(session);
  hits_.swap(hits);
  endResetModel();
  task_.let_go(std::move(hits));
}

Table HitsModel::table() const {
  Table table{"Find", hit_columns(), {}};
  for (size_t i = 0; i < shown_count(); ++i) table.rows.push_back(row(i));
  return table;
}

TableRow HitsModel::row(size_t index) const {
  const SliceRef ref = (*hits_)[index];
  TableRow row{{}, ref, {}};
  for (size_t c = 0; c < hit_columns().size(); ++c) {
    row.values.push_back(hit_value(*session_, ref, c));
  }
  return row;
}

void HitsModel::sort(int column, Qt::SortOrder order) {
  if (column < 0 || column >= columnCount() || !session_) return;
  task_.start(
      [session = session_, hits = hits_, column = static_cast<size_t>(column),
       ascending = order == Qt::AscendingOrder](const std::atomic<bool>& cancelled) {
        return sort_hits(*session, *hits, column, ascending, &cancelled);
      },
      [this](const Hits& hits) {
        task_.let_go(std::exchange(hits_, hits));
        // Only the data changes. If a view were told of a new layout, it would look at every row.
        emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
        emit sorted();
      });
}

}  // namespace redline::viewer
