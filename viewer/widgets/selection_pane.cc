#include "viewer/widgets/panes.h"

#include <QVBoxLayout>

#include "viewer/models/format.h"

namespace redline::viewer {

SelectionPane::SelectionPane(ViewState& state)
    : Pane(tr("Selection")),
      state_(state),
      length_(new QLabel),
      figures_(new QLabel),
      table_(new TableView(tr("Slices in the selected area"))),
      task_(this) {
  length_->setFont(ui_font(20, QFont::Bold));
  figures_->setProperty("muted", true);
  figures_->setWordWrap(true);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 14, 0, 0);
  column->setSpacing(6);
  column->addWidget(length_);
  column->addWidget(figures_);
  column->addWidget(table_, 1);
  column->addStretch(0);
  for (QLabel* label : {length_, figures_}) label->setContentsMargins(14, 0, 8, 0);
  setFocusProxy(table_);
  connect(&state, &ViewState::area_changed, this, &SelectionPane::summarize);
  connect(&state, &ViewState::area_changed, this, [this] {
    if (!state_.area().empty()) emit wanted();
  });
  connect(table_, &TableView::slice_chosen, &state, &ViewState::go_to);
  summarize();
}

void SelectionPane::summarize() {
  const Area& area = state_.area();
  length_->setVisible(!area.empty());
  table_->setVisible(!area.empty());
  if (area.empty()) {
    task_.cancel();
    table_->show_table({}, 2);
    figures_->setText(
        tr("Shift + drag over the lanes, or R on a selected slice, sums up what lies "
           "there."));
    return;
  }
  length_->setText(QString::fromStdString(format_duration(area.range.span_ns())));
  figures_->setText(tr("Summing up …"));
  task_.start(
      [session = state_.shared_session(), area](const std::atomic<bool>& cancelled) {
        return summarize_area(*session, area, &cancelled);
      },
      [this](const AreaSummary& summary) { show_summary(summary); });
}

void SelectionPane::show_summary(const AreaSummary& summary) {
  const auto text = [](uint64_t count) { return QString::fromStdString(format_count(count)); };
  figures_->setText(tr("from +%1 · %2 slices of %3 names in %4 lanes")
                        .arg(QString::fromStdString(format_duration(state_.area().range.begin_ns)),
                             text(summary.slices), text(summary.table.rows.size()),
                             text(state_.area().lanes.size())));
  table_->show_table(summary.table, 2);
  emit shown();
}

}  // namespace redline::viewer
