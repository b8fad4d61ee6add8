#include "profiler/session/capture.h"

#include "profiler/session/control.h"
#include "profiler/session/recorder.h"

namespace redline::profiler {

using Phase = Capture::Progress::Phase;

tl::expected<void, std::string> Capture::arm(const Options& options, int64_t steps,
                                             std::string_view reason) {
  if (is_busy_) return tl::unexpected(std::string("a capture is under way already"));
  if (is_over_) return tl::unexpected(std::string("the process is ending"));
  Options own = options;
  if (own.directory.empty()) own.directory = ".";
  // The path is told to whoever asked, and that process may have another working directory.
  const auto directory = whole_path(own.directory);
  if (!directory) return tl::unexpected(directory.error());
  own.directory = *directory;
  if (auto prepared = recorder_.prepare(own, Owner::kDemand); !prepared) return prepared;
  recorder_.set_reason(std::string(reason), Owner::kDemand);
  const std::lock_guard lock(mutex_);
  progress_ = {Phase::kWaiting, 0, steps, ""};
  directory_ = own.directory;
  with_calls_ = own.with_stack || own.with_modules;
  is_busy_ = true;
  return {};
}

void Capture::give_up() {
  if (is_over_) return;
  {
    const std::lock_guard lock(mutex_);
    if (progress_.phase != Phase::kWaiting) return;
    progress_ = {};
    is_busy_ = false;
  }
  static_cast<void>(recorder_.discard(Owner::kDemand));
}

Capture::Progress Capture::progress() {
  const std::lock_guard lock(mutex_);
  Progress progress = progress_;
  if (progress_.phase == Phase::kFailed) progress_ = {};
  return progress;
}

void Capture::start() {
  {
    const std::lock_guard lock(mutex_);
    if (progress_.phase != Phase::kWaiting) return;
  }
  const auto started = recorder_.start(Owner::kDemand);
  {
    const std::lock_guard lock(mutex_);
    if (progress_.phase != Phase::kWaiting) return;
    progress_.phase = started ? Phase::kRecording : Phase::kFailed;
    if (!started) progress_.why = started.error();
    is_busy_ = started.has_value();
  }
  wake_control_thread(Call::kProgress);
}

void Capture::count_step() {
  bool is_last = false;
  {
    const std::lock_guard lock(mutex_);
    if (progress_.phase != Phase::kRecording) return;
    is_last = ++progress_.done == progress_.steps;
  }
  if (is_last && recorder_.stop(Owner::kDemand)) {
    const std::lock_guard lock(mutex_);
    progress_.phase = Phase::kRecorded;
  }
  wake_control_thread(Call::kProgress);
}

void Capture::steps_ended() {
  if (!is_busy()) return;
  Phase phase;
  {
    const std::lock_guard lock(mutex_);
    phase = progress_.phase;
  }
  if (phase == Phase::kRecording && recorder_.stop(Owner::kDemand)) {
    const std::lock_guard lock(mutex_);
    progress_.phase = Phase::kRecorded;
  } else if (phase == Phase::kWaiting) {
    static_cast<void>(recorder_.discard(Owner::kDemand));
    const std::lock_guard lock(mutex_);
    if (progress_.phase != Phase::kWaiting) return;  // given up meanwhile
    progress_.phase = Phase::kFailed;
    progress_.why = "no step follows: the program's profiler has ended";
    is_busy_ = false;
  }
  wake_control_thread(Call::kProgress);
}

Capture::Stacks Capture::stacks() {
  if (!is_busy()) return Stacks::kNone;
  const std::lock_guard lock(mutex_);
  if (progress_.phase != Phase::kRecording || !with_calls_) return Stacks::kNone;
  return progress_.done + 1 == progress_.steps ? Stacks::kEndWithStep : Stacks::kWanted;
}

void Capture::cut_short(const RecorderLock&, bool has_begun) {
  const std::lock_guard lock(mutex_);
  if (progress_.phase == Phase::kNone) return;
  if (has_begun) {
    progress_.phase = Phase::kRecorded;
  } else {
    progress_.phase = Phase::kFailed;
    progress_.why = "the job's own schedule began to record";
    is_busy_ = false;
  }
  wake_control_thread(Call::kProgress);
}

tl::expected<std::string, std::string> Capture::write() {
  std::string directory;
  {
    const std::lock_guard lock(mutex_);
    directory = directory_;
  }
  auto path = recorder_.save_in(directory, Owner::kDemand);
  static_cast<void>(recorder_.discard(Owner::kDemand));
  const std::lock_guard lock(mutex_);
  progress_ = {};
  is_busy_ = false;
  return path;
}

}  // namespace redline::profiler
