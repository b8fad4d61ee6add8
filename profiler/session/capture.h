// A capture of some steps that somebody outside the program asked for, by `redline trigger` or
// SIGUSR2.
//
// The control thread arms the capture and writes its trace. The training thread starts and stops
// the window, because only that thread knows when steps begin and end. While nobody asks, a step
// costs one load.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "profiler/request/options.h"
#include "profiler/session/recorder_lock.h"

namespace redline::profiler {

class Recorder;

class Capture {
 public:
  explicit Capture(Recorder& recorder) : recorder_(recorder) {}

  // For the control thread.
  /// Begins the warm-up; the window begins with the next step. Fails while anything is recorded.
  [[nodiscard]] tl::expected<void, std::string> arm(const Options& options, int64_t steps,
                                                    std::string_view reason);
  /// Discards a capture that waits for its first step. One that has begun goes on.
  void give_up();
  /// The process ends. From now on no capture is armed or given up: both call LibTorch, which may
  /// be half destroyed.
  void end() { is_over_ = true; }

  struct Progress {
    enum class Phase { kNone, kWaiting, kRecording, kRecorded, kFailed } phase = Phase::kNone;
    int64_t done = 0;
    int64_t steps = 0;
    std::string why;  ///< only with kFailed
  };
  [[nodiscard]] Progress progress();
  /// To be called after kRecorded: writes the trace and gives its path. Then another capture may be
  /// armed.
  [[nodiscard]] tl::expected<std::string, std::string> write();

  // For the training thread, when a step begins and when it has ended.
  void step_begins() {
    if (is_busy()) start();
  }
  void step_ended() {
    if (is_busy()) count_step();
  }
  /// None follows the last one: a capture ends with the steps that it has, or fails without any.
  void steps_ended();

  /// Whether a capture is under way: it waits for a step, records, or has yet to be written.
  [[nodiscard]] bool is_busy() const { return is_busy_.load(std::memory_order_acquire); }

  /// Whether a capture with stacks or modules is being recorded, and whether it ends with the
  /// present step.
  enum class Stacks { kNone, kWanted, kEndWithStep };
  [[nodiscard]] Stacks stacks();

  /// The recorder has ended or discarded the capture's window, because a window of the program
  /// begins. If the capture had begun, the steps so far are its result.
  void cut_short(const RecorderLock& lock, bool has_begun);

 private:
  void start();
  void count_step();

  Recorder& recorder_;
  std::atomic<bool> is_busy_ = false;
  std::atomic<bool> is_over_ = false;
  std::mutex mutex_;  ///< for all below; taken after the recorder's
  Progress progress_;
  std::string directory_;
  bool with_calls_ = false;
};

}  // namespace redline::profiler
