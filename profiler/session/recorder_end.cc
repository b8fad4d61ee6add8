// The recorder at the end of its process.
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "profiler/cupti/cupti_source.h"
#include "profiler/session/recorder.h"

namespace redline::profiler {
namespace {

// At the end of the process, the recorder waits so long for a thread that waits for GPUs: 4 s.
constexpr auto kLookAtEnd = std::chrono::milliseconds(10);
constexpr int kMostLooksAtEnd = 400;
// And so long for NVML and CUPTI. A thread that has crashed waits 4 s in all for its trace.
constexpr auto kMostWaitForDriver = std::chrono::seconds(2);
constexpr auto kMostWaitInNeed = std::chrono::seconds(1);

}  // namespace

/// Locks the mutex. Another thread may hold it because it ends a window and waits for GPUs. It is
/// told to hurry; if it still waits 4 s later, this gives false and does not lock.
bool Recorder::lock_unless_gpus_hang() {
  gpu_.hurry();
  for (int looks = 0; !mutex_.try_lock(); looks = gpu_.waits_for_gpus() ? looks + 1 : 0) {
    if (looks == kMostLooksAtEnd) return false;
    std::this_thread::sleep_for(kLookAtEnd);
  }
  return true;
}

void Recorder::write_at_end(Session& session) {
  if (session.window && session.options.only_with_work) {
    session.window->wait();
    if (session.window->has_only_samples()) return;
  }
  const std::string folder = session.options.directory.empty() ? "." : session.options.directory;
  static_cast<void>(make_directory(folder));  // somebody may have removed it
  const auto written = write_window(session, folder + "/" + default_trace_name());
  if (!written) say_not_written(written.error());  // a .partial file stays
}

/// Leaves the sources enabled, because LibTorch may be half destroyed by now.
void Recorder::finish(const std::string& reason) {
  // If the mutex is ours, a signal handler of the job has come within a call of the recorder and
  // ends the process. That call never returns; its .partial file stays.
  if (is_child_ || mutex_.is_mine()) return;
  const int64_t end_ns = monotonic_ns();
  want_no_more_records();
  if (reason.empty()) {
    mutex_.lock();
  } else if (pace_.lift(); !lock_unless_gpus_hang()) {
    // A process that is told to end must not wait for ever. Its .partial file stays.
    return;
  }
  const RecorderLock lock(mutex_, std::adopt_lock);
  is_over_ = true;
  const auto until =
      std::chrono::steady_clock::now() + (reason.empty() ? kMostWaitForDriver : kMostWaitInNeed);
  gpu_sampler_.ask_to_stop();  // if both hang, one wait is enough
  gpu_.let_go(until);
  gpu_sampler_.disable_until(until);  // before the process unloads NVML
  if (reason.empty()) write_slow_step_of(session(lock, Owner::kProgram));
  for (Session& each : sessions_) {
    const bool is_wanted = each.flight ? !reason.empty() : !each.options.directory.empty();
    if (!reason.empty()) each.reason = reason;
    if (each.state == State::kRecording && is_wanted) end_window(each, end_ns);
    if (each.state == State::kStopped && !each.saved && is_wanted) {
      write_at_end(each);
    }
    each.window.reset();
    each.flight.reset();
    each.state = State::kIdle;
  }
}

}  // namespace redline::profiler
