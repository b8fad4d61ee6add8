#include "viewer/widgets/tables_pane.h"

#include "viewer/models/report_tables.h"

namespace redline::viewer {

TablesPane::TablesPane(ViewState& state, QWidget* parent)
    : QTabWidget(parent), state_(state), find_(new FindPane(state)) {
  setDocumentMode(true);
  setAccessibleName(tr("Tables under the timeline"));
  compare_ = add_table(tr("Compare"));
  kernels_ = add_table(tr("Kernels"));
  operators_ = add_table(tr("Operators"));
  collectives_ = add_table(tr("Collectives"));
  ranks_ = add_table(tr("Ranks"));
  addTab(find_, tr("Find"));
  memory_ = add_table(tr("Memory"));
}

TableView* TablesPane::add_table(const QString& title) {
  auto* view = new TableView(title);
  connect(view, &TableView::name_chosen, this, &TablesPane::name_chosen);
  connect(view, &TableView::slice_chosen, &state_, &ViewState::go_to);
  addTab(view, title);
  return view;
}

void TablesPane::fill(TableView& view, Table table, int sort_column) {
  setTabVisible(indexOf(&view), !table.rows.empty());
  view.show_table(std::move(table), sort_column);
}

void TablesPane::show_report(const trace::Report& report) {
  fill(*compare_, {}, -1);
  fill(*kernels_, kernel_rows(report), 2);
  fill(*operators_, operator_rows(report), 2);
  fill(*collectives_, collective_rows(state_.session(), report), 6);
  fill(*ranks_, rank_rows(state_.session(), report), -1);
  fill(*memory_, memory_rows(report), -1);
  // A recording without a GPU has no kernels: begin with what there is.
  if (!kernels_->table().rows.empty()) {
    setCurrentWidget(kernels_);
  } else if (!operators_->table().rows.empty()) {
    setCurrentWidget(operators_);
  } else {
    setCurrentWidget(find_);
  }
}

void TablesPane::show_diff(const trace::Diff& diff) {
  fill(*compare_, diff_rows(diff), -1);
  setCurrentWidget(compare_);
}

Table TablesPane::current_table() const {
  if (currentWidget() == find_) return find_->first_rows();
  return static_cast<const TableView*>(currentWidget())->table();
}

size_t TablesPane::rows_left_out() const {
  return currentWidget() == find_ ? find_->rows_beyond() : 0;
}

}  // namespace redline::viewer
