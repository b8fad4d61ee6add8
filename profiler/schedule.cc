#include "profiler/schedule.h"

namespace redline {

Schedule::Action Schedule::action(int64_t step) const {
  if (!is_valid() || step < skip_first) return Action::kNone;
  step -= skip_first;
  const int64_t cycle = wait + warmup + active;
  if (repeat > 0 && step / cycle >= repeat) return Action::kNone;
  const int64_t position = step % cycle;
  if (position < wait) return Action::kNone;
  if (position < wait + warmup) return Action::kWarmup;
  return position < cycle - 1 ? Action::kRecord : Action::kRecordAndSave;
}

}  // namespace redline
