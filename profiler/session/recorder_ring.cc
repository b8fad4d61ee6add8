// The recorder as a flight recorder: options.ring_seconds > 0.
#include <unistd.h>

#include <deque>
#include <exception>
#include <string>
#include <utility>

#include "base/quiet_thread.h"
#include "profiler/cupti/cupti_source.h"
#include "profiler/session/control.h"
#include "profiler/session/recorder.h"

namespace redline::profiler {
namespace {

/// Nobody knows beforehand which slow step will matter, so the oldest trace makes room for a new
/// one.
void keep_last(std::deque<std::string>& traces, const std::string& path) {
  constexpr size_t kMostKept = 10;
  traces.push_back(path);
  if (traces.size() <= kMostKept) return;
  unlink(traces.front().c_str());
  traces.pop_front();
}

}  // namespace

Result Recorder::begin_ring(Session& session) {
  // Crashes and SIGTERM need the control thread. If it cannot start, the rest of the ring works.
  if (finish_on_signals()) hear_job_termination();
  steps_.watch_slow_steps(session.options.slow_step, session.options.ring_ns());
  if (!session.flight->begin([this](int64_t now_ns) { steps_.look(now_ns); })) {
    return tl::unexpected(std::string("start: the system has no thread left"));
  }
  return {};
}

bool Recorder::has_ring() {
  const std::lock_guard lock(mutex_);
  return session(lock, Owner::kProgram).flight &&
         session(lock, Owner::kProgram).state == State::kRecording;
}

tl::expected<std::string, std::string> Recorder::write_ring(const std::string& reason,
                                                            const std::string& directory) {
  if (auto alive = check_alive(); !alive) return tl::unexpected(alive.error());
  const std::lock_guard lock(mutex_);
  return write_ring_of(session(lock, Owner::kProgram), reason, directory);
}

void Recorder::write_slow_step() {
  const std::lock_guard lock(mutex_);
  write_slow_step_of(session(lock, Owner::kProgram));
}

void Recorder::write_termination() {
  const std::lock_guard lock(mutex_);
  Session& own = session(lock, Owner::kProgram);
  if (!own.flight || own.state != State::kRecording) return;
  if (const auto path = write_ring_of(own, "SIGTERM"); !path) say_not_written(path.error());
}

/// Also called before the ring is discarded, because the job may end before the control thread
/// wakes up.
void Recorder::write_slow_step_of(Session& own) {
  if (!own.flight || own.state != State::kRecording) return;
  const auto [reason, hangs] = steps_.take_slow_step();
  if (reason.empty()) return;
  const int64_t begin_ns = monotonic_ns();
  const auto path = write_ring_of(own, reason);
  steps_.slow_step_written(monotonic_ns() - begin_ns);
  if (path) {
    keep_last(hangs ? hang_traces_ : slow_traces_, *path);
  } else if (!std::exchange(own.has_told_of_slow_step, true)) {  // the next one gets another try
    say_not_written(path.error());
  }
}

tl::expected<std::string, std::string> Recorder::write_ring_of(Session& own,
                                                               const std::string& reason,
                                                               const std::string& directory) {
  if (!own.flight || own.state != State::kRecording) {
    return tl::unexpected(std::string("no flight recorder is running"));
  }
  std::string folder = directory.empty() ? own.options.directory : directory;
  if (folder.empty()) folder = ".";
  if (auto made = make_directory(folder); !made) return tl::unexpected(made.error());
  own.reason = reason;
  const std::string path = folder + "/" + default_trace_name();
  const auto written = write_ring_to(own, path);
  own.reason.clear();
  if (!written) return tl::unexpected(written.error());
  return path;
}

Result Recorder::write_ring_to(Session& session, const std::string& path) {
  Result result;
  const bool ran = run_quietly([&] {
    try {
      gpu_.deliver_for_ring();
      result = session.flight->write(assembler_options(session), path, last_words(session));
    } catch (const std::exception& exception) {
      result = tl::unexpected(std::string(exception.what()));
    }
  });
  if (!ran) return tl::unexpected(std::string("export: the system has no thread left"));
  if (result) note_saved(session, path);
  return result;
}

}  // namespace redline::profiler
