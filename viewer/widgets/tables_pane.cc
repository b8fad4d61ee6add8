#include "viewer/widgets/tables_pane.h"

#include <QHeaderView>
#include <QSortFilterProxyModel>
#include <QTableView>

namespace redline::viewer {
namespace {

constexpr int kTitleMargin = 34;  // the padding and the sort mark

}  // namespace

TablesPane::TablesPane(QWidget* parent) : QTabWidget(parent) {
  setDocumentMode(true);
  add_table(kernels_, tr("Kernels"));
  operator_view_ = add_table(operators_, tr("Operators"));
}

QTableView* TablesPane::add_table(NameTable& table, const QString& title) {
  auto* sorted = new QSortFilterProxyModel(this);
  sorted->setSourceModel(&table);
  sorted->setSortRole(NameTable::kSortRole);
  auto* view = new QTableView;
  view->setModel(sorted);
  view->setAccessibleName(title);
  view->setShowGrid(false);
  view->setSortingEnabled(true);
  view->sortByColumn(NameTable::kShare, Qt::DescendingOrder);
  view->setSelectionBehavior(QAbstractItemView::SelectRows);
  view->setSelectionMode(QAbstractItemView::SingleSelection);
  view->setTextElideMode(Qt::ElideRight);
  view->setWordWrap(false);
  view->verticalHeader()->hide();
  view->verticalHeader()->setDefaultSectionSize(20);
  view->verticalHeader()->setMinimumSectionSize(20);
  QHeaderView* header = view->horizontalHeader();
  header->setHighlightSections(false);
  header->setDefaultSectionSize(90);
  header->setMinimumSectionSize(60);
  header->setSectionResizeMode(NameTable::kName, QHeaderView::Stretch);
  for (int c = 0; c < NameTable::kColumnCount; ++c) {
    view->setColumnHidden(c, !table.has_column(static_cast<NameTable::Column>(c)));
    const int title = view->fontMetrics().horizontalAdvance(
        table.headerData(c, Qt::Horizontal, Qt::DisplayRole).toString());
    header->resizeSection(c, std::max(header->defaultSectionSize(), title + kTitleMargin));
  }
  connect(view, &QTableView::activated, this, [this, sorted, &table](const QModelIndex& index) {
    emit name_chosen(QString::fromStdString(table.row(sorted->mapToSource(index).row()).name));
  });
  connect(view, &QTableView::clicked, view, &QTableView::activated);
  addTab(view, title);
  return view;
}

void TablesPane::show_report(const trace::Report& report) {
  kernels_.set_report(report);
  operators_.set_report(report);
  operator_view_->setColumnHidden(NameTable::kDevice, kernels_.rowCount() == 0);
  // A recording without a GPU has no kernels: begin with what there is.
  setTabVisible(0, kernels_.rowCount() > 0);
  setCurrentIndex(kernels_.rowCount() > 0 ? 0 : 1);
}

}  // namespace redline::viewer
