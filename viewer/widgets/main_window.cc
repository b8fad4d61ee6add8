#include "viewer/widgets/main_window.h"

#include <QCoreApplication>
#include <QKeyEvent>
#include <QLayout>
#include <QShortcut>
#include <QTabWidget>

#include "viewer/models/comparison.h"
#include "viewer/models/format.h"
#include "viewer/widgets/details_pane.h"
#include "viewer/widgets/help_dialog.h"
#include "viewer/widgets/overview_pane.h"
#include "viewer/widgets/selection_pane.h"
#include "viewer/widgets/tables_pane.h"

namespace redline::viewer {
namespace {

QString text(const std::string& value) { return QString::fromStdString(value); }

}  // namespace

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
  connect(&state_, &ViewState::area_changed, this, [this] {
    if (!state_.area().empty()) panes_->setCurrentWidget(selection_);
  });
  connect(search_, &SearchField::textEdited, this,
          [this] { tables_->setCurrentWidget(&tables_->find()); });
  const auto focus_search = [this] {
    search_->setFocus();
    search_->selectAll();
  };
  connect(new QShortcut(QKeySequence::Find, this), &QShortcut::activated, this, focus_search);
  connect(new QShortcut(QKeySequence(Qt::Key_Slash), this), &QShortcut::activated, this,
          focus_search);
  connect(new QShortcut(QKeySequence::Save, this), &QShortcut::activated, this,
          &MainWindow::save_view);
  connect(new QShortcut(QKeySequence::Open, this), &QShortcut::activated, this,
          &MainWindow::choose_files);
  connect(new QShortcut(QKeySequence(Qt::Key_Question), this), &QShortcut::activated, this,
          [this] { HelpDialog(this).exec(); });
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
  panes_->setCurrentWidget(overview_);
  pages_->setCurrentIndex(1);
  // The layout decides the width of the lanes, and that decides what is legible.
  if (layout()) layout()->activate();
  state_.open(loaded_session.session);
  report_ = std::make_shared<const trace::Report>();
  tables_->show_report(*report_);
  restore_view();
  timeline_->lanes().setFocus();
  emit loaded();
}

void MainWindow::show_analysis(const AnalysedSession& analysed) {
  report_ = analysed.report;
  overview_->show_summary(summarize(*report_));
  tables_->show_report(*report_);
  state_.add(analysed);
  if (!analysed.diff) return;
  tables_->show_diff(*analysed.diff);
  name_->setText(text(diff_headline(*analysed.diff)));
}

void MainWindow::show_evidence(size_t trace, trace::SliceId slice) {
  if (trace >= report_->traces.size()) return;
  const auto index = trace_of(state_.session(), report_->traces[trace]);
  if (index) state_.go_to({*index, slice});
}

void MainWindow::settle() {
  selection_->wait();
  tables_->find().wait();
  QCoreApplication::processEvents();
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

}  // namespace redline::viewer
