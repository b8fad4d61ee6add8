#include "tuner/trial/trial_threads.h"

namespace redline::tuner {

TrialThreads::~TrialThreads() {
  if (stop_.load() == StopRequest::kNone) stop_ = StopRequest::kEnd;
}

void TrialThreads::start(size_t share, TrialSpec spec) {
  ++running_;
  threads_[share] = std::jthread([this, share, spec = std::move(spec)] {
    const int64_t id = spec.id;
    TrialResult result = run_trial_(spec, stop_, [&](const TrialProgress& progress) {
      push({share, id, progress});
    });
    push({share, id, std::move(result)});
  });
}

void TrialThreads::push(Event event) {
  {
    const std::lock_guard lock(mutex_);
    events_.push(std::move(event));
  }
  arrived_.notify_one();
}

std::optional<TrialThreads::Event> TrialThreads::next(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  if (!arrived_.wait_for(lock, patience, [this] { return !events_.empty(); })) return std::nullopt;
  Event event = std::move(events_.front());
  events_.pop();
  if (std::holds_alternative<TrialResult>(event.what)) --running_;
  return event;
}

}  // namespace redline::tuner
