#include "profiler/job_steps.h"

#include "profiler/record.h"
#include "profiler/recorder.h"

namespace redline::profiler {

void JobSteps::begin(int64_t number, bool is_drawn) {
  if (!recorder_.is_alive()) return;
  recorder_.capture().step_begins();
  const std::lock_guard lock(mutex_);
  number_ = number;
  is_drawn_ = is_drawn;
  is_open_ = true;
  begin_ns_ = monotonic_ns();
}

void JobSteps::end() {
  if (!recorder_.is_alive()) return;
  {
    const std::lock_guard lock(mutex_);
    if (!is_open_) return;
    is_open_ = false;
    const auto number = static_cast<uint64_t>(number_);
    if (!is_drawn_ && recorder_.recording()) {
      recorder_.submit({.begin_ns = begin_ns_,
                        .of = OperatorFields{.end_ns = monotonic_ns(), .function_id = number},
                        .kind = RecordKind::kStep});
    }
  }
  recorder_.capture().step_ended();
}

}  // namespace redline::profiler
