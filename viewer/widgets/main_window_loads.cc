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
    opened_.view = placed_view();
  }
  show_message(message, true);
}

void MainWindow::open(const std::vector<std::string>& paths) {
  begin_load(paths.size() == 1 ? tr("Reading %1 …").arg(text(paths.front()))
                               : tr("Reading %1 files …").arg(paths.size()));
  shown_[kMessagePage].files = {paths, {}};
  loader_.start(paths);
}

void MainWindow::compare(const std::vector<std::string>& before,
                         const std::vector<std::string>& after) {
  begin_load(tr("Reading two runs …"));
  shown_[kMessagePage].files = {after, before};
  loader_.start(after, before);
}

bool MainWindow::is_loading() const {
  return pages_->currentIndex() == kMessagePage ? !progress_->isHidden()
                                                : !rest_progress_->isHidden();
}

void MainWindow::cancel_load() {
  loader_.cancel();
  shown_[kMessagePage] = {};
  rest_progress_->hide();
  first_view_.reset();
  resume();
  if (opened_.page == kMessagePage) {
    show_message(tr("Cancelled. Open a trace, or drop files or a folder of ranks here."), false);
    return show_names();
  }
  show_opened();
  say(tr("cancelled: what was open before is shown again"));
}

void MainWindow::show_opened() {
  show_page(opened_.page);
  if (opened_.page == kTimelinePage) timeline_->lanes().setFocus();
}

void MainWindow::resume() {
  if (recorded_ != opened_.loaded.session) bring_back_opened();
  sum_up_rest();
  state_.want_ranks_again();
}

// More ranks may have been loaded since the sums began.
void MainWindow::sum_up_rest() {
  if (!recorded_) return;
  if (!opened_.is_summed_up) return loader_.analyse(recorded_);
  const bool has_more = analysed_.loaded_count < recorded_->loaded_count();
  if (is_outlined_ && has_more) loader_.analyse(recorded_, analysed_.pass);
}

// Shows again what was open before, because first lanes of another load have replaced it.
void MainWindow::bring_back_opened() {
  recorded_ = opened_.loaded.session;
  if (!recorded_) return state_.open(std::make_shared<const Session>(trace::Traces{}));
  put_session(opened_.loaded, opened_.files);
  restore(opened_.view);
  if (opened_.is_summed_up) show_analysis(analysed_);
}

void MainWindow::show_message(const QString& message, bool loading) {
  message_->setText(with_breaks(message));
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
  resume();
  show_message(sentence, false);
  show_names();
  emit failed(sentence);
}

}  // namespace redline::viewer
