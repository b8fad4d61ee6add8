#include "profiler/session/job_steps.h"

#include <utility>

#include "profiler/session/control.h"
#include "profiler/session/recorder.h"

namespace redline::profiler {

void JobSteps::begin(int64_t number, bool has_own_slice) {
  if (!recorder_.is_alive()) return;
  recorder_.capture().step_begins();
  const std::lock_guard lock(mutex_);
  number_ = number;
  has_own_slice_ = has_own_slice;
  is_open_ = true;
  is_hanging_ = false;
  begin_ns_ = monotonic_ns();
  recorder_.drop_slice(std::exchange(slice_, nullptr));
  if (!has_own_slice && recorder_.recording()) slice_ = recorder_.begin_slice(record());
}

Record JobSteps::record() const {
  const OperatorFields fields = {.function_id = static_cast<uint64_t>(number_)};
  return {.begin_ns = begin_ns_, .of = fields, .kind = RecordKind::kStep};
}

void JobSteps::end() {
  if (!recorder_.is_alive()) return;
  {
    const std::lock_guard lock(mutex_);
    if (!is_open_) return;
    is_open_ = false;
    const int64_t end_ns = monotonic_ns();
    if (!has_own_slice_) {
      Record ended = record();
      ended.of.op.end_ns = end_ns;
      recorder_.end_slice(std::exchange(slice_, nullptr), ended);
    }
    if (slow_steps_ && is_hanging_) {
      slow_steps_->remember(end_ns - begin_ns_);
    } else if (slow_steps_) {
      write_ring(slow_steps_->judge(number_, end_ns - begin_ns_, end_ns));
    }
  }
  recorder_.capture().step_ended();
}

void JobSteps::look(int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  if (!slow_steps_ || !is_open_ || is_hanging_) return;
  const int64_t took_ns = now_ns - begin_ns_;
  is_hanging_ = slow_steps_->hangs(took_ns);
  if (is_hanging_) write_ring(slow_steps_->tell_hanging(number_, took_ns, now_ns));
}

void JobSteps::write_ring(std::optional<std::string> reason) {
  if (!reason) return;
  slow_step_ = {*reason, is_hanging_};
  wake_control_thread(Call::kSlowStep);
}

void JobSteps::watch_slow_steps(double factor, int64_t pause_ns) {
  const std::lock_guard lock(mutex_);
  slow_steps_.emplace(factor, pause_ns);
  slow_step_ = {};
}

uint64_t JobSteps::slow_steps_not_told() {
  const std::lock_guard lock(mutex_);
  return slow_steps_ ? slow_steps_->not_told() : 0;
}

JobSteps::SlowStep JobSteps::take_slow_step() {
  const std::lock_guard lock(mutex_);
  return std::exchange(slow_step_, {});
}

void JobSteps::slow_step_written(int64_t took_ns) {
  const std::lock_guard lock(mutex_);
  if (slow_steps_) slow_steps_->written(took_ns);
}

}  // namespace redline::profiler
