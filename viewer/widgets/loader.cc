#include "viewer/widgets/loader.h"

#include <chrono>

namespace redline::viewer {

Loader::Loader(QObject* parent) : QObject(parent) {
  qRegisterMetaType<LoadedSession>();
  qRegisterMetaType<AnalysedSession>();
}

Loader::~Loader() { cancel(); }

void Loader::cancel() {
  cancelled_ = true;
  if (thread_.joinable()) thread_.join();
  ++run_;
}

void Loader::start(std::vector<std::string> paths, std::vector<std::string> before) {
  cancel();
  cancelled_ = false;
  const uint64_t run = run_;
  thread_ = std::thread([this, run, paths = std::move(paths), before = std::move(before)] {
    load(paths, before, run);
  });
}

template <typename Emit>
void Loader::post(uint64_t run, Emit emit_signal) {
  QMetaObject::invokeMethod(
      this,
      [this, run, emit_signal = std::move(emit_signal)] {
        if (run == run_) emit_signal();
      },
      Qt::QueuedConnection);
}

// On the loading thread. Results go to the thread of this object by queued calls.
void Loader::load(const std::vector<std::string>& paths, const std::vector<std::string>& before,
                  uint64_t run) {
  using Clock = std::chrono::steady_clock;
  trace::ReadOptions options;
  options.cancel = &cancelled_;
  Clock::time_point last;
  options.progress = [&](uint64_t done, uint64_t total) {
    const Clock::time_point now = Clock::now();
    if (done < total && now - last < std::chrono::milliseconds(33)) return;
    last = now;
    post(run, [this, done, total] { emit progress(done, total); });
  };
  auto result =
      before.empty() ? load_session(paths, options) : load_comparison(before, paths, options);
  if (!result) {
    post(run, [this, sentence = QString::fromStdString(result.error())] { emit failed(sentence); });
    return;
  }
  const std::shared_ptr<const Session> session = result->session;
  post(run, [this, loaded_session = std::move(*result)] { emit loaded(loaded_session); });
  if (cancelled_) return;
  AnalysedSession analysed_session = analyse_session(*session, &cancelled_);
  if (analysed_session.report->is_cancelled) return;
  post(run, [this, result = std::move(analysed_session)] { emit analysed(result); });
}

}  // namespace redline::viewer
