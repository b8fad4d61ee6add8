#include "viewer/widgets/table_view.h"

#include <QHeaderView>

namespace redline::viewer {
namespace {

constexpr int kMargin = 38;  // the padding and the sort mark
constexpr int kLeastWidth = 76;
constexpr int kMostWidth = 220;
constexpr int kLeastNameWidth = 120;
constexpr int kNarrowNameWidth = 160;  // where the table is wider than its place: figures count
constexpr int kLookedAt = 100;         // rows that decide the width of a column

}  // namespace

TableView::TableView(const QString& title, QWidget* parent) : QTableView(parent) {
  setModel(&model_);
  setAccessibleName(title);
  setShowGrid(false);
  setSelectionBehavior(QAbstractItemView::SelectRows);
  setSelectionMode(QAbstractItemView::SingleSelection);
  setTextElideMode(Qt::ElideRight);
  setWordWrap(false);
  setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  verticalHeader()->hide();
  verticalHeader()->setDefaultSectionSize(20);
  verticalHeader()->setMinimumSectionSize(20);
  horizontalHeader()->setHighlightSections(false);
  horizontalHeader()->setMinimumSectionSize(60);
  connect(this, &QTableView::activated, this, &TableView::choose);
  connect(this, &QTableView::clicked, this, &TableView::choose);
}

void TableView::show_table(Table table, int sort_column) {
  const bool was_empty = model_.rowCount() == 0;
  const bool is_new = was_empty || table.columns.size() != model_.table().columns.size();
  model_.set_table(std::move(table));
  if (!is_new) return;
  fit_columns();
  // A table that comes in an order of its own keeps it until a title is clicked.
  horizontalHeader()->setSortIndicator(sort_column, Qt::DescendingOrder);
  setSortingEnabled(true);
}

// The first column has the names, and takes what room is left.
void TableView::fit_columns() {
  if (model_.columnCount() == 0) return;
  ensurePolished();  // else its font is not yet the one that is drawn
  int others = 0;
  for (int c = 1; c < model_.columnCount(); ++c) {
    const int width = std::clamp(widest_of(c) + kMargin, kLeastWidth, kMostWidth);
    horizontalHeader()->resizeSection(c, width);
    others += width;
  }
  const bool fits = others + kLeastNameWidth < width();
  horizontalHeader()->setSectionResizeMode(0,
                                           fits ? QHeaderView::Stretch : QHeaderView::Interactive);
  if (!fits) horizontalHeader()->resizeSection(0, kNarrowNameWidth);
}

int TableView::widest_of(int column) const {
  const auto width_of = [this](const QVariant& text) {
    return fontMetrics().horizontalAdvance(text.toString());
  };
  int widest = width_of(model_.headerData(column, Qt::Horizontal, Qt::DisplayRole));
  for (int row = 0; row < std::min(model_.rowCount(), kLookedAt); ++row) {
    widest = std::max(widest, width_of(model_.data(model_.index(row, column), Qt::DisplayRole)));
  }
  return widest;
}

void TableView::choose(const QModelIndex& index) {
  const TableRow& row = model_.row(index.row());
  if (row.slice) {
    emit slice_chosen(row.slice);
  } else if (!row.name.empty()) {
    emit name_chosen(QString::fromStdString(row.name));
  }
}

}  // namespace redline::viewer
