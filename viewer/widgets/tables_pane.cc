#include "viewer/widgets/tables_pane.h"

#include <QHeaderView>
#include <QSortFilterProxyModel>
#include <QTableView>

#include "viewer/models/search.h"

namespace redline::viewer {

TablesPane::TablesPane(ViewState& state, QWidget* parent) : QTabWidget(parent), state_(state) {
  setDocumentMode(true);
  add_table(kernels_, tr("Kernels"));
  add_table(operators_, tr("Operators"));
  connect(&state, &ViewState::session_changed, this, &TablesPane::show_session);
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
  view->sortByColumn(&table == &kernels_ ? NameTable::kTotal : NameTable::kSelf,
                     Qt::DescendingOrder);
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
  // Kernels do not nest: their self time is their time.
  if (&table == &kernels_) view->hideColumn(NameTable::kSelf);
  connect(view, &QTableView::activated, this, [this, sorted, &table](const QModelIndex& index) {
    emit name_chosen(QString::fromStdString(table.row(sorted->mapToSource(index).row()).name));
  });
  connect(view, &QTableView::clicked, view, &QTableView::activated);
  addTab(view, title);
  return view;
}

void TablesPane::show_session() {
  kernels_.set_session(state_.session());
  operators_.set_session(state_.session());
  // A recording without a GPU has no kernels: begin with what there is.
  setTabVisible(0, kernels_.rowCount() > 0);
  setCurrentIndex(kernels_.rowCount() > 0 ? 0 : 1);
}

}  // namespace redline::viewer
