// Records two steps of a running job now and then, so that there is evidence of each of its hours:
// what `redline run --log DIR --every 10m` does.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/quiet_thread.h"

namespace redline::launch {

/// Asks the recorded descendants of this process for a window at each interval, from a thread of
/// its own. The traces of a window lie in a folder of their own, DIRECTORY/2026-11-23T07-10-00Z.
///
/// The job loses at most 0.1 % of its time: if a window takes long, the next one comes later; if no
/// step begins within some seconds, there is none this time. The disk does not fill up: all windows
/// of the last hour stay, and the first of each hour before.
class PeriodicWindows {
 public:
  /// `directory` is absolute. Nothing happens before the first interval is over, nor if the system
  /// has no thread left.
  PeriodicWindows(std::string directory, std::chrono::nanoseconds every);

  /// Ends it, and also an unfinished request, whose window the job may still write. Gives how many
  /// windows have at least one trace, also of those that were removed later.
  int64_t stop();

 private:
  using Clock = std::chrono::steady_clock;
  struct Window {
    std::string folder;
    std::chrono::nanoseconds begin;  ///< since the start
  };

  void run();
  void record();
  void remove_old(std::chrono::nanoseconds now);

  const std::string directory_;
  const std::chrono::nanoseconds every_;
  const Clock::time_point start_ = Clock::now();
  std::vector<Window> windows_;
  int64_t count_ = 0;
  PausingThread thread_;  // the last, so that it ends before what it uses
};

/// When to begin the next window, after the begin of one that took `took`. Of a window's time,
/// recording takes less than a half (steps of up to 1.7 times the length, docs/gpu.md), so 500
/// times that long makes less than 0.1 %.
[[nodiscard]] std::chrono::nanoseconds pause_after(std::chrono::nanoseconds took,
                                                   std::chrono::nanoseconds every);

/// Which of the windows that began at `begins` (ascending, since the start) are to be removed.
[[nodiscard]] std::vector<size_t> superfluous_windows(
    const std::vector<std::chrono::nanoseconds>& begins, std::chrono::nanoseconds now);

}  // namespace redline::launch
