#include "viewer/widgets/main_window.h"

#include <QDragEnterEvent>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QMimeData>
#include <QPushButton>
#include <QShortcut>
#include <QSplitter>
#include <QTabWidget>
#include <QVBoxLayout>

#include "viewer/models/format.h"
#include "viewer/widgets/details_pane.h"
#include "viewer/widgets/help_dialog.h"
#include "viewer/widgets/overview_pane.h"
#include "viewer/widgets/tables_pane.h"

namespace redline::viewer {
namespace {

constexpr int kPaneWidth = 360;
constexpr int kTablesHeight = 220;

QString text(const std::string& value) { return QString::fromStdString(value); }

QLabel* muted_label() {
  auto* label = new QLabel;
  label->setProperty("muted", true);
  label->setTextFormat(Qt::PlainText);
  return label;
}

QFrame* separator(const Theme& theme) {
  auto* line = new QFrame;
  line->setFixedHeight(1);
  line->setStyleSheet(QStringLiteral("background: %1;").arg(theme.separator.name()));
  return line;
}

}  // namespace

MainWindow::MainWindow(const Theme& theme) : state_(theme) {
  setWindowTitle(tr("Redline"));
  setStyleSheet(theme.style_sheet());
  setAcceptDrops(true);

  pages_ = new QStackedWidget;
  pages_->addWidget(make_message_page());
  pages_->addWidget(make_work_area());
  auto* all = new QWidget;
  auto* column = new QVBoxLayout(all);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(make_top_bar());
  column->addWidget(separator(theme));
  column->addWidget(pages_, 1);
  column->addWidget(separator(theme));
  column->addWidget(make_status_bar());
  setCentralWidget(all);
  connect_state();
  show_message(tr("Open a trace, or drop files or a folder of ranks here."), false);
}

QWidget* MainWindow::make_top_bar() {
  auto* bar = new QWidget;
  bar->setFixedHeight(40);
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(16, 0, 12, 0);
  row->setSpacing(4);
  auto* product = new QLabel(tr("Redline"));
  product->setFont(ui_font(14, QFont::Bold));
  name_ = muted_label();
  search_ = new SearchField(state_);
  auto* open = new QPushButton(tr("Open"));
  auto* help = new QPushButton(tr("?"));
  help->setToolTip(tr("Keys"));
  row->addWidget(product);
  row->addSpacing(14);
  row->addWidget(name_, 1);
  row->addWidget(search_);
  row->addStretch(1);
  row->addWidget(open);
  row->addWidget(help);
  connect(open, &QPushButton::clicked, this, &MainWindow::choose_files);
  connect(help, &QPushButton::clicked, this, [this] { HelpDialog(this).exec(); });
  connect(search_, &SearchField::left, this, [this] { timeline_->lanes().setFocus(); });
  return bar;
}

QWidget* MainWindow::make_message_page() {
  auto* page = new QWidget;
  auto* column = new QVBoxLayout(page);
  message_ = new QLabel;
  message_->setTextFormat(Qt::PlainText);
  message_->setWordWrap(true);
  message_->setAlignment(Qt::AlignCenter);
  message_->setFont(ui_font(14));
  progress_ = new QProgressBar;
  progress_->setRange(0, 1000);
  auto* cancel = new QPushButton(tr("Cancel"));
  connect(cancel, &QPushButton::clicked, this, &MainWindow::cancel_load);
  loading_controls_ = new QWidget;
  loading_controls_->setFixedWidth(420);
  auto* controls = new QHBoxLayout(loading_controls_);
  controls->addWidget(progress_, 1);
  controls->addWidget(cancel);
  column->addStretch(1);
  column->addWidget(message_);
  column->addWidget(loading_controls_, 0, Qt::AlignCenter);
  column->addStretch(1);
  return page;
}

QWidget* MainWindow::make_work_area() {
  timeline_ = new Timeline(state_);
  tables_ = new TablesPane;
  auto* left = new QSplitter(Qt::Vertical);
  left->setHandleWidth(1);
  left->addWidget(timeline_);
  left->addWidget(tables_);
  left->setStretchFactor(0, 1);
  left->setSizes({800, kTablesHeight});

  panes_ = new QTabWidget;
  panes_->setDocumentMode(true);
  overview_ = new OverviewPane(state_.theme());
  details_ = new DetailsPane(state_);
  panes_->addTab(overview_, tr("Overview"));
  panes_->addTab(details_, tr("Details"));
  auto* area = new QSplitter(Qt::Horizontal);
  area->setHandleWidth(1);
  area->addWidget(left);
  area->addWidget(panes_);
  area->setStretchFactor(0, 1);
  area->setSizes({1240, kPaneWidth});
  connect(tables_, &TablesPane::name_chosen, this, &MainWindow::choose_name);
  return area;
}

QWidget* MainWindow::make_status_bar() {
  auto* bar = new QWidget;
  bar->setFixedHeight(24);
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(16, 0, 16, 0);
  row->setSpacing(24);
  loaded_text_ = muted_label();
  selection_text_ = muted_label();
  range_text_ = muted_label();
  for (QLabel* label : {loaded_text_, selection_text_, range_text_}) label->setFont(ui_font(11));
  // A long name must not widen the window.
  selection_text_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  selection_text_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  row->addWidget(loaded_text_);
  row->addWidget(selection_text_, 1);
  row->addWidget(range_text_);
  return bar;
}

void MainWindow::connect_state() {
  connect(&loader_, &Loader::progress, this, &MainWindow::show_progress);
  connect(&loader_, &Loader::loaded, this, &MainWindow::show_session);
  connect(&loader_, &Loader::analysed, this, &MainWindow::show_analysis);
  connect(&loader_, &Loader::failed, this, &MainWindow::show_error);
  connect(&state_, &ViewState::axis_changed, this, &MainWindow::update_status);
  connect(&state_, &ViewState::selection_changed, this, &MainWindow::update_selection_status);
  connect(&state_, &ViewState::selection_changed, this, [this] {
    if (state_.selection()) panes_->setCurrentWidget(details_);
  });
  const auto focus_search = [this] {
    search_->setFocus();
    search_->selectAll();
  };
  connect(new QShortcut(QKeySequence::Find, this), &QShortcut::activated, this, focus_search);
  connect(new QShortcut(QKeySequence(Qt::Key_Slash), this), &QShortcut::activated, this,
          focus_search);
  connect(new QShortcut(QKeySequence::Open, this), &QShortcut::activated, this,
          &MainWindow::choose_files);
  connect(new QShortcut(QKeySequence(Qt::Key_Question), this), &QShortcut::activated, this,
          [this] { HelpDialog(this).exec(); });
}

void MainWindow::open(const std::vector<std::string>& paths) {
  show_message(paths.size() == 1 ? tr("Reading %1 …").arg(text(paths.front()))
                                 : tr("Reading %1 files …").arg(paths.size()),
               true);
  loader_.start(paths);
}

void MainWindow::choose_files() {
  const QStringList files = QFileDialog::getOpenFileNames(
      this, tr("Open traces"), {}, tr("Traces (*.json *.gz *.zst *.partial);;All files (*)"));
  std::vector<std::string> paths;
  for (const QString& file : files) paths.push_back(file.toStdString());
  if (!paths.empty()) open(paths);
}

void MainWindow::cancel_load() {
  loader_.cancel();
  show_message(tr("Cancelled. Open a trace, or drop files or a folder of ranks here."), false);
}

void MainWindow::show_message(const QString& message, bool loading) {
  message_->setText(message);
  progress_->setValue(0);
  progress_->setFormat({});
  loading_controls_->setVisible(loading);
  pages_->setCurrentIndex(0);
}

void MainWindow::show_progress(quint64 done, quint64 total) {
  if (total == 0) return;
  progress_->setValue(
      static_cast<int>(1000.0 * static_cast<double>(done) / static_cast<double>(total)));
  progress_->setFormat(tr("%1 of %2").arg(text(format_bytes(done)), text(format_bytes(total))));
}

void MainWindow::show_error(const QString& sentence) {
  name_->clear();
  loaded_text_->clear();
  show_message(sentence, false);
  emit failed(sentence);
}

void MainWindow::show_session(const LoadedSession& loaded_session) {
  const Session& session = *loaded_session.session;
  name_->setText(text(printable(session.name())));
  setWindowTitle(tr("%1 · Redline").arg(name_->text()));
  QStringList parts{tr("%1 events").arg(text(format_count(session.event_count())))};
  parts << tr("loaded in %1 s").arg(loaded_session.seconds, 0, 'f', 2);
  const uint64_t lost = session.lost_count();
  const uint64_t repaired = session.repaired_count();
  if (lost > 0) parts << tr("%1 skipped").arg(text(format_count(lost)));
  if (repaired > 0) parts << tr("%1 repaired").arg(text(format_count(repaired)));
  if (lost + repaired == 0) parts << tr("nothing skipped");
  if (session.aligned_at_start()) parts << tr("recorded at different times: aligned at the start");
  loaded_text_->setText(parts.join(QStringLiteral(" · ")));
  QStringList issues;
  for (const SessionTrace& item : session.traces()) {
    for (const trace::LoadIssue& issue : item.trace->issues()) {
      issues << tr("%1: %2 × %3, first at byte %4")
                    .arg(text(item.title), text(format_count(issue.count)), text(issue.name),
                         text(format_count(issue.first_offset)));
    }
  }
  loaded_text_->setToolTip(issues.join(QLatin1Char('\n')));
  overview_->show_note(tr("Summing up …"));
  tables_->show_report({});
  panes_->setCurrentWidget(overview_);
  pages_->setCurrentIndex(1);
  // The layout decides the width of the lanes, and that decides what is legible.
  if (layout()) layout()->activate();
  state_.open(loaded_session.session);
  timeline_->lanes().setFocus();
  emit loaded();
}

void MainWindow::show_analysis(const AnalysedSession& analysed) {
  overview_->show_summary(summarize(*analysed.report));
  tables_->show_report(*analysed.report);
  state_.add(analysed.derived);
}

void MainWindow::choose_name(const QString& name) {
  state_.find(name);
  state_.go_to(longest_named(state_.session(), name.toStdString()));
}

void MainWindow::update_status() {
  range_text_->setText(tr("%1 shown · WASD").arg(text(format_duration(state_.axis().span_ns))));
}

void MainWindow::update_selection_status() {
  const SliceRef ref = state_.selection();
  if (!ref) {
    selection_text_->clear();
    return;
  }
  const TimeRange range = state_.session().range_of(ref);
  const QString name = text(printable(state_.session().name_of(ref)));
  selection_text_->setText(tr("selected %1 · %2 at +%3")
                               .arg(name.size() > 60 ? name.left(59) + QStringLiteral("…") : name,
                                    text(format_duration(range.span_ns())),
                                    text(format_duration(range.begin_ns))));
}

void MainWindow::keyPressEvent(QKeyEvent* event) {
  const bool plain = !(event->modifiers() & (Qt::ControlModifier | Qt::AltModifier));
  if (!plain || !timeline_->handle_key(event->key())) QMainWindow::keyPressEvent(event);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  std::vector<std::string> paths;
  for (const QUrl& url : event->mimeData()->urls()) {
    if (url.isLocalFile()) paths.push_back(url.toLocalFile().toStdString());
  }
  if (!paths.empty()) open(paths);
}

}  // namespace redline::viewer
