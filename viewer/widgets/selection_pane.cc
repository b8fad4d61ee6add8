#include "viewer/widgets/panes.h"

#include <QVBoxLayout>

#include "viewer/models/format.h"
#include "viewer/widgets/controls.h"
#include "viewer/widgets/step_scope_button.h"

namespace redline::viewer {

SelectionPane::SelectionPane(ViewState& state)
    : Pane(tr("Selection")),
      state_(state),
      length_(new QLabel),
      figures_(new QLabel),
      flame_(make_link(tr("flame graph (G)"))),
      table_(new TableView(tr("Slices in the selected area"))) {
  length_->setFont(ui_font(20, QFont::Bold));
  figures_->setProperty("muted", true);
  figures_->setWordWrap(true);
  connect(flame_, &QPushButton::clicked, &state, &ViewState::flame_wanted);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 14, 0, 0);
  column->setSpacing(6);
  auto* heading = new QHBoxLayout;
  heading->addWidget(length_, 1);
  heading->addWidget(new StepScopeButton(state), 0, Qt::AlignRight);
  column->addLayout(heading);
  column->addWidget(figures_);
  auto* links = new QHBoxLayout;
  links->setContentsMargins(14, 0, 8, 0);
  links->addWidget(flame_);
  links->addStretch(1);
  column->addLayout(links);
  column->addWidget(table_, 1);
  column->addStretch(0);
  for (QLabel* label : {length_, figures_}) label->setContentsMargins(14, 0, 8, 0);
  setFocusProxy(table_);
  connect(&state, &ViewState::area_changed, this, &SelectionPane::summarize);
  connect(&state, &ViewState::step_changed, this, &SelectionPane::summarize);
  connect(&state, &ViewState::ranks_changed, this, &SelectionPane::summarize);
  connect(&state, &ViewState::area_changed, this, [this] {
    if (!state_.area().empty()) emit wanted();
  });
  connect(table_, &TableView::slice_chosen, &state, &ViewState::go_to);
  summarize();
}

void SelectionPane::summarize() {
  const Area area = state_.in_chosen_step(state_.area());
  length_->setVisible(!area.empty());
  flame_->setVisible(!area.empty());
  table_->setVisible(!area.empty());
  if (area.empty()) {
    task_.cancel();
    table_->show_table({}, 2);
    if (!state_.area().empty()) return figures_->setText(tr("Nothing of the area is in the step."));
    figures_->setText(
        tr("Shift + drag over the lanes, or R on a selected slice, sums up what lies "
           "there."));
    return;
  }
  length_->setText(text(format_duration(area.range.span_ns())));
  figures_->setText(tr("Summing up …"));
  task_.start(
      [session = state_.shared_session(), area](const std::atomic<bool>& cancelled) {
        return summarize_area(*session, area, &cancelled);
      },
      [this](const AreaSummary& summary) { show_summary(summary); });
}

void SelectionPane::show_summary(const AreaSummary& summary) {
  const Area area = state_.in_chosen_step(state_.area());
  figures_->setText(tr("from %1 · %2 of %3 in %4")
                        .arg(text(format_time(area.range.begin_ns)),
                             text(format_plural(summary.slices, "slice")),
                             text(format_plural(summary.table.rows.size(), "name")),
                             text(format_plural(area.lanes.size(), "lane"))));
  table_->show_table(summary.table, 2);
  emit shown();
}

}  // namespace redline::viewer
