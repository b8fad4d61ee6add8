// Which steps of a training run are recorded: torch.profiler.schedule, state by state.
#pragma once

#include <cstdint>

#include "profiler/c_api.h"

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
  [[nodiscard]] REDLINE_API Action action(int64_t step) const;
};

}  // namespace redline
