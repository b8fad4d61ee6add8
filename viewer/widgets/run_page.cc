#include "viewer/widgets/run_page.h"

#include <QGridLayout>
#include <QScrollArea>
#include <QScrollBar>

#include "viewer/models/format.h"
#include "viewer/widgets/controls.h"

namespace redline::viewer {
namespace {

constexpr int kFindingsWidth = 360;
constexpr int kLeastFindingsWidth = 240;
constexpr int kRanksHeight = 180;
constexpr int kReadAgainMs = 3000;

QString printed(const std::string& words) { return text(typeset(printable(words))); }

QLabel* wrapped_label(const std::string& words, const QFont& font, bool muted = false) {
  QLabel* label = selectable_label(printed(words), font, muted);
  label->setWordWrap(true);
  return label;
}

QWidget* finding_card(const RunFindingText& finding, size_t number) {
  auto* frame = new QFrame;
  frame->setProperty("card", true);
  auto* column = new QVBoxLayout(frame);
  column->setContentsMargins(12, 9, 12, 9);
  column->setSpacing(4);
  column->addWidget(wrapped_label(std::to_string(number) + " · " + finding.headline,
                                  ui_font(12, QFont::DemiBold)));
  if (!finding.cost.empty()) {
    column->addWidget(wrapped_label("at most " + finding.cost, ui_font(11)));
  }
  if (!finding.detail.empty()) {
    column->addWidget(wrapped_label(finding.detail, ui_font(11), true));
  }
  return frame;
}

}  // namespace

RunPage::RunPage(const Theme& theme) : theme_(theme) {
  make_column(this)->addWidget(
      make_splitter(Qt::Horizontal, {make_left(), make_right()}, {1240, kFindingsWidth}));
  setFocusProxy(ranks_);
  again_.setSingleShot(true);
  again_.setInterval(kReadAgainMs);
  connect(&again_, &QTimer::timeout, this, &RunPage::read_again);
  connect(chart_, &RunChartView::window_chosen, this, &RunPage::open_window);
}

QWidget* RunPage::make_left() {
  auto* head = new QWidget;
  auto* words = new QVBoxLayout(head);
  words->setContentsMargins(14, 12, 14, 8);
  words->setSpacing(4);
  rate_ = selectable_label({}, ui_font(24, QFont::Bold));
  subtitle_ = selectable_label({}, ui_font(14, QFont::DemiBold));
  spread_ = selectable_label({}, ui_font(12), true);
  left_out_ = selectable_label({}, ui_font(12), true);
  for (QLabel* label : {rate_, subtitle_, spread_, left_out_}) {
    label->setWordWrap(true);  // however long, they do not widen the page
    words->addWidget(label);
    label->hide();  // without words it has no room, from the first layout on
  }
  chart_ = new RunChartView(theme_);
  hint_ = make_label({}, ui_font(11), true);
  hint_->setContentsMargins(14, 0, 14, 8);
  hint_->setWordWrap(true);
  auto* upper = new QWidget;
  auto* column = make_column(upper);
  column->addWidget(head);
  column->addWidget(chart_, 1);
  column->addWidget(hint_);

  ranks_ = new TableView(tr("Ranks"));
  return make_splitter(Qt::Vertical, {upper, ranks_}, {700, kRanksHeight});
}

QWidget* RunPage::make_right() {
  findings_ = new QScrollArea;
  findings_->setWidgetResizable(true);
  findings_->setMinimumWidth(kLeastFindingsWidth);
  findings_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  findings_->setAccessibleName(tr("What held the job back"));
  return findings_;
}

void RunPage::show_run(WholeRun run) {
  task_.cancel();  // what is read again may be the run that was shown before
  const bool is_same = run.paths == run_.paths;
  const bool has_same_findings = findings_->widget() && run.findings == run_.findings &&
                                 run.nothing_found == run_.nothing_found &&
                                 run.parts.size() == run_.parts.size();
  if (!is_same) opened_ = {};
  run_ = std::move(run);
  for (const auto& [label, words] :
       {std::pair(rate_, run_.rate), std::pair(subtitle_, run_.subtitle),
        std::pair(spread_, run_.spread), std::pair(left_out_, run_.left_out)}) {
    label->setVisible(!words.empty());
    label->setText(printed(words));
  }
  hint_->setText(
      run_.windows.empty()
          ? tr("No window with operators was recorded: redline run --log DIR --every 10m records "
               "some.")
          : tr("A click opens the nearest window. Shift + click compares it with the window that "
               "was "
               "opened last."));
  chart_->show_run(run_);
  is_same ? ranks_->update_table(run_.ranks) : ranks_->show_table(run_.ranks, -1);
  has_same_findings ? show_parts() : show_findings();  // words to copy stay selected
  if (run_.is_running && isVisible()) again_.start();
}

void RunPage::show_findings() {
  auto* content = new WordsColumn;
  auto* column = new QVBoxLayout(content);
  column->setContentsMargins(14, 14, 14, 14);
  column->setSpacing(8);
  const QFont title = ui_font(13, QFont::DemiBold);
  column->addWidget(make_label(tr("What held it back"), title));
  if (run_.findings.empty()) {
    column->addWidget(wrapped_label(run_.nothing_found, ui_font(12), true));
  }
  for (size_t i = 0; i < run_.findings.size(); ++i) {
    column->addWidget(finding_card(run_.findings[i], i + 1));
  }
  column->addSpacing(6);
  column->addWidget(make_label(tr("Where an hour of it goes"), title));
  parts_ = make_parts();
  column->addWidget(parts_);
  column->addStretch(1);
  // While the job runs the words may be replaced every few seconds. They stay where they were read.
  QScrollBar* bar = findings_->verticalScrollBar();
  const int at = bar->value();
  findings_->setWidget(content);
  QMetaObject::invokeMethod(
      bar, [bar, at] { bar->setValue(at); }, Qt::QueuedConnection);
}

QWidget* RunPage::make_parts() {
  auto* parts = new QWidget;
  auto* grid = new QGridLayout(parts);
  grid->setContentsMargins(0, 0, 0, 0);
  grid->setHorizontalSpacing(8);
  grid->setVerticalSpacing(4);
  int row = 0;
  for (const RunPartShare& part : run_.parts) {
    grid->addWidget(make_label(text(part.name), ui_font(12)), row, 0);
    grid->addWidget(new ShareBar(theme_, part.share, part.colour), row, 1);
    grid->addWidget(make_label(tr("%1 min").arg(60 * part.share, 0, 'f', 1), ui_font(12), true),
                    row++, 2, Qt::AlignRight);
  }
  grid->setColumnStretch(1, 1);
  return parts;
}

void RunPage::show_parts() {
  QWidget* fresh = make_parts();
  delete findings_->widget()->layout()->replaceWidget(parts_, fresh);
  delete parts_;
  parts_ = fresh;
}

void RunPage::open_window(size_t index, bool compares) {
  const RunWindow& window = run_.windows[index];
  if (compares && !opened_.path.empty() && opened_.path != window.path) {
    const bool is_earlier = window.time_ns < opened_.time_ns;
    emit comparison_chosen({is_earlier ? window.path : opened_.path},
                           {is_earlier ? opened_.path : window.path});
    return;
  }
  opened_ = window;
  emit traces_chosen({opened_.path});
}

void RunPage::showEvent(QShowEvent*) {
  if (run_.is_running) again_.start();
}

void RunPage::read_again() {
  if (!isVisible()) return;
  task_.start([paths = run_.paths](const std::atomic<bool>&) { return load_run(paths); },
              [this](const tl::expected<WholeRun, std::string>& run) {
                run ? show_run(*run) : again_.start();
              });
}

}  // namespace redline::viewer
