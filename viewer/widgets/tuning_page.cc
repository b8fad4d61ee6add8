#include "viewer/widgets/tuning_page.h"

#include <QFileInfo>
#include <QFontDatabase>
#include <QGridLayout>
#include <QHBoxLayout>

#include "viewer/models/format.h"
#include "viewer/widgets/controls.h"

namespace redline::viewer {
namespace {

constexpr int kRightWidth = 360;
constexpr int kTrialsHeight = 260;
// Waits for the file to settle, because a commit writes several times.
constexpr int kSettleMs = 200;

}  // namespace

TuningPage::TuningPage(const Theme& theme) : theme_(theme) {
  make_column(this)->addWidget(
      make_splitter(Qt::Horizontal, {make_left(), make_right()}, {1240, kRightWidth}));
  setFocusProxy(trials_);
  changed_.setSingleShot(true);
  changed_.setInterval(kSettleMs);
  connect(&files_, &QFileSystemWatcher::fileChanged, &changed_, qOverload<>(&QTimer::start));
  connect(&files_, &QFileSystemWatcher::directoryChanged, this, [this] {
    if (files_.files() != existing_files()) changed_.start();
  });
  connect(&changed_, &QTimer::timeout, this, &TuningPage::read_again);
  connect(filter_, &QLineEdit::textChanged, this, &TuningPage::filter_trials);
  connect(trials_, &TableView::name_chosen, this,
          [this](const QString& name) { choose_trial(name.toLongLong()); });
  connect(trials_, &QTableView::doubleClicked, this, &TuningPage::open_trace);
  connect(open_, &QPushButton::clicked, this, &TuningPage::open_trace);
  connect(compare_, &QPushButton::clicked, this, &TuningPage::compare_with_default);
  for (ChartView* chart : {batches_, convergence_}) {
    connect(chart, &ChartView::point_chosen, this, &TuningPage::choose_trial);
  }
}

QWidget* TuningPage::make_head() {
  auto* head = new QWidget;
  auto* column = new QVBoxLayout(head);
  column->setContentsMargins(14, 12, 14, 8);
  column->setSpacing(4);
  rate_ = selectable_label({}, ui_font(24, QFont::Bold));
  spread_ = selectable_label({}, ui_font(12), true);
  verdict_ = selectable_label({}, ui_font(14, QFont::DemiBold));
  knobs_ = selectable_label({}, ui_font(12));
  notes_ = selectable_label({}, ui_font(12));
  command_ = selectable_label({}, QFontDatabase::systemFont(QFontDatabase::FixedFont), true);
  figures_ = selectable_label({}, ui_font(12), true);
  column->addWidget(rate_);
  for (QLabel* label : {verdict_, spread_, knobs_, notes_, command_, figures_}) {
    // However long, they do not widen the page.
    label->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    column->addWidget(label);
    label->hide();  // without words it has no room, from the first layout on
  }
  return head;
}

QWidget* TuningPage::make_left() {
  batches_ = new ChartView(theme_);
  convergence_ = new ChartView(theme_);
  auto* charts = new QWidget;
  auto* row = new QHBoxLayout(charts);
  row->setContentsMargins(0, 4, 0, 0);
  row->setSpacing(0);
  row->addWidget(batches_, 1);
  row->addWidget(convergence_, 1);

  filter_ = new Field;
  filter_->setProperty("quiet", true);
  filter_->setFixedHeight(28);
  filter_->setClearButtonEnabled(true);
  filter_->setPlaceholderText(tr("Filter trials"));
  filter_->setAccessibleName(tr("Filter trials"));
  trials_ = new TableView(tr("Trials"));
  trials_->stretch_last_column();
  auto* table = new QWidget;
  auto* column = make_column(table);
  column->addWidget(filter_);
  column->addWidget(trials_, 1);

  return make_splitter(Qt::Vertical, {make_head(), charts, table}, {100, 400, kTrialsHeight}, 1);
}

QWidget* TuningPage::make_right() {
  auto* right = new QWidget;
  right_ = new QVBoxLayout(right);
  right_->setContentsMargins(14, 14, 14, 14);
  right_->setSpacing(8);
  auto* title = selectable_label(tr("What mattered"), ui_font(13, QFont::DemiBold));
  shares_ = new QWidget;
  auto* trial = selectable_label(tr("Trial"), ui_font(13, QFont::DemiBold));
  details_ = new QPlainTextEdit;
  details_->setReadOnly(true);
  details_->setFrameShape(QFrame::NoFrame);
  details_->setAccessibleName(tr("The chosen trial"));
  details_->setFont(ui_font(12));
  open_ = make_link(tr("Open its trace"));
  compare_ = make_link(tr("Compare with the default"));
  auto* buttons = new QHBoxLayout;
  buttons->setSpacing(16);
  buttons->addWidget(open_);
  buttons->addWidget(compare_);
  buttons->addStretch(1);
  right_->addWidget(title);
  right_->addWidget(shares_);
  right_->addSpacing(8);
  right_->addWidget(trial);
  right_->addWidget(details_, 1);
  right_->addLayout(buttons);
  return right;
}

void TuningPage::show_tuning(Tuning tuning) {
  task_.cancel();  // what is read again may be the study that was shown before
  const bool is_same = tuning.path == tuning_.path;
  tuning_ = std::move(tuning);
  show_head();
  show_shares();
  batches_->show_chart(tuning_.batches);
  // A search that tries no batch sizes will never have any.
  batches_->setVisible(!tuning_.batches.empty() || tuning_.convergence.empty());
  convergence_->show_chart(tuning_.convergence);
  if (!is_same) filter_->clear();
  is_same ? trials_->update_table(tuning_.trials) : trials_->show_table(tuning_.trials, -1);
  const bool is_still_there = is_same && tuning_.find(chosen_);
  is_still_there ? show_trial(chosen_) : choose_trial(tuning_.best_trial);
  watch_files();
}

// The database and the file beside it, to which SQLite writes new trials first.
QStringList TuningPage::existing_files() const {
  const QString path = text(tuning_.path);
  QStringList files{path, path + QStringLiteral("-wal")};
  files.removeIf([](const QString& file) { return !QFile::exists(file); });
  return files;
}

// Watches their folder, too: the second file comes with a search that goes on, and goes with its
// end.
void TuningPage::watch_files() {
  if (const QStringList old = files_.files() + files_.directories(); !old.isEmpty()) {
    files_.removePaths(old);
  }
  files_.addPaths(existing_files() << QFileInfo(text(tuning_.path)).path());
}

void TuningPage::read_again() {
  task_.start([path = tuning_.path](const std::atomic<bool>&) { return load_tuning(path); },
              [this](const tl::expected<Tuning, std::string>& tuning) {
                tuning ? show_tuning(*tuning) : watch_files();
              });
}

void TuningPage::show_head() {
  rate_->setVisible(!tuning_.rate.empty());
  rate_->setText(printable_text(tuning_.rate));
  for (const auto& [label, words] :
       {std::pair(verdict_, printable_text(tuning_.verdict)),
        std::pair(spread_, printable_text(tuning_.spread)),
        std::pair(knobs_, printable_text(tuning_.knobs)), std::pair(notes_, text(tuning_.notes)),
        std::pair(command_, printable_text(tuning_.command)),
        std::pair(figures_, printable_text(tuning_.figures))}) {
    label->setVisible(!words.isEmpty());
    label->setText(words);
    set_tooltip(*label, words);
  }
}

void TuningPage::show_shares() {
  auto* fresh = new QWidget;
  auto* grid = new QGridLayout(fresh);
  grid->setContentsMargins(0, 0, 0, 0);
  grid->setHorizontalSpacing(8);
  grid->setVerticalSpacing(2);
  int row = 0;
  for (const KnobShare& share : tuning_.knob_shares) {
    auto* percent = selectable_label(text(format_percent(share.at_stake)), ui_font(12), true);
    percent->setToolTip(
        tr("how much slower its worst value is than its best, with all other knobs equal"));
    auto* values = selectable_label(printable_text(share.values), ui_font(11), true);
    values->setWordWrap(true);
    grid->addWidget(selectable_label(printable_text(share.knob), ui_font(12)), row, 0);
    grid->addWidget(new ShareBar(theme_, share.at_stake, SliceClass::kCompute), row, 1);
    grid->addWidget(percent, row++, 2, Qt::AlignRight);
    grid->addWidget(values, row++, 0, 1, 3);
    grid->setRowMinimumHeight(row++, 4);
  }
  if (tuning_.knob_shares.empty()) {
    grid->addWidget(selectable_label(tr("No knob was changed alone."), ui_font(12), true), 0, 0);
  }
  grid->setColumnStretch(1, 1);
  delete right_->replaceWidget(shares_, fresh);
  delete shares_;
  shares_ = fresh;
}

void TuningPage::filter_trials() {
  trials_->set_filter(filter_->text().trimmed().toStdString());
  trials_->select_name(std::to_string(chosen_));
}

void TuningPage::choose_trial(int64_t id) {
  trials_->select_name(std::to_string(id));
  show_trial(id);
}

void TuningPage::show_trial(int64_t id) {
  chosen_ = id;
  batches_->mark(id);
  convergence_->mark(id);
  const TrialDetails* details = tuning_.find(id);
  const QString words = details ? QString::fromUtf8(details->text.c_str())
                                : tr("A click on a point or a row shows its trial.");
  // The same text set anew would lose its scroll and what is selected to copy.
  if (words != details_->toPlainText()) details_->setPlainText(words);
  const bool has_trace = !traces_of(id).empty();
  open_->setVisible(has_trace);
  compare_->setVisible(has_trace && id != tuning_.default_trial &&
                       !traces_of(tuning_.default_trial).empty());
}

std::vector<std::string> TuningPage::traces_of(int64_t trial) const {
  const TrialDetails* details = tuning_.find(trial);
  return details ? details->traces : std::vector<std::string>();
}

void TuningPage::open_trace() {
  const auto traces = traces_of(chosen_);
  if (!traces.empty()) emit traces_chosen(traces);
}

void TuningPage::compare_with_default() {
  emit comparison_chosen(traces_of(tuning_.default_trial), traces_of(chosen_));
}

}  // namespace redline::viewer
