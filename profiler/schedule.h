// Which steps of a training run are recorded: torch.profiler.schedule, state by state.
#pragma once

#include <cstdint>

namespace redline {

/// Skips `skip_first` steps, then repeats wait (off), warm-up (on, discarded) and active (recorded)
/// `repeat` times; 0 means for ever. Valid where active > 0 and the others >= 0.
struct Schedule {
  int64_t skip_first = 0;
  int64_t wait = 0;
  int64_t warmup = 0;
  int64_t active = 1;
  int64_t repeat = 0;

  enum class Action { kNone = 0, kWarmup = 1, kRecord = 2, kRecordAndSave = 3 };

  [[nodiscard]] bool is_valid() const {
    return skip_first >= 0 && wait >= 0 && warmup >= 0 && active > 0 && repeat >= 0;
  }

  /// What `step` (from 0) is. An invalid schedule, or step, does nothing.
  [[nodiscard]] Action action(int64_t step) const {
    if (!is_valid() || step < skip_first) return Action::kNone;
    step -= skip_first;
    const int64_t cycle = wait + warmup + active;
    if (repeat > 0 && step / cycle >= repeat) return Action::kNone;
    const int64_t position = step % cycle;
    if (position < wait) return Action::kNone;
    if (position < wait + warmup) return Action::kWarmup;
    return position < cycle - 1 ? Action::kRecord : Action::kRecordAndSave;
  }
};

}  // namespace redline
