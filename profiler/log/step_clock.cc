#include "profiler/log/step_clock.h"

namespace redline::profiler {

using trace::LogPart;
namespace {

/// What else may happen while a script only sets itself up, such as garbage collection.
bool begins_job(LogPart part) {
  return part == LogPart::kDataWait || part == LogPart::kForward || part == LogPart::kBackward ||
         part == LogPart::kOptimizer;
}

}  // namespace

[[gnu::hot]] void StepClock::charge(int64_t now_ns) {
  if (depth_ > 0) times_[index(open_[depth_ - 1].part)] += now_ns - charged_ns_;
  charged_ns_ = now_ns;
}

[[gnu::hot]] void StepClock::publish() {
  uint64_t state = 0;
  if (depth_ > 0) {
    const State& top = open_[depth_ - 1];
    state = (static_cast<uint64_t>(top.since_ns) << 4) + index(top.part) + 1;
  }
  state_.store(state, std::memory_order_relaxed);
}

std::optional<StepClock::State> StepClock::state() const {
  const uint64_t state = state_.load(std::memory_order_relaxed);
  if (state == 0) return {};
  return State{static_cast<LogPart>((state & 15) - 1), static_cast<int64_t>(state >> 4)};
}

[[gnu::hot]] void StepClock::enter(LogPart part, int64_t now_ns) {
  if (begin_ns_ == 0) {
    if (!begins_job(part)) return;
    begin_ns_ = trained_ns_ = now_ns;
  }
  // The compiler makes what is collected then: to collect less often helps nobody who compiles
  // again.
  if (part == LogPart::kGarbageCollection && depth_ > 0 && depth_ < kDeepest &&
      open_[depth_ - 1].part == LogPart::kCompile) {
    return;
  }
  charge(now_ns);
  seen_ |= bit(part);
  if (depth_ == kDeepest) {
    ++too_deep_;
    return;
  }
  before_[depth_] = times_[index(part)];
  open_[depth_++] = {part, now_ns};
  publish();
}

[[gnu::hot]] void StepClock::leave_as(LogPart entered, LogPart part, int64_t now_ns) {
  if (too_deep_ > 0) {
    --too_deep_;
    return;
  }
  size_t depth = depth_;
  while (depth > 0 && open_[depth - 1].part != entered) --depth;
  if (depth == 0) return;
  charge(now_ns);
  depth_ = depth - 1;
  publish();
  if (part != entered) {
    int64_t& time_ns = times_[index(entered)];
    const int64_t own_ns = time_ns - before_[depth_];
    time_ns -= own_ns;
    times_[index(part)] += own_ns;
    seen_ |= bit(part);
  }
  if (part == LogPart::kBackward) {
    trained_ = times_;
    trained_ns_ = now_ns;
  }
}

void StepClock::pause() {
  if (depth_ > 0) return;
  begin_ns_ = 0;
  times_ = trained_ = {};
}

void StepClock::change_thread() {
  depth_ = too_deep_ = 0;
  times_ = trained_ = {};
  seen_ = known_;
  publish();
}

void StepClock::evaluated(int64_t now_ns) {
  if (begin_ns_ == 0) return;
  charge(now_ns);
  int64_t other = 0;  // what an evaluation is not: a checkpoint, garbage collection and so on
  for (size_t part = 0; part < trace::kLogParts; ++part) other += times_[part] - trained_[part];
  for (const LogPart part : {LogPart::kDataWait, LogPart::kHandOver, LogPart::kForward}) {
    other -= times_[index(part)] - trained_[index(part)];
    times_[index(part)] = trained_[index(part)];
  }
  times_[index(LogPart::kEvaluation)] += now_ns - trained_ns_ - other;
  seen_ |= bit(LogPart::kEvaluation);
  trained_ = times_;
  trained_ns_ = now_ns;
}

[[gnu::hot]] std::optional<trace::LoggedStep> StepClock::end_step(int64_t now_ns) {
  charge(now_ns);
  trace::LoggedStep step;
  step.step = step_++;
  step.begin_ns = begin_ns_;
  step.length_ns = step.shortest_ns = step.longest_ns = now_ns - begin_ns_;
  for (size_t part = 0; part < trace::kLogParts; ++part) {
    if ((seen_ >> part & 1) != 0) step.part_ns[part] = times_[part];
  }
  const bool has_begun = begin_ns_ != 0;
  begin_ns_ = trained_ns_ = now_ns;
  times_ = trained_ = {};
  before_ = {};
  if (!has_begun) return {};
  return step;
}

}  // namespace redline::profiler
