// A stop watch for the parts of a report.
#pragma once

#include <atomic>
#include <chrono>
#include <string_view>
#include <vector>

namespace redline::trace {

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

}  // namespace redline::trace
