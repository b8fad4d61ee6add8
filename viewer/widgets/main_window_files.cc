// What the window reads and writes: traces, views, tables, pictures.
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QMimeData>

#include "viewer/models/view_file.h"
#include "viewer/widgets/main_window.h"
#include "viewer/widgets/screenshot.h"
#include "viewer/widgets/tables_pane.h"
#include "viewer/widgets/timeline_svg.h"

namespace redline::viewer {
namespace {

QString text(const std::string& value) { return QString::fromStdString(value); }

}  // namespace

void MainWindow::open(const std::vector<std::string>& paths) {
  show_message(paths.size() == 1 ? tr("Reading %1 …").arg(text(paths.front()))
                                 : tr("Reading %1 files …").arg(paths.size()),
               true);
  paths_ = paths;
  loader_.start(paths);
}

void MainWindow::compare(const std::vector<std::string>& before,
                         const std::vector<std::string>& after) {
  show_message(tr("Reading two runs …"), true);
  paths_ = after;
  loader_.start(after, before);
}

void MainWindow::choose_before() {
  if (paths_.empty()) return choose_files();
  std::vector<std::string> before;
  const QStringList files =
      QFileDialog::getOpenFileNames(this, tr("Compare with an earlier run"), {},
                                    tr("Traces (*.json *.gz *.zst *.partial);;All files (*)"));
  for (const QString& file : files) before.push_back(file.toStdString());
  if (!before.empty()) compare(before, paths_);
}

void MainWindow::choose_files() {
  const QStringList files = QFileDialog::getOpenFileNames(
      this, tr("Open traces"), {}, tr("Traces (*.json *.gz *.zst *.partial);;All files (*)"));
  std::vector<std::string> paths;
  for (const QString& file : files) paths.push_back(file.toStdString());
  if (!paths.empty()) open(paths);
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
  const auto problem = write_view(path, state_.saved_view());
  say(problem ? text(*problem) : tr("view saved as %1").arg(text(path)));
}

void MainWindow::restore_view() {
  const auto view = read_view(view_path(state_.session()));
  if (!view) {
    say(text(view.error()));
  } else if (*view) {
    state_.restore(**view);
  }
}

std::optional<std::string> MainWindow::export_to(const std::string& path, ExportKind kind) {
  switch (kind) {
    case ExportKind::kCsv:
      return write_text_file(path, table_csv(tables_->current_table()));
    case ExportKind::kJson:
      return write_text_file(path, table_json(tables_->current_table()));
    case ExportKind::kSvg:
      return write_text_file(path, timeline_svg(state_, timeline_->lanes().size()));
    case ExportKind::kPng:
      break;
  }
  return save_screenshot(*this, path);
}

void MainWindow::choose_export(const QString& suffix, ExportKind kind) {
  const QString path = QFileDialog::getSaveFileName(
      this, tr("Export"), name_->text() + QLatin1Char('.') + suffix, QStringLiteral("*.") + suffix);
  if (path.isEmpty()) return;
  const auto problem = export_to(path.toStdString(), kind);
  say(problem ? text(*problem) : tr("written: %1").arg(path));
}

void MainWindow::say(const QString& sentence) { selection_text_->setText(sentence); }

}  // namespace redline::viewer
