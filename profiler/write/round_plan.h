// When the writer thread empties the logs.
//
// Each round costs the job as much of a core as its records need to be formatted and compressed.
// Where a core is free, that disturbs nobody, and early rounds find the records in the caches.
// Where other work crowds the cores, the writer thread would take its share from the training
// thread. So there the records wait for a second, and a short window's until it has ended.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "machine/thread_times.h"

namespace redline::profiler {

class RoundPlan {
 public:
  /// `is_pressed`: the memory of records or texts becomes short.
  [[nodiscard]] bool is_due(int64_t now_ns, bool is_pressed) const {
    return now_ns >= (is_pressed ? begun_ns_ + kIntervalNs : next_ns());
  }
  /// When the next round is due if nothing presses.
  [[nodiscard]] int64_t next_ns() const {
    return begun_ns_ + (is_crowded_ ? kCrowdedIntervalNs : kIntervalNs);
  }
  /// A round begins. Returns when the one before it began.
  int64_t begin(int64_t now_ns) { return std::exchange(begun_ns_, now_ns); }
  [[nodiscard]] int64_t begun_ns() const { return begun_ns_; }
  /// The logs are empty. `times` are those of the writer thread.
  void end(const std::optional<machine::ThreadTimes>& times) {
    if (!times) return;
    // A wait of half the time on a core is no accident: more threads are ready than there are
    // cores.
    is_crowded_ = times->wait_ns - times_.wait_ns > (times->run_ns - times_.run_ns) / 2;
    times_ = *times;
  }

 private:
  static constexpr int64_t kIntervalNs = 50'000'000;
  static constexpr int64_t kCrowdedIntervalNs = 1'000'000'000;

  int64_t begun_ns_ = 0;
  machine::ThreadTimes times_;
  bool is_crowded_ = false;
};

}  // namespace redline::profiler
