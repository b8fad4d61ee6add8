#include "viewer/widgets/table_view.h"

#include <QHeaderView>
#include <utility>

namespace redline::viewer {

Table TableView::rows_at(const std::set<int>& rows) const {
  Table some{table().title, table().columns, {}};
  for (const int row : rows) some.rows.push_back(model_.row(row));
  return some;
}

Table HitsView::rows_at(const std::set<int>& rows) const {
  Table some{tr("Find").toStdString(), hit_columns(), {}};
  for (const int row : rows) some.rows.push_back(model_.row(static_cast<size_t>(row)));
  return some;
}

TableView::TableView(const QString& title) : RowsView(title) {
  setModel(&model_);
  connect(this, &QTableView::activated, this, &TableView::choose);
  connect(this, &QTableView::clicked, this, [this](const QModelIndex& index) {
    if (is_choice()) choose(index);
  });
}

HitsView::HitsView(const QString& title) : RowsView(title) {
  setModel(&model_);
  const auto choose = [this](const QModelIndex& index) {
    emit slice_chosen(model_.hit(index.row()));
  };
  connect(this, &QTableView::activated, this, choose);
  connect(this, &QTableView::clicked, this, [choose](const QModelIndex& index) {
    if (is_choice()) choose(index);
  });
  // The numbers of the selected rows stay, but they are of other hits now.
  connect(&model_, &HitsModel::sorted, this, [this] { clearSelection(); });
}

void HitsView::show_hits(std::shared_ptr<const Session> session, Hits hits) {
  setSortingEnabled(false);  // otherwise the rows would be sorted again at once
  model_.set_hits(std::move(session), std::move(hits));
  horizontalHeader()->setSortIndicator(1, Qt::DescendingOrder);
  horizontalHeader()->setSortIndicatorShown(true);
  horizontalHeader()->setSectionsClickable(true);
  connect(horizontalHeader(), &QHeaderView::sortIndicatorChanged, &model_, &HitsModel::sort,
          Qt::UniqueConnection);
  fit_columns();
}

void TableView::show_table(Table table, int sort_column) {
  const bool was_empty = all_.rows.empty();
  const bool is_new = was_empty || table.columns.size() != all_.columns.size();
  if (is_new) model_.sort(-1, Qt::DescendingOrder);
  all_ = std::move(table);
  show_rows();
  if (isVisible()) fit_columns();  // other rows may be wider; a hidden table is fitted when shown
  if (!is_new) return;
  // A table that comes in its own order keeps it until the user clicks a title.
  horizontalHeader()->setSortIndicator(sort_column, Qt::DescendingOrder);
  setSortingEnabled(true);
}

void TableView::update_table(Table table) {
  if (all_.rows.empty()) return show_table(std::move(table), -1);
  const bool has_other_columns = table.columns.size() != all_.columns.size();
  std::set<std::string> chosen;
  for (const TableRow& row : selected_rows().rows) chosen.insert(row.name);
  const std::string current =
      currentIndex().isValid() ? model_.row(currentIndex().row()).name : std::string();
  all_ = std::move(table);
  show_rows();
  if (has_other_columns) {
    QHeaderView* header = horizontalHeader();
    header->setSortIndicator(model_.sort_column(), header->sortIndicatorOrder());
    if (isVisible()) fit_columns();
  }
  setAutoScroll(false);  // who has scrolled away from the chosen row stays there
  for (int row = 0; row < model_.rowCount(); ++row) {
    const std::string& name = model_.row(row).name;
    const QModelIndex first = model_.index(row, 0);
    if (name == current) selectionModel()->setCurrentIndex(first, QItemSelectionModel::NoUpdate);
    if (!chosen.contains(name)) continue;
    selectionModel()->select(first, QItemSelectionModel::Select | QItemSelectionModel::Rows);
  }
  setAutoScroll(true);
}

void TableView::set_filter(const std::string& text) {
  filter_ = text;
  show_rows();
}

void TableView::show_rows() {
  model_.set_table(filter_.empty() ? all_ : rows_with(all_, filter_));
  for (int c = 0; c < model_.columnCount(); ++c) {
    setColumnHidden(c, !has_values(all_, static_cast<size_t>(c)));
  }
}

void TableView::select_name(const std::string& name) {
  select_row([&name](const TableRow& row) { return row.name == name; });
}

void TableView::select_row(const std::function<bool(const TableRow& row)>& is_it) {
  clearSelection();
  for (int row = 0; row < model_.rowCount(); ++row) {
    if (!is_it(model_.row(row))) continue;
    selectRow(row);
    scrollTo(model_.index(row, 0));
    return;
  }
}

void TableView::choose(const QModelIndex& index) {
  const TableRow& row = model_.row(index.row());
  if (row.slice) {
    emit slice_chosen(row.slice);
  } else if (!row.name.empty()) {
    emit name_chosen(QString::fromStdString(row.name));
  } else if (row.time) {
    emit time_chosen(*row.time);
  }
}

}  // namespace redline::viewer
