// Work on a thread beside the window, where only the latest request counts: a user types on before
// a search is done, or selects another area while one is summed up.
#pragma once

#include <QObject>
#include <QThreadPool>
#include <atomic>
#include <memory>

namespace redline::viewer {

class LatestTask : public QObject {
 public:
  explicit LatestTask(QObject* parent) : QObject(parent) { pool_.setMaxThreadCount(1); }
  ~LatestTask() override {
    cancel();
    pool_.waitForDone();
  }

  /// Runs compute(cancelled) on a thread of its own, then show(result) on the window's thread. The
  /// request before it is cancelled, and its result is never shown.
  template <typename Compute, typename Show>
  void start(Compute compute, Show show) {
    cancel();
    auto cancelled = std::make_shared<std::atomic<bool>>(false);
    cancelled_ = cancelled;
    pool_.start([this, cancelled, compute = std::move(compute), show = std::move(show)] {
      if (cancelled->load()) return;  // while it waited for the one before it
      auto result = compute(*cancelled);
      if (cancelled->load()) return;
      QMetaObject::invokeMethod(
          this,
          [cancelled, show, result = std::move(result)] {
            if (!cancelled->load()) show(result);
          },
          Qt::QueuedConnection);
    });
  }
  void cancel() {
    if (cancelled_) cancelled_->store(true);
  }
  /// Frees `thing` on that thread, because freeing gigabytes takes longer than a frame.
  template <typename Thing>
  void let_go(std::shared_ptr<Thing> thing) {
    pool_.start([held = std::move(thing)]() mutable { held.reset(); });
  }
  /// Waits until the work is done. Its result is shown in the next round of events.
  void wait() { pool_.waitForDone(); }

 private:
  QThreadPool pool_;
  std::shared_ptr<std::atomic<bool>> cancelled_;
};

}  // namespace redline::viewer
