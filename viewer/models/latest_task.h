// Work beside the window, of which only the last one asked for counts.
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

  /// compute(cancelled) on a thread of its own, then show(result) on the window's. What was asked
  /// for before is cancelled and never shown.
  template <typename Compute, typename Show>
  void start(Compute compute, Show show) {
    cancel();
    auto cancelled = std::make_shared<std::atomic<bool>>(false);
    cancelled_ = cancelled;
    pool_.start([this, cancelled, compute = std::move(compute), show = std::move(show)] {
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
  /// Large things go on that thread, too: giving gigabytes back takes the system more than a frame.
  template <typename Thing>
  void let_go(std::shared_ptr<Thing> thing) {
    pool_.start([held = std::move(thing)]() mutable { held.reset(); });
  }
  /// Until the work is done; what it gives is shown by the next round of events.
  void wait() { pool_.waitForDone(); }

 private:
  QThreadPool pool_;
  std::shared_ptr<std::atomic<bool>> cancelled_;
};

}  // namespace redline::viewer
