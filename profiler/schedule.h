// Says which steps of a training run are recorded, by the same rule as torch.profiler.schedule.
#pragma once

#include <cstdint>

namespace redline {

/// Skips `skip_first` steps, then repeats a cycle `repeat` times, or for ever if that is 0. In a
/// cycle the recorder is off for `wait` steps, on but discarding for `warmup` steps, and records
/// `active` steps. A schedule is valid if active > 0 and all numbers are from 0 to kMost.
struct Schedule {
  int64_t skip_first = 0;
  int64_t wait = 0;
  int64_t warmup = 0;
  int64_t active = 1;
  int64_t repeat = 0;

  enum class Action { kNone = 0, kWarmup = 1, kRecord = 2, kRecordAndSave = 3 };

  static constexpr int64_t kMost = 1'000'000'000'000'000;  ///< so that sums fit into int64_t

  bool operator==(const Schedule&) const = default;

  [[nodiscard]] bool is_valid() const {
    const auto fits = [](int64_t number) { return number >= 0 && number <= kMost; };
    return fits(skip_first) && fits(wait) && fits(warmup) && fits(active) && active > 0 &&
           fits(repeat);
  }

  /// What the recorder does in `step`, counted from 0; kNone if the schedule or step is invalid.
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
