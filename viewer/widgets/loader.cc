#include "viewer/widgets/loader.h"

#include <algorithm>
#include <chrono>

namespace redline::viewer {

bool has_study(const std::vector<std::string>& paths) {
  return std::any_of(paths.begin(), paths.end(), is_study);
}

tl::expected<Tuning, std::string> load_lone_study(const std::vector<std::string>& paths) {
  if (paths.size() == 1) return load_tuning(paths.front());
  return tl::unexpected(std::string("A study is opened alone, without traces or other studies."));
}

Loader::Loader() {
  qRegisterMetaType<LoadedSession>();
  qRegisterMetaType<AnalysedSession>();
  qRegisterMetaType<ReadRanks>();
  cancel_ranks();
}

Loader::~Loader() {
  cancel();
  if (thread_.joinable()) thread_.join();
  if (ranks_thread_.joinable()) ranks_thread_.join();
}

void Loader::cancel() {
  cancel_ranks();
  if (run_.cancelled) run_.cancelled->store(true);
  ++run_.number;
}

void Loader::cancel_ranks() {
  if (ranks_run_.cancelled) ranks_run_.cancelled->store(true);
  ranks_run_.cancelled = std::make_shared<std::atomic<bool>>(false);
  ++ranks_run_.number;
}

// Waits for the thread before, because two loads at once would take the memory of both.
template <typename Work>
void Loader::start_thread(Work work) {
  if (run_.cancelled) run_.cancelled->store(true);
  ++run_.number;
  run_.cancelled = std::make_shared<std::atomic<bool>>(false);
  thread_ =
      std::thread([run = run_, work = std::move(work), before = std::move(thread_)]() mutable {
        if (before.joinable()) before.join();
        if (!run.cancelled->load()) work(run);
      });
}

void Loader::start(std::vector<std::string> paths, std::vector<std::string> before) {
  cancel_ranks();
  start_thread([this, paths = std::move(paths), before = std::move(before)](const Run& run) {
    load(paths, before, run);
  });
}

void Loader::analyse(const std::shared_ptr<const Session>& session, const RankPass& known) {
  start_thread([this, session, known](const Run& run) { sum_up(*session, known, run); });
}

// Some at a time, so that the first ones show before all are read.
void Loader::read_ranks(const std::shared_ptr<const Session>& session,
                        std::vector<uint32_t> ranks) {
  static constexpr size_t kAtOnce = 16;
  ranks_thread_ = std::thread([this, session, ranks = std::move(ranks), run = ranks_run_,
                               before = std::move(ranks_thread_)]() mutable {
    if (before.joinable()) before.join();
    for (size_t i = 0; i < ranks.size() && !run.cancelled->load(); i += kAtOnce) {
      const auto first = ranks.begin() + static_cast<std::ptrdiff_t>(i);
      const std::vector<uint32_t> some(
          first, first + static_cast<std::ptrdiff_t>(std::min(kAtOnce, ranks.size() - i)));
      auto read = viewer::read_ranks(*session, some, run.cancelled.get());
      QMetaObject::invokeMethod(
          this,
          [this, number = run.number, read = std::move(read)] {
            if (number == ranks_run_.number) emit ranks_read(read);
          },
          Qt::QueuedConnection);
    }
  });
}

template <typename Emit>
void Loader::post(const Run& run, Emit emit_signal) {
  QMetaObject::invokeMethod(
      this,
      [this, number = run.number, emit_signal = std::move(emit_signal)] {
        if (number == run_.number) emit_signal();
      },
      Qt::QueuedConnection);
}

void Loader::fail(const std::string& sentence, const Run& run) {
  post(run, [this, words = QString::fromStdString(sentence)] { emit failed(words); });
}

void Loader::load_study(const std::vector<std::string>& paths, const Run& run) {
  auto tuning = load_lone_study(paths);
  if (!tuning) return fail(tuning.error(), run);
  post(run, [this, result = std::move(*tuning)] { emit tuned(result); });
}

void Loader::load_logs(const std::vector<std::string>& paths, bool are_alone, const Run& run) {
  auto whole = load_run(paths);
  if (whole) {
    post(run, [this, result = std::move(*whole)] { emit run_read(result); });
  } else if (are_alone) {
    fail(whole.error(), run);
  }
}

// Runs on the loading thread. Results go to this object's thread by queued calls.
void Loader::load(const std::vector<std::string>& paths, const std::vector<std::string>& before,
                  const Run& run) {
  if (has_study(paths)) return load_study(paths, run);
  const bool has_logs = before.empty() && has_run(paths);
  if (has_logs && is_run(paths)) return load_logs(paths, true, run);
  using Clock = std::chrono::steady_clock;
  trace::ReadOptions options;
  options.cancel = run.cancelled.get();
  Clock::time_point last;
  options.progress = [&](uint64_t done, uint64_t total) {
    const Clock::time_point now = Clock::now();
    if (done < total && now - last < std::chrono::milliseconds(33)) return;
    last = now;
    post(run, [this, done, total] { emit progress(done, total); });
  };
  const bool are_many = before.empty() && opens_first_ranks(paths, many_ranks_);
  if (are_many) {
    // The first ranks are there soon.
  } else if (auto first = load_beginning(before, paths, first_look_, options)) {
    post(run, [this, session = *std::move(first)] { emit begun(session); });
  }
  auto result = before.empty() ? load_session(paths, options, many_ranks_)
                               : load_comparison(before, paths, options);
  if (!result) return fail(result.error(), run);
  const std::shared_ptr<const Session> session = result->session;
  post(run, [this, loaded_session = std::move(*result)] { emit loaded(loaded_session); });
  if (has_logs) load_logs(paths, false, run);
  sum_up(*session, {}, run);
}

void Loader::sum_up(const Session& session, const RankPass& known, const Run& run) {
  if (run.cancelled->load()) return;
  using Clock = std::chrono::steady_clock;
  Clock::time_point last;
  const auto tell = [&](size_t done, size_t total) {
    const Clock::time_point now = Clock::now();
    if (done < total && now - last < std::chrono::milliseconds(200)) return;
    last = now;
    post(run, [this, done, total] { emit summed(done, total); });
  };
  AnalysedSession analysed_session = analyse_session(session, run.cancelled.get(), known, tell);
  if (analysed_session.report->is_cancelled) return;
  post(run, [this, result = std::move(analysed_session)] { emit analysed(result); });
}

}  // namespace redline::viewer
