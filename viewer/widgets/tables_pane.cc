#include "viewer/widgets/tables_pane.h"

#include <QResizeEvent>
#include <QVBoxLayout>
#include <algorithm>

#include "viewer/models/collectives_table.h"
#include "viewer/models/diff_table.h"
#include "viewer/models/format.h"
#include "viewer/models/gaps.h"
#include "viewer/models/modules.h"
#include "viewer/models/step_scope.h"
#include "viewer/models/tree_table.h"
#include "viewer/widgets/controls.h"
#include "viewer/widgets/flame_pane.h"
#include "viewer/widgets/panes.h"
#include "viewer/widgets/roofline_view.h"
#include "viewer/widgets/step_bars.h"
#include "viewer/widgets/step_scope_button.h"
#include "viewer/widgets/table_header.h"

namespace redline::viewer {
namespace {

using RowTest = std::function<bool(const TableRow& row)>;

/// A table and its tab. A new table needs its rows in ReportTables and a line here.
struct ReportTable {
  const char* title;
  Table ReportTables::*rows;
  int sort_column;            ///< -1: as the rows come
  bool is_of_a_step = false;  ///< a chosen step scopes it
  bool is_of_all = false;     ///< it counts ranks that are not loaded, too
  /// Which row is about a slice; null: no table of slices.
  RowTest (*row_of)(const Session& session, const AnalysedSession& analysed,
                    SliceRef slice) = nullptr;
};

RowTest row_named(const Session& session, const AnalysedSession& /*analysed*/, SliceRef slice) {
  return [name = std::string(session.name_of(slice))](const TableRow& row) {
    return row.name == name;
  };
}

RowTest row_of_collective(const Session& session, const AnalysedSession& analysed, SliceRef slice) {
  return row_of_call(session, *analysed.report, slice);
}

constexpr int kFilterWidth = 160;

QLabel* make_notes() {
  QLabel* notes = selectable_label({}, ui_font(12));
  notes->setWordWrap(true);
  notes->setContentsMargins(TableHeader::kLeft, 6, TableHeader::kRight, 4);
  return notes;
}

void show_notes(QLabel& label, const std::vector<std::string>& notes) {
  QStringList texts;
  for (const std::string& note : notes) texts << printable_text(note);
  label.setText(texts.join(QStringLiteral(" · ")));
}

/// A page with a table below other widgets, each with its stretch.
QWidget* page_with(std::initializer_list<std::pair<QWidget*, int>> above, TableView* table) {
  auto* page = new QWidget;
  auto* column = make_column(page);
  for (const auto& [widget, stretch] : above) column->addWidget(widget, stretch);
  column->addWidget(table, 1);
  page->setFocusProxy(table);
  return page;
}

constexpr const char* kGaps = "Gaps";
constexpr const char* kHang = "Hang";
constexpr const char* kSteps = "Steps";
constexpr const char* kRoofline = "Roofline";
constexpr const char* kModules = "Modules";
using R = ReportTables;
constexpr ReportTable kReportTables[] = {
    {"Call tree", &R::tree, -1},
    {"Kernels", &R::kernels, 2, true, true, row_named},
    {"Operators", &R::operators, 2, true, true, row_named},
    {"Collectives", &R::collectives, 7, true, false, row_of_collective},
    {kSteps, &R::steps, -1},
    {"Ranks", &R::ranks, -1, false, true},
    {kHang, &R::hang, -1, false, true},
    {kGaps, &R::gaps, -1},
    {"Memory", &R::memory, -1, true},
    {kModules, &R::modules, -1, false, true},
    {kRoofline, &R::roofline, -1, false, true},
    {"Copies", &R::copies, 3, false, true},
    {"Path", &R::path, -1},
};

}  // namespace

TablesPane::TablesPane(ViewState& state)
    : state_(state), filter_(make_filter()), find_(new FindPane(state)) {
  setDocumentMode(true);
  setAccessibleName(tr("Tables under the timeline"));
  compare_page_ = make_compare_page();
  addTab(compare_page_, tr("Compare"));
  for (const ReportTable& table : kReportTables) {
    tables_.push_back(make_table(tr(table.title)));
    if (table.row_of) {
      // The lanes mark what is searched for: so the row's other calls are seen, too.
      connect(tables_.back(), &TableView::slice_chosen, this, [this](SliceRef call) {
        state_.find_whole(text(std::string(state_.session().name_of(call))));
      });
    }
    if (table.title == kHang) tables_.back()->stretch_last_column();  // the open frames
    if (table.title == kGaps) gaps_ = tables_.back();
    if (table.title == kSteps) steps_ = tables_.back();
    if (table.title == kRoofline) roofline_ = tables_.back();
    if (table.title == kModules) modules_ = tables_.back();
    table_pages_.push_back(tables_.back() == steps_      ? make_steps_page()
                           : tables_.back() == roofline_ ? make_roofline_page()
                           : tables_.back() == modules_  ? make_modules_page()
                                                         : tables_.back());
    addTab(table_pages_.back(), tr(table.title));
  }
  addTab(find_, tr("Find"));
  // In a box, because the tab widget draws a line where a hidden corner would be.
  auto* box = new QWidget;
  box->setFixedSize(kFilterWidth, filter_->sizeHint().height());
  auto* corner = new QWidget;
  auto* row = new QHBoxLayout(corner);
  for (QHBoxLayout* each : {row, new QHBoxLayout(box)}) each->setContentsMargins(0, 0, 0, 0);
  box->layout()->addWidget(filter_);
  ranks_note_ = new QLabel;
  ranks_note_->setProperty("muted", true);
  ranks_note_->setFont(ui_font(11));
  ranks_note_->setToolTip(tr("Ranks that are not loaded do not count here: unfold them"));
  ranks_note_->hide();
  row->addWidget(ranks_note_);
  row->addWidget(new StepScopeButton(state));
  row->addWidget(box);
  setCornerWidget(corner);
  connect(this, &QTabWidget::currentChanged, this, &TablesPane::show_filter);
  connect(this, &QTabWidget::currentChanged, this, &TablesPane::mark_row);
  connect(&state, &ViewState::selection_changed, this, &TablesPane::mark_row);
  connect(&state, &ViewState::session_changed, this, [this] {
    for (TableView* view : findChildren<TableView*>()) view->set_filter({});
    show_filter();
  });
  connect(&state, &ViewState::ranks_changed, this, &TablesPane::show_filter);
  connect(steps_, &TableView::time_chosen, this, &TablesPane::choose_step);
  connect(step_bars_, &StepBars::step_chosen, &state, &ViewState::go_to_time);
  connect(step_bars_, &StepBars::step_chosen, this, [this](TimeRef step) {
    steps_->select_row([step](const TableRow& row) { return row.time == step; });
    choose_step(step);
  });
  connect(&state, &ViewState::step_changed, this, &TablesPane::show_scope);
  connect(&state, &ViewState::gaps_wanted, this, &TablesPane::show_gaps);
  connect(&state, &ViewState::gap_chosen, this, &TablesPane::show_gap);
}

TableView* TablesPane::make_table(const QString& title) {
  auto* view = new TableView(title);
  connect(view, &TableView::name_chosen, this, &TablesPane::name_chosen);
  connect(view, &TableView::slice_chosen, &state_, &ViewState::go_to);
  connect(view, &TableView::time_chosen, &state_, &ViewState::go_to_time);
  return view;
}

QWidget* TablesPane::make_compare_page() {
  compare_notes_ = make_notes();
  compare_ = make_table(tr("Compare"));
  return page_with({{compare_notes_, 0}}, compare_);
}

QWidget* TablesPane::make_modules_page() {
  modules_notes_ = make_notes();
  icicle_ = new FlameView(state_, tr("Modules by time"));
  return page_with({{modules_notes_, 0}, {in_scroll_area(*icicle_), 1}}, modules_);
}

QLineEdit* TablesPane::make_filter() {
  auto* filter = new Field;
  filter->setProperty("quiet", true);
  filter->setPlaceholderText(tr("Filter rows"));
  filter->setAccessibleName(tr("Filter rows"));
  filter->setClearButtonEnabled(true);
  filter->setFont(ui_font(11));
  connect(filter, &QLineEdit::textEdited, this, [this](const QString& words) {
    if (TableView* view = current_view()) view->set_filter(words.trimmed().toStdString());
  });
  connect(filter, &QLineEdit::textChanged, this, [this](const QString& words) {
    TableView* view = words.isEmpty() ? current_view() : nullptr;  // cleared by its button
    if (view) view->set_filter({});
  });
  return filter;
}

QWidget* TablesPane::make_steps_page() {
  step_bars_ = new StepBars(state_);
  return page_with({{step_bars_, 0}}, steps_);
}

QWidget* TablesPane::make_roofline_page() {
  roofline_view_ = new RooflineView(state_);
  connect(roofline_view_, &RooflineView::row_chosen, this, [this](size_t row) {
    const auto& rows = analysed_.tables->roofline.rows;
    if (row >= rows.size()) return;
    // Operators of different types may have the same name and sizes.
    const TableRow& chosen = rows[row];
    roofline_->select_row([&chosen](const TableRow& each) {
      return each.name == chosen.name && each.slice == chosen.slice;
    });
  });
  return page_with({{roofline_view_, 0}}, roofline_);
}

void TablesPane::choose_step(TimeRef step) {
  const auto& bars = analysed_.step_bars;
  const auto bar = std::ranges::find(bars, step, &StepBar::time);
  if (bar != bars.end()) state_.choose_step(ChosenStep{step, bar->name});
}

void TablesPane::lay_out_corner() {
  QResizeEvent same(size(), size());
  resizeEvent(&same);
}

void TablesPane::show_scope() {
  lay_out_corner();
  task_.cancel();
  const auto show = [this](const ReportTables& all) {
    for (size_t i = 0; i < tables_.size(); ++i) {
      const ReportTable& table = kReportTables[i];
      if (table.is_of_a_step) tables_[i]->show_table(all.*table.rows, table.sort_column);
    }
  };
  const auto& step = state_.chosen_step();
  if (!step) return show(*analysed_.tables);
  task_.start(
      [session = state_.shared_session(), report = analysed_.report, origins = analysed_.origins,
       time = step->time](const std::atomic<bool>&) {
        return tables_of_step(*session, *report, *origins, time);
      },
      show);
}

// The row goes along with the slice that is selected in the lanes.
void TablesPane::mark_row() {
  const SliceRef slice = state_.selection();
  TableView* view = current_view();
  const auto at = std::ranges::find(tables_, view);
  if (!slice || !view || at == tables_.end()) return;
  const ReportTable& table = kReportTables[at - tables_.begin()];
  if (table.row_of) view->select_row(table.row_of(state_.session(), analysed_, slice));
}

void TablesPane::wait() {
  find_->wait();
  task_.wait();
}

void TablesPane::show_filter() {
  const TableView* view = current_view();
  filter_->setVisible(view);
  show_ranks_note(view);
  const QSignalBlocker blocker(filter_);
  filter_->setText(view ? text(view->filter()) : QString());
}

void TablesPane::show_ranks_note(const TableView* view) {
  const Session& session = state_.session();
  const auto at = std::ranges::find(tables_, view);
  const bool is_of_all = at != tables_.end() && kReportTables[at - tables_.begin()].is_of_all;
  ranks_note_->setText(
      tr("%1 of %2 ranks").arg(session.loaded_count()).arg(session.traces().size()));
  ranks_note_->setVisible(session.is_partial() && !is_of_all);
  lay_out_corner();
}

void TablesPane::show_gaps(const QString& gpu) {
  if (!isTabVisible(indexOf(gaps_))) return;
  gaps_->set_filter(gpu.toStdString());
  setCurrentWidget(gaps_);
  show_filter();
}

void TablesPane::show_gap(TimeRef gap) {
  show_gaps({});
  const auto is_it = [gap](const TableRow& row) { return row.time == gap; };
  if (std::ranges::none_of(analysed_.tables->gaps.rows, is_it)) {
    if (auto row = gap_row(state_.session(), *analysed_.report, *analysed_.derived, gap)) {
      Table gaps = analysed_.tables->gaps;
      gaps.rows.push_back(std::move(*row));
      gaps_->show_table(std::move(gaps), -1);
    }
  }
  gaps_->select_row(is_it);
}

TableView* TablesPane::current_view() const {
  if (currentWidget() == compare_page_) return compare_;
  const auto page = std::ranges::find(table_pages_, currentWidget());
  if (page == table_pages_.end()) return nullptr;
  return tables_[static_cast<size_t>(page - table_pages_.begin())];
}

void TablesPane::fill(TableView& view, QWidget& page, Table table, int sort_column) {
  setTabVisible(indexOf(&page), !table.rows.empty());
  view.show_table(std::move(table), sort_column);
}

void TablesPane::show_report(const AnalysedSession& analysed) {
  const bool has_more_ranks =
      analysed.pass.summaries && analysed.pass.summaries == analysed_.pass.summaries;
  analysed_ = analysed;
  task_.cancel();
  if (!has_more_ranks) state_.choose_step(std::nullopt);
  step_bars_->show_bars(analysed.step_bars);
  roofline_view_->show_picture(analysed.roofline);
  fill(*compare_, *compare_page_, analysed.tables->compare, -1);
  for (size_t i = 0; i < tables_.size(); ++i) {
    const ReportTable& table = kReportTables[i];
    fill(*tables_[i], *table_pages_[i], *analysed.tables.*table.rows, table.sort_column);
  }
  if (state_.chosen_step()) show_scope();
  show_modules();
  show_filter();
  // Who searched before the figures were there stays with what was found.
  const bool shows_hits = currentWidget() == find_ && !state_.search().text().empty();
  if (has_more_ranks || shows_hits) return;
  if (analysed.diff) return show_diff();
  // Shows the kernels first or, if the recording has none, the operators. Of one run there is no
  // call tree.
  const auto end = tables_.begin() + 3;
  const auto first = std::find_if(
      tables_.begin(), end, [](const TableView* view) { return !view->table().rows.empty(); });
  setCurrentWidget(first == end ? static_cast<QWidget*>(find_) : *first);
}

void TablesPane::show_diff() {
  std::vector<std::string> notes = diff_notes(*analysed_.diff);
  notes.push_back(tree_note(*analysed_.tree));
  show_notes(*compare_notes_, notes);
  setCurrentWidget(compare_page_);
}

void TablesPane::show_modules() {
  icicle_->show_flame(analysed_.modules);
  show_notes(*modules_notes_, module_words(*analysed_.report));
}

RowsView* TablesPane::current_rows() const {
  TableView* view = current_view();
  return view ? static_cast<RowsView*>(view) : &find_->table();
}

Table TablesPane::current_table() const {
  if (const TableView* view = current_view()) return view->table();
  const auto* pane = qobject_cast<const Pane*>(currentWidget());
  return pane ? pane->exported() : find_->first_rows();
}

size_t TablesPane::rows_left_out() const {
  return currentWidget() == find_ ? find_->rows_beyond() : 0;
}

}  // namespace redline::viewer
