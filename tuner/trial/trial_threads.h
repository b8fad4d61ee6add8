// Runs trials side by side, each watched by a thread of its own. Their events come back in one
// queue, so that everything else stays on one thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <queue>
#include <thread>
#include <variant>

#include "tuner/trial/trial.h"

namespace redline::tuner {

class TrialThreads {
 public:
  struct Event {
    size_t share = 0;
    int64_t id = 0;
    std::variant<TrialProgress, TrialResult> what;  ///< a result is the trial's last event
  };

  /// `run_trial` must outlive this.
  explicit TrialThreads(const TrialRunner& run_trial) : run_trial_(run_trial) {}
  /// Ends the trials that still run and waits for them.
  ~TrialThreads();
  TrialThreads(const TrialThreads&) = delete;
  TrialThreads& operator=(const TrialThreads&) = delete;
  TrialThreads(TrialThreads&&) = delete;
  TrialThreads& operator=(TrialThreads&&) = delete;

  void start(size_t share, TrialSpec spec);
  void stop(StopRequest request) { stop_ = request; }
  [[nodiscard]] size_t running() const { return running_; }

  /// The next event; nullopt if none came within `patience`.
  std::optional<Event> next(std::chrono::milliseconds patience);

 private:
  void push(Event event);

  const TrialRunner& run_trial_;
  std::atomic<StopRequest> stop_{StopRequest::kNone};
  size_t running_ = 0;  // trials whose result was not taken out of the queue yet
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::queue<Event> events_;
  // By share. The last member: they are joined before what they use is gone.
  std::map<size_t, std::jthread> threads_;
};

}  // namespace redline::tuner
