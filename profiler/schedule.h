// Which steps of a training run are recorded: torch.profiler.schedule, state by state.
#pragma once

#include <cstdint>

namespace redline {

/// Skips `skip_first` steps, then repeats wait (off), warm-up (on, discarded) and active (recorded)
/// `repeat` times; 0 means for ever. Valid where active > 0, and all are from 0 to kMost.
struct Schedule {
  int64_t skip_first = 0;
  int64_t wait = 0;
  int64_t warmup = 0;
  int64_t active = 1;
  int64_t repeat = 0;

  enum class Action { kNone = 0, kWarmup = 1, kRecord = 2, kRecordAndSave = 3 };

  static constexpr int64_t kMost = 1'000'000'000'000'000;  ///< of each number: sums must fit

  [[nodiscard]] bool is_valid() const {
    const auto fits = [](int64_t number) { return number >= 0 && number <= kMost; };
    return fits(skip_first) && fits(wait) && fits(warmup) && fits(active) && active > 0 &&
           fits(repeat);
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
