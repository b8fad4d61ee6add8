// A capture of some steps that somebody outside the program asked for: redline trigger, SIGUSR2.
//
// The control thread arms it and writes it; the training thread, which alone knows where steps
// begin and end, starts and stops its window there. While nobody asks, a step costs one load.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "profiler/request/options.h"

namespace redline::profiler {

class Recorder;

class Capture {
 public:
  explicit Capture(Recorder& recorder) : recorder_(recorder) {}

  // Control thread.
  /// Warm-up begins; the window begins with the next step. Fails while anything is being recorded.
  [[nodiscard]] tl::expected<void, std::string> arm(const Options& options, int64_t steps,
                                                    std::string_view reason);
  /// Lets an armed capture go; one that has begun goes on.
  void give_up();

  struct Progress {
    enum class Phase { kNone, kWaiting, kRecording, kRecorded, kFailed } phase = Phase::kNone;
    int64_t done = 0;
    int64_t steps = 0;
    std::string why;  ///< of kFailed
  };
  [[nodiscard]] Progress progress();
  /// After kRecorded: the trace's path. Afterwards another capture may be armed.
  [[nodiscard]] tl::expected<std::string, std::string> write();

  // Training thread, where a step begins and has ended.
  void step_begins() {
    if (is_busy_.load(std::memory_order_acquire)) start();
  }
  void step_ended() {
    if (is_busy_.load(std::memory_order_acquire)) count_step();
  }

  /// Whether a capture with stacks is being recorded, and with the step that began last ends.
  enum class Stacks { kNone, kWanted, kEndWithStep };
  [[nodiscard]] Stacks stacks();

  /// The program's own window begins, and the recorder has ended or discarded the capture's window:
  /// what was captured so far is the capture.
  void cut_short(const std::lock_guard<std::mutex>& recorder_lock, bool has_begun);

 private:
  void start();
  void count_step();

  Recorder& recorder_;
  std::atomic<bool> is_busy_ = false;
  std::mutex mutex_;  ///< for all below; taken after the recorder's
  Progress progress_;
  std::string directory_;
  bool with_stack_ = false;
};

}  // namespace redline::profiler
