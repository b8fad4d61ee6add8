#include "viewer/widgets/main_window.h"

#include <QCoreApplication>
#include <QKeyEvent>
#include <QLayout>
#include <QMenu>
#include <QPushButton>
#include <QShortcut>
#include <QSplitter>
#include <QTabWidget>
#include <algorithm>
#include <filesystem>
#include <utility>

#include "trace/read/recordings.h"
#include "viewer/models/diff_table.h"
#include "viewer/models/format.h"
#include "viewer/models/session_report.h"
#include "viewer/widgets/command_palette.h"
#include "viewer/widgets/controls.h"
#include "viewer/widgets/panes.h"
#include "viewer/widgets/popups.h"
#include "viewer/widgets/run_page.h"
#include "viewer/widgets/tables_pane.h"
#include "viewer/widgets/tuning_page.h"
#include "viewer/widgets/user_settings.h"

namespace redline::viewer {

void MainWindow::connect_state() {
  connect(&loader_, &Loader::progress, this, &MainWindow::show_progress);
  connect(&loader_, &Loader::begun, this, &MainWindow::show_session);
  connect(&loader_, &Loader::loaded, this, &MainWindow::show_session);
  const auto remember = [this] { remember_files(shown_[kMessagePage].files.paths); };
  connect(&loader_, &Loader::loaded, this, remember);
  connect(&loader_, &Loader::tuned, this, remember);
  connect(&loader_, &Loader::run_read, this, remember);
  connect(&loader_, &Loader::analysed, this, &MainWindow::show_analysis);
  connect(&loader_, &Loader::summed, this, [this](quint64 done, quint64 total) {
    if (report_->traces.empty()) note_panes(tr("Summing up: %1 of %2 ranks").arg(done).arg(total));
  });
  connect(&loader_, &Loader::ranks_read, this, &MainWindow::show_ranks);
  connect(&state_, &ViewState::ranks_wanted, this,
          [this](const std::vector<uint32_t>& ranks) { loader_.read_ranks(recorded_, ranks); });
  connect(&loader_, &Loader::tuned, this, &MainWindow::show_tuning);
  connect(&loader_, &Loader::run_read, this, &MainWindow::show_run);
  connect(&loader_, &Loader::failed, this, &MainWindow::show_error);
  connect(&state_, &ViewState::axis_changed, this, &MainWindow::update_status);
  connect(&state_, &ViewState::selection_changed, this, &MainWindow::update_selection_status);
  for (RowsView* rows : findChildren<RowsView*>()) {
    connect(rows, &RowsView::export_wanted, this,
            [this, rows] { choose_export(QStringLiteral("csv"), ExportKind::kCsv, rows); });
  }
  connect(search_, &SearchField::textEdited, this,
          [this] { tables_->setCurrentWidget(&tables_->find()); });
  // A standard key must not become a QKeySequence, which has only the first of its sequences.
  const auto on = [this](const auto& keys, const auto& act) {
    connect(new QShortcut(keys, this), &QShortcut::activated, this, act);
  };
  on(QKeySequence::Find, &MainWindow::focus_search);
  on(QKeySequence(Qt::Key_Slash), &MainWindow::focus_search);
  on(QKeySequence(tr("Ctrl+Shift+P")), [this] { (new CommandPalette(commands(), this))->open(); });
  on(QKeySequence::Refresh, &MainWindow::reload);
  on(QKeySequence::Save, &MainWindow::save_view);
  on(QKeySequence::Open, &MainWindow::choose_files);
  on(QKeySequence(Qt::Key_Question), [this] { HelpDialog(this).exec(); });
}

void MainWindow::focus_search() {
  search_->setFocus();
  search_->selectAll();
}

std::vector<Command> MainWindow::commands() {
  std::vector<Command> all;
  if (pages_->currentIndex() == kTimelinePage) {
    for (const Tab& tab : tabs()) {
      all.push_back({tr("Show: %1").arg(tab.title),
                     tab.key.isNull() ? QString() : tr("Alt + %1").arg(tab.key),
                     [tab] { open_tab(tab); }});
    }
    all.push_back({tr("Search"), tr("Ctrl + F"), [this] { focus_search(); }});
    for (Command& command : timeline_->commands()) all.push_back(std::move(command));
    if (clocks_) {
      all.push_back({tr("Clocks set right or as recorded"), tr("C"), [this] { toggle_clocks(); }});
    }
    all.push_back({tr("How the trace was read"), {}, [this] { show_load_report(); }});
  }
  if (const RowsView* rows = current_rows(); rows && !rows->selected_rows().rows.empty()) {
    all.push_back({tr("Copy the selected rows"), tr("Ctrl + C"), [rows] { rows->copy_rows(); }});
  }
  if (state_.selection()) {
    all.push_back({tr("Copy all details of the selected slice"), {}, [this] {
                     copy_table(findChild<DetailsPane*>()->exported());
                   }});
  }
  fill_open_menu();
  for (const QPushButton* button : findChildren<QPushButton*>()) {
    if (button->menu()) add_commands_of(*button->menu(), button->text(), all);
  }
  all.push_back({tr("Open: a study of autotune"), {}, [this] { choose_study(); }});
  all.push_back({tr("All keys"), tr("?"), [this] { HelpDialog(this).exec(); }});
  return all;
}

void MainWindow::set_theme(ThemeChoice choice) {
  theme_ = choice;
  const Theme& theme = theme_of(choice);
  if (theme.dark == state_.theme().dark) return;
  state_.set_theme(theme);
  setStyleSheet(theme.style_sheet());
}

bool MainWindow::event(QEvent* event) {
  if (event->type() == QEvent::ApplicationPaletteChange && theme_ == ThemeChoice::kDesktop) {
    set_theme(ThemeChoice::kDesktop);
  }
  return QMainWindow::event(event);
}

QString MainWindow::status_of(const LoadedSession& loaded_session) const {
  if (!loaded_session.is_whole) return tr("first lanes, reading the rest");
  const Session& session = *loaded_session.session;
  const bool is_known = std::ranges::all_of(
      session.traces(), [](const SessionTrace& each) { return each.is_loaded || each.outline; });
  const QString events = text(format_plural(session.event_count(), "event"));
  QStringList parts{is_known ? events : tr("%1 in memory").arg(events)};
  if (session.is_partial()) {
    parts << tr("%1 of %2 ranks loaded").arg(session.loaded_count()).arg(session.traces().size());
  }
  parts << tr("loaded in %1 s").arg(loaded_session.seconds, 0, 'f', 2);
  const uint64_t lost = session.lost_count();
  const uint64_t repaired = session.repaired_count();
  if (lost > 0) parts << tr("%1 skipped").arg(text(format_count(lost)));
  if (repaired > 0) parts << tr("%1 repaired").arg(text(format_count(repaired)));
  if (lost + repaired == 0 && is_known) parts << tr("nothing skipped");
  std::vector<std::shared_ptr<const trace::Trace>> traces;
  for (const auto& each : session.traces()) traces.push_back(each.trace);
  const Files& files = shown_[kTimelinePage].files;
  for (const auto& paths : {files.paths, files.before}) {
    const auto& unreadable = loaded_session.unreadable;
    for (const auto& note : trace::notes_on_left_out(paths, trace::paths_of(traces), unreadable)) {
      parts << text(note);
    }
  }
  for (const trace::ReadError& error : loaded_session.unreadable) {
    parts << tr("left out: %1").arg(printable_text(error.message));
  }
  if (session.aligned_at_start()) parts << tr("recorded at different times: aligned at the start");
  return parts.join(QStringLiteral(" · "));
}

void MainWindow::show_session(const LoadedSession& loaded_session) {
  const auto made = view_of_first_lanes(*loaded_session.session);
  put_session(loaded_session, shown_[kMessagePage].files);
  const auto first = std::exchange(first_view_, std::nullopt);
  if (!loaded_session.is_whole) {
    first_view_ = state_.saved_view();
    return;
  }
  const Files& files = shown_[kTimelinePage].files;
  const bool is_again = !files.paths.empty() && files == opened_.files &&
                        shares_recordings(*opened_.loaded.session, *loaded_session.session);
  clocks_are_set_ = clocks_are_set_ && is_again;
  const SavedView before =
      std::exchange(opened_, {files, kTimelinePage, loaded_session, false, {}}).view;
  is_again ? restore(before) : restore_view();
  if (made && first) take_over(*made, *first);
  emit loaded();
}

void MainWindow::put_session(const LoadedSession& loaded_session, const Files& files) {
  const bool is_whole = loaded_session.is_whole;
  shown_[kTimelinePage] = {files, printable_text(loaded_session.session->name()), {}};
  shown_[kTimelinePage].status = status_of(loaded_session);
  rest_progress_->setVisible(!is_whole);
  note_panes(is_whole ? tr("Summing up …") : tr("Reading …"));
  panes_->setCurrentIndex(0);
  show_page(kTimelinePage);
  // The layout must be final, because the width of the lanes decides what is legible.
  if (layout()) layout()->activate();
  share_room(left_->height());  // as if it were the first trace of the window
  recorded_ = loaded_session.session;
  clocks_.reset();
  is_outlined_ = false;
  show_clocks();
  state_.open(recorded_);
  report_ = std::make_shared<const trace::Report>();
  AnalysedSession nothing;
  nothing.report = report_;
  tables_->show_report(nothing);
  timeline_->lanes().setFocus();
}

void MainWindow::show_names() {
  const int page = pages_->currentIndex();
  const auto& [files, name, status] = shown_[static_cast<size_t>(page)];
  name_->setText(name);
  setWindowTitle(name.isEmpty() ? tr("Redline") : tr("%1 · Redline").arg(name));
  loaded_text_->setText(for_button(status));
  const bool has_report = page == kTimelinePage && rest_progress_->isHidden();
  loaded_text_->setToolTip(has_report ? tr("What came out of reading, file by file") : QString());
}

const MainWindow::Files& MainWindow::files() const {
  return shown_[static_cast<size_t>(pages_->currentIndex())].files;
}

void MainWindow::show_tuning(const Tuning& tuning) {
  tuning_->show_tuning(tuning);
  const std::string file = std::filesystem::path(tuning.path).filename().string();
  shown_[kTuningPage] = {{{tuning.path}, {}}, printable_text(file), printable_text(tuning.path)};
  note_opened(kTuningPage);
}

void MainWindow::show_run(const WholeRun& run) {
  run_->show_run(run);
  shown_[kRunPage] = {{run.paths, {}}, printable_text(run.name), printable_text(run.paths.front())};
  if (pages_->currentIndex() == kTimelinePage) return show_page(kTimelinePage);
  note_opened(kRunPage);
}

void MainWindow::note_opened(int page) {
  resume();
  opened_.page = page;
  show_page(page);
  emit loaded();
}

/// If both are open, the button leads from the study to the timeline and back.
void MainWindow::show_page(int page) {
  pages_->setCurrentIndex(page);
  if (page != kMessagePage) show_names();
  search_->setEnabled(page == kTimelinePage);
  if (page == kTuningPage) tuning_->setFocus();
  if (page == kRunPage) run_->setFocus();
  range_text_->setVisible(page == kTimelinePage);
  if (page != kTimelinePage) selection_text_->clear();
  show_clocks();
  const bool leads_back = page == kTuningPage && !state_.session().traces().empty();
  tuning_button_->setText(leads_back ? tr("Timeline") : tr("Tuning"));
  const bool has_timeline = !state_.session().traces().empty();
  run_button_->setVisible(page == kRunPage ? has_timeline : !run_->run().paths.empty());
  run_button_->setText(page == kRunPage ? tr("Timeline") : tr("Run"));
}

void MainWindow::note_panes(const QString& words) {
  for (Pane* pane : pane_list_) pane->show_note(words);
}

void MainWindow::put_recorded() {
  state_.put(clocks_are_set_ && clocks_
                 ? std::make_shared<const Session>(recorded_->shifted(clocks_->shift_ns))
                 : recorded_);
}

void MainWindow::put_ranks(const Session& session) {
  recorded_ = std::make_shared<const Session>(session);
  opened_.loaded.session = recorded_;
  put_recorded();
  shown_[kTimelinePage].status = status_of(opened_.loaded);
  if (pages_->currentIndex() == kTimelinePage) show_names();
}

void MainWindow::show_ranks(const ReadRanks& read) {
  for (const auto& [rank, problem] : read.failed) {
    state_.give_up(rank);
    say(printable_text(problem));
  }
  if (read.ranks.empty()) return;
  put_ranks(recorded_->with(read.ranks));
  if (opened_.is_summed_up) loader_.analyse(recorded_, analysed_.pass);
}

void MainWindow::show_analysis(const AnalysedSession& analysed) {
  analysed_ = analysed;
  opened_.is_summed_up = true;
  if (!analysed.pass.outlines.empty() && !is_outlined_) {
    is_outlined_ = true;
    for (const auto& error : analysed.pass.unreadable) opened_.loaded.unreadable.push_back(error);
    put_ranks(recorded_->outlined(analysed.pass.outlines));
  }
  report_ = analysed.report;
  clocks_ = clock_shifts(*recorded_, *report_);
  show_clocks();
  for (Pane* pane : pane_list_) pane->show_report(report_);
  tables_->show_report(analysed);
  state_.add(analysed);
  if (clocks_are_set_) put_recorded();
  share_room(state_.layout().height());
  if (analysed.diff) {
    shown_[kTimelinePage].name = text(diff_headline(*analysed.diff));
    if (pages_->currentIndex() == kTimelinePage) show_names();
  }
  emit summed_up();
  sum_up_rest();
}

// Tables have the digits in the order in which they stand, panes their first letters.
std::vector<MainWindow::Tab> MainWindow::tabs() const {
  std::vector<Tab> all;
  for (QTabWidget* tabs : {static_cast<QTabWidget*>(tables_), panes_}) {
    for (int i = 0; i < tabs->count(); ++i) {
      if (!tabs->isTabVisible(i)) continue;
      const QString title = tabs->tabText(i);
      const size_t number = all.size() + 1;
      const QChar digit = number <= 10 ? QLatin1Char("1234567890"[number - 1]) : QChar();
      all.push_back({tabs, i, title, tabs == panes_ ? title.front() : digit});
    }
  }
  return all;
}

void MainWindow::open_tab(const Tab& tab) {
  tab.tabs->setCurrentIndex(tab.index);
  tab.tabs->currentWidget()->setFocus();
}

bool MainWindow::show_tab(const QString& title) {
  for (const Tab& tab : tabs()) {
    if (tab.title.compare(title, Qt::CaseInsensitive)) continue;
    tab.tabs->setCurrentIndex(tab.index);
    return true;
  }
  return false;
}

QStringList MainWindow::tab_titles() const {
  QStringList titles;
  for (const Tab& tab : tabs()) titles << tab.title;
  return titles;
}

void MainWindow::wait() {
  state_.wait();
  for (Pane* pane : pane_list_) pane->wait();
  tables_->wait();
}

void MainWindow::settle() {
  for (int round = 0; round < 2; ++round) {  // a result may start a task of its own
    wait();
    QCoreApplication::processEvents();
  }
}

void MainWindow::toggle_clocks() {
  clocks_are_set_ = !clocks_are_set_;
  put_recorded();
  show_clocks();
}

void MainWindow::show_clocks() {
  clock_text_->setVisible(clocks_ && pages_->currentIndex() == kTimelinePage);
  if (!clocks_) return;
  const QString words =
      clocks_are_set_ ? tr("clocks set right: %1") : tr("clocks as recorded, to set right: %1");
  clock_text_->setText(for_button(words.arg(text(clocks_->text))));
  clock_text_->setToolTip(clocks_are_set_ ? tr("C: show the times as they were recorded")
                                          : tr("C: set the clocks right"));
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
  const QString name = printable_text(state_.session().name_of(ref));
  selection_text_->setText(tr("selected %1 · %2 at %3")
                               .arg(name.size() > 60 ? name.left(59) + QStringLiteral("…") : name,
                                    text(format_duration(range.span_ns())),
                                    text(format_time(range.begin_ns))));
}

void MainWindow::keyPressEvent(QKeyEvent* event) {
  if (pages_->currentIndex() == kTimelinePage) {
    if (event->key() == Qt::Key_C && event->modifiers() == Qt::NoModifier && clocks_) {
      return toggle_clocks();
    }
    if (timeline_->handle_key(*event)) return;
  }
  if (event->key() == Qt::Key_Escape && is_loading()) return cancel_load();
  if (event->key() == Qt::Key_Escape && pages_->currentIndex() == kMessagePage &&
      opened_.page != kMessagePage) {
    return show_opened();
  }
  QMainWindow::keyPressEvent(event);
}

}  // namespace redline::viewer
