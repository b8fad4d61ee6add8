#include "viewer/widgets/tables_pane.h"

#include <algorithm>

#include "viewer/models/report_tables.h"

namespace redline::viewer {
namespace {

using trace::Report;

/// A table of the report and its tab. A new table needs its rows in report_tables.h and a line
/// here.
struct ReportTable {
  const char* title;
  Table (*rows)(const Session& session, const Report& report);
  int sort_column;  ///< -1: as the rows come
};

constexpr ReportTable kReportTables[] = {
    {"Kernels", [](const Session&, const Report& report) { return kernel_rows(report); }, 2},
    {"Operators", [](const Session&, const Report& report) { return operator_rows(report); }, 2},
    {"Collectives", collective_rows, 6},
    {"Ranks", rank_rows, -1},
    {"Memory", [](const Session&, const Report& report) { return memory_rows(report); }, -1},
};

}  // namespace

TablesPane::TablesPane(ViewState& state, QWidget* parent)
    : QTabWidget(parent), state_(state), find_(new FindPane(state)) {
  setDocumentMode(true);
  setAccessibleName(tr("Tables under the timeline"));
  compare_ = add_table(tr("Compare"));
  for (const ReportTable& table : kReportTables) tables_.push_back(add_table(tr(table.title)));
  insertTab(count() - 1, find_, tr("Find"));
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
  for (size_t i = 0; i < tables_.size(); ++i) {
    const ReportTable& table = kReportTables[i];
    fill(*tables_[i], table.rows(state_.session(), report), table.sort_column);
  }
  // Shows the kernels first or, if the recording has none, the operators.
  const auto end = tables_.begin() + 2;
  const auto first = std::find_if(
      tables_.begin(), end, [](const TableView* view) { return !view->table().rows.empty(); });
  setCurrentWidget(first == end ? static_cast<QWidget*>(find_) : *first);
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
