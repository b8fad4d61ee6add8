// What the window reads and writes: traces, views, tables, pictures.
#include <QDialog>
#include <QDir>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>
#include <filesystem>
#include <iterator>

#include "trace/read/reader.h"
#include "trace/run/folder.h"
#include "viewer/models/format.h"
#include "viewer/models/load.h"
#include "viewer/models/view_file.h"
#include "viewer/widgets/controls.h"
#include "viewer/widgets/main_window.h"
#include "viewer/widgets/run_page.h"
#include "viewer/widgets/screenshot.h"
#include "viewer/widgets/tables_pane.h"
#include "viewer/widgets/tuning_page.h"
#include "viewer/widgets/user_settings.h"

namespace redline::viewer {
namespace {

std::vector<std::string> paths_of(const QStringList& files) {
  std::vector<std::string> paths;
  for (const QString& file : files) paths.push_back(file.toStdString());
  return paths;
}

}  // namespace

QString MainWindow::folder() const {
  if (files().paths.empty()) return {};
  const QFileInfo first(text(files().paths.front()));
  return first.isDir() ? first.filePath() : first.path();
}

void MainWindow::choose_before() {
  const std::vector<std::string>& after = shown_[kTimelinePage].files.paths;
  if (after.empty()) return choose_files();
  const QStringList before =
      QFileDialog::getOpenFileNames(this, tr("Compare with an earlier run"), folder(),
                                    tr("Traces (*.json *.gz *.zst *.partial);;All files (*)"));
  if (!before.isEmpty()) compare(paths_of(before), after);
}

void MainWindow::choose_folder_before() {
  const std::vector<std::string>& after = shown_[kTimelinePage].files.paths;
  if (after.empty()) return choose_folder();
  const QString before = QFileDialog::getExistingDirectory(
      this, tr("Compare with an earlier run's folder of ranks"), folder());
  if (!before.isEmpty()) compare({before.toStdString()}, after);
}

void MainWindow::choose_study() {
  const bool is_shown = pages_->currentIndex() == kTuningPage;
  const bool has_session = !state_.session().traces().empty();
  if (is_shown && has_session) return show_page(kTimelinePage);
  if (!is_shown && !tuning_->tuning().path.empty()) return show_page(kTuningPage);
  const QString file = QFileDialog::getOpenFileName(this, tr("Open an autotune study"), folder(),
                                                    tr("Studies (*.db);;All files (*)"));
  if (!file.isEmpty()) open({file.toStdString()});
}

void MainWindow::choose_folder() {
  const QString chosen =
      QFileDialog::getExistingDirectory(this, tr("Open a folder of ranks"), folder());
  if (!chosen.isEmpty()) open({chosen.toStdString()});
}

void MainWindow::fill_open_menu() {
  open_menu_->clear();
  connect(open_menu_->addAction(tr("Traces or a study … (Ctrl + O)")), &QAction::triggered, this,
          &MainWindow::choose_files);
  connect(open_menu_->addAction(tr("A folder of ranks …")), &QAction::triggered, this,
          &MainWindow::choose_folder);
  QAction* again = open_menu_->addAction(tr("Read again (F5)"));
  again->setEnabled(!files().paths.empty());
  connect(again, &QAction::triggered, this, &MainWindow::reload);
  const QList<QStringList> recent = recent_files();
  if (!recent.isEmpty()) open_menu_->addSeparator();
  for (const QStringList& files : recent) {
    QAction* action = open_menu_->addAction(for_button(recent_title(files)));
    connect(action, &QAction::triggered, this, [this, files] { open(paths_of(files)); });
  }
}

void MainWindow::fill_recent_links() {
  while (QLayoutItem* item = recent_links_->takeAt(0)) {
    item->widget()->deleteLater();
    delete item;
  }
  if (!progress_->isHidden()) return;
  const auto add = [this](const QString& words, const auto& act) {
    auto* link = make_link(words);
    connect(link, &QPushButton::clicked, this, act);
    recent_links_->addWidget(link, 0, Qt::AlignCenter);
    return link;
  };
  if (opened_.page != kMessagePage) {
    add(tr("Back to what was open before (Esc)"), [this] { show_opened(); });
  }
  for (const QStringList& files : recent_files()) {
    auto* link = add(recent_title(files), [this, files] { open(paths_of(files)); });
    link->setToolTip(printable_text(files.first().toStdString()));
  }
}

/// Reads the files again, because they may have grown.
void MainWindow::reload() {
  if (files().paths.empty()) return;
  const auto [paths, before] = files();
  before.empty() ? open(paths) : compare(before, paths);
}

void MainWindow::show_load_report() {
  if (pages_->currentIndex() != kTimelinePage || first_view_) return;
  QDialog dialog(this);
  dialog.setWindowTitle(tr("What came out of reading"));
  dialog.resize(720, 360);
  auto* words = new QPlainTextEdit(text(load_report(state_.session(), opened_.loaded.unreadable)));
  words->setReadOnly(true);
  words->setAccessibleName(dialog.windowTitle());
  auto* column = new QVBoxLayout(&dialog);
  column->addWidget(words);
  dialog.exec();
}

void MainWindow::choose_files() {
  const QStringList files = QFileDialog::getOpenFileNames(
      this, tr("Open traces or a study"), folder(),
      tr("Traces and studies (*.json *.gz *.zst *.partial *.db);;All files (*)"));
  if (!files.isEmpty()) open(paths_of(files));
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

void MainWindow::save_view() {
  const std::string path = view_path(state_.session());
  if (path.empty()) return;
  if (first_view_) return say(tr("not saved: the trace is still being read"));
  const auto problem = write_view(path, placed_view());
  say(problem ? text(*problem) : tr("view saved as %1").arg(text(path)));
}

// With the clocks as recorded: so they are when the view is brought back.
SavedView MainWindow::placed_view() const {
  SavedView view = state_.saved_view();
  if (!recorded_ || recorded_->traces().empty()) return view;
  const auto shift_ns = [this](uint32_t trace) {
    return saturating_sub(state_.session().traces()[trace].origin_ns,
                          recorded_->traces()[trace].origin_ns);
  };
  view.range = {saturating_sum(view.range.begin_ns, shift_ns(0)),
                saturating_sum(view.range.end_ns, shift_ns(0))};
  for (Mark& mark : view.marks) {
    mark.time_ns = saturating_sum(mark.time_ns, shift_ns(mark.trace));
  }
  view.origin_ns = origin_of(*recorded_);
  return view;
}

std::optional<SavedView> MainWindow::view_of_first_lanes(const Session& session) const {
  if (!first_view_ || session.traces().empty()) return std::nullopt;
  const SavedView view = state_.saved_view();
  if (view == *first_view_) return std::nullopt;
  return moved(view, saturating_sub(state_.session().traces().front().origin_ns,
                                    session.traces().front().origin_ns));
}

void MainWindow::take_over(const SavedView& made, const SavedView& first) {
  for (const Mark& mark : made.marks) {
    state_.set_mark(mark.time_ns, mark.note, trace_of_mark(made, mark, state_.session()));
  }
  if (made.arrangement != first.arrangement) {
    state_.rearrange([&made](Layout& layout) { layout.arrange(made.arrangement); });
  }
  if (made.scroll != first.scroll) state_.set_scroll(made.scroll);
  if (made.colours_by_name != first.colours_by_name) {
    state_.set_colours_by_name(made.colours_by_name);
  }
  if (made.search != first.search) state_.find(text(made.search));
  state_.set_range(made.range);
}

void MainWindow::restore_view() {
  if (ignores_saved_views_) return;
  const auto view = read_view(view_path(state_.session()));
  if (!view) {
    say(text(view.error()));
  } else if (*view) {
    restore(**view);
  }
}

// The axis may have begun elsewhere when the view was saved: with other files of the folder, or
// before a file grew.
void MainWindow::restore(const SavedView& view) {
  const auto shown = origin_of(state_.session());
  const bool is_known = view.origin_ns && shown;
  state_.restore(is_known ? moved(view, saturating_sub(*view.origin_ns, *shown)) : view);
}

Table MainWindow::table_to_export() const {
  const bool is_timeline = pages_->currentIndex() == kTimelinePage;
  const RowsView* rows = is_timeline ? nullptr : current_rows();
  return rows ? rows->all_rows() : tables_->current_table();
}

// The window goes on reading what it shows, and nobody wants to lose a recording.
bool MainWindow::is_open(const std::string& path) const {
  std::vector<std::string> open;
  for (const Shown& shown : shown_) {
    for (const auto& paths : {shown.files.paths, shown.files.before}) {
      for (const std::string& each : paths) {
        std::ranges::copy(trace::find_traces(each).value_or(std::vector<std::string>()),
                          std::back_inserter(open));
      }
      std::ranges::copy(trace::step_logs_of(paths), std::back_inserter(open));
    }
  }
  return std::ranges::any_of(open, [&path](const std::string& each) {
    std::error_code ignored;
    return std::filesystem::equivalent(each, path, ignored);
  });
}

std::optional<std::string> MainWindow::export_to(const std::string& path, ExportKind kind) {
  return export_to(path, kind, table_to_export());
}

std::optional<std::string> MainWindow::export_to(const std::string& path, ExportKind kind,
                                                 const Table& table) {
  if (is_open(path)) return path + ": is one of the files that are open. Name another file.";
  if (kind == ExportKind::kPng) return save_screenshot(*this, path);
  return write_whole(path, kind == ExportKind::kCsv ? table_csv(table) : table_json(table));
}

QString MainWindow::path_of_export(const QString& suffix, const std::string& part) {
  const bool is_timeline = pages_->currentIndex() == kTimelinePage;
  // For two runs the title says what changed, which is no name for a file.
  QString name = is_timeline ? printable_text(state_.session().name()) : name_->text();
  // NAME.json may be the trace itself.
  if (!part.empty()) name += QLatin1Char('.') + text(part).toLower();
  return QFileDialog::getSaveFileName(this, tr("Export"),
                                      QDir(folder()).filePath(name + QLatin1Char('.') + suffix),
                                      QStringLiteral("*.") + suffix);
}

RowsView* MainWindow::current_rows() const {
  if (pages_->currentIndex() == kTuningPage) return tuning_->findChild<RowsView*>();
  if (pages_->currentIndex() == kRunPage) return run_->findChild<RowsView*>();
  return pages_->currentIndex() == kTimelinePage ? tables_->current_rows() : nullptr;
}

void MainWindow::choose_export(const QString& suffix, ExportKind kind, const RowsView* rows) {
  const bool is_table = kind != ExportKind::kPng;
  Table table;
  if (is_table) table = rows ? rows->all_rows() : table_to_export();
  const bool is_of_pane = is_table && pages_->currentIndex() == kTimelinePage &&
                          (!rows || rows == tables_->current_rows());
  const size_t left_out = is_of_pane ? tables_->rows_left_out() : 0;
  const QString path = path_of_export(suffix, table.title);
  if (path.isEmpty()) return;
  const auto problem = export_to(path.toStdString(), kind, table);
  if (problem) return say(text(*problem));
  say(left_out == 0
          ? tr("written: %1").arg(path)
          : tr("written: %1, without the last %2").arg(path, text(format_plural(left_out, "hit"))));
}

void MainWindow::say(const QString& sentence) { selection_text_->setText(sentence); }

}  // namespace redline::viewer
