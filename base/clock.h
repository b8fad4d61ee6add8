// The clock for all recorded times, and a stop watch for the parts of a report.
#pragma once

#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

namespace redline {

/// CLOCK_MONOTONIC. Unlike the time-stamp counter, it needs no calibration and survives a suspended
/// machine. A reading takes 20 to 30 ns.
inline int64_t monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

/// How long one analysis took. Analyses may run beside each other, so the sum may exceed the wall
/// time.
struct AnalysisTime {
  std::string_view name;
  double seconds = 0;
};

/// Runs analyses, one after the other on the thread that asks, and keeps their times. Once `cancel`
/// is set, it runs no more of them.
class StopWatch {
 public:
  explicit StopWatch(const std::atomic<bool>* cancel) : cancel_(cancel) {}

  template <typename Run>
  void run(std::string_view name, Run analysis) {
    if (cancel_ != nullptr && cancel_->load()) return;
    const auto begin = std::chrono::steady_clock::now();
    analysis();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    times_.push_back({name, took.count()});
  }

  void append_to(std::vector<AnalysisTime>& times) const {
    times.insert(times.end(), times_.begin(), times_.end());
  }

 private:
  const std::atomic<bool>* cancel_;
  std::vector<AnalysisTime> times_;
};

}  // namespace redline
