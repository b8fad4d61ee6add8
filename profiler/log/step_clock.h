// Divides the time of the training thread among the parts of a step, as hooks enter and leave them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "trace/emit/step_log_terms.h"

namespace redline::profiler {

/// Of one thread, but state() may be read by any. Times are monotonic_ns(), also in the steps that
/// it gives.
class StepClock {
 public:
  /// A hook sees this part: where it does not occur, that is 0 from now on and not unseen.
  void know(trace::LogPart part) {
    known_ |= bit(part);
    seen_ |= bit(part);
  }

  void enter(trace::LogPart part, int64_t now_ns);
  /// Also leaves what was entered within `part` and never left. Nothing where it was not entered.
  void leave(trace::LogPart part, int64_t now_ns) { leave_as(part, part, now_ns); }
  /// Leaves `entered`, whose own time counts for `part`: only now is known what it was.
  void leave_as(trace::LogPart entered, trace::LogPart part, int64_t now_ns);
  /// What was loaded and computed forward since the last backward pass or step was no training.
  void evaluated(int64_t now_ns);
  /// Nothing since the last step belongs to one; but in the midst of a part, this does nothing.
  void pause();

  /// From now on it is another thread: what the one before was in, and what only it saw, does not
  /// count.
  void change_thread();

  /// The step from the end of the one before, or from where a batch was first waited for, or a
  /// model, a backward pass or an optimizer first ran. None where there is no such moment: that
  /// step begins nowhere, and the next begins now.
  [[nodiscard]] std::optional<trace::LoggedStep> end_step(int64_t now_ns);

  struct State {
    trace::LogPart part;
    int64_t since_ns;
  };
  /// What the thread is in now; none between parts.
  [[nodiscard]] std::optional<State> state() const;

 private:
  using Times = std::array<int64_t, trace::kLogParts>;

  static constexpr uint32_t bit(trace::LogPart part) { return 1U << static_cast<unsigned>(part); }
  static constexpr size_t index(trace::LogPart part) { return static_cast<size_t>(part); }
  void charge(int64_t now_ns);
  void publish();

  static constexpr size_t kDeepest = 16;
  std::array<State, kDeepest> open_{};
  std::array<int64_t, kDeepest> before_{};  // of each: the time of its part when it was entered
  size_t depth_ = 0;
  size_t too_deep_ = 0;  // entered beyond that, which counts for what they are in
  Times times_{};
  Times trained_{};  // of them, when a backward pass ended last
  int64_t trained_ns_ = 0;
  int64_t begin_ns_ = 0;    // of the step; 0: nobody knows
  int64_t charged_ns_ = 0;  // until when time is divided
  uint32_t seen_ = 0;
  uint32_t known_ = 0;  // of them, whatever the thread
  int64_t step_ = 0;
  std::atomic<uint64_t> state_{0};  // 0, or the time << 4 and the part + 1
};

}  // namespace redline::profiler
