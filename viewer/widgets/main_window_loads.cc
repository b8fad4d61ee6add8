// A load from its start to its end: a trace, an error, or the return to what was open before.
#include <QLabel>
#include <QPushButton>
#include <QStackedWidget>

#include "viewer/widgets/controls.h"
#include "viewer/widgets/main_window.h"

namespace redline::viewer {

void MainWindow::begin_load(const QString& message) {
  const int page = pages_->currentIndex();
  if (page != kMessagePage && !first_view_) {
    opened_.page = page;
    opened_.view = state_.saved_view();
  }
  show_message(message, true);
}

void MainWindow::open(const std::vector<std::string>& paths) {
  begin_load(paths.size() == 1 ? tr("Reading %1 …").arg(text(paths.front()))
                               : tr("Reading %1 files …").arg(paths.size()));
  paths_ = paths;
  before_.clear();
  loader_.start(paths);
}

void MainWindow::compare(const std::vector<std::string>& before,
                         const std::vector<std::string>& after) {
  begin_load(tr("Reading two runs …"));
  paths_ = after;
  before_ = before;
  loader_.start(after, before);
}

bool MainWindow::is_loading() const {
  return pages_->currentIndex() == kMessagePage ? !progress_->isHidden()
                                                : !rest_progress_->isHidden();
}

void MainWindow::cancel_load() {
  loader_.cancel();
  const bool has_first_lanes = first_view_.has_value();
  show_message(tr("Cancelled. Open a trace, or drop files or a folder of ranks here."), false);
  paths_ = opened_.paths;
  before_ = opened_.before;
  if (has_first_lanes) bring_back_opened();
  show_title(opened_.name);
  loaded_text_->setText(opened_.status);
  if (opened_.page == kMessagePage) return;
  show_page(opened_.page);
  if (opened_.loaded.session && !opened_.is_summed_up) loader_.analyse(opened_.loaded.session);
  say(tr("cancelled: what was open before is shown again"));
}

// Shows again what was open before, because the lanes of the cancelled load may have replaced it.
void MainWindow::bring_back_opened() {
  if (!opened_.loaded.session) return state_.open(std::make_shared<const Session>(trace::Traces{}));
  put_session(opened_.loaded);
  if (opened_.is_summed_up) show_analysis(analysed_);
  state_.restore(opened_.view);
}

void MainWindow::show_message(const QString& message, bool loading) {
  message_->setText(message);
  for (LoadProgress* bar : {progress_, rest_progress_}) bar->show_bytes(0, 0);
  progress_->setVisible(loading);
  rest_progress_->hide();
  first_view_.reset();
  fill_recent_links();
  show_page(kMessagePage);
  if (loading) progress_->setFocus();
}

void MainWindow::show_progress(quint64 done, quint64 total) {
  progress_->show_bytes(done, total);
  rest_progress_->show_bytes(done, total);
}

void MainWindow::show_error(const QString& sentence) {
  name_->clear();
  loaded_text_->setText({});
  show_message(sentence, false);
  emit failed(sentence);
}

}  // namespace redline::viewer
