#include "viewer/widgets/loader.h"

#include <chrono>

namespace redline::viewer {

Loader::Loader(QObject* parent) : QObject(parent) { qRegisterMetaType<LoadedSession>(); }

Loader::~Loader() { cancel(); }

void Loader::cancel() {
  cancelled_ = true;
  if (thread_.joinable()) thread_.join();
  ++run_;
}

void Loader::start(std::vector<std::string> paths) {
  cancel();
  cancelled_ = false;
  const uint64_t run = run_;
  thread_ = std::thread([this, run, paths = std::move(paths)] { load(paths, run); });
}

// On the loading thread. Results go to the thread of this object by queued calls.
void Loader::load(const std::vector<std::string>& paths, uint64_t run) {
  using Clock = std::chrono::steady_clock;
  trace::ReadOptions options;
  options.cancel = &cancelled_;
  Clock::time_point last;
  options.progress = [&](uint64_t done, uint64_t total) {
    const Clock::time_point now = Clock::now();
    if (done < total && now - last < std::chrono::milliseconds(33)) return;
    last = now;
    QMetaObject::invokeMethod(
        this,
        [this, run, done, total] {
          if (run == run_) emit progress(done, total);
        },
        Qt::QueuedConnection);
  };
  auto result = load_session(paths, options);
  QMetaObject::invokeMethod(
      this,
      [this, run, result = std::move(result)] {
        if (run != run_) return;
        if (result) {
          emit loaded(*result);
        } else {
          emit failed(QString::fromStdString(result.error()));
        }
      },
      Qt::QueuedConnection);
}

}  // namespace redline::viewer
