// The training loop's steps, as a front end or the program tells them: each becomes a
// "ProfilerStep#n" slice of the window that is recorded, and captures begin and end with them.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "profiler/log/record.h"
#include "profiler/session/slow_steps.h"

namespace redline::profiler {

class OpenSlice;
class Recorder;

class JobSteps {
 public:
  explicit JobSteps(Recorder& recorder) : recorder_(recorder) {}

  /// A step begins on this thread. `has_own_slice`: someone else records its slice, as the
  /// program's own torch.profiler does.
  void begin(int64_t number, bool has_own_slice);
  /// The step that began last, if any is open, has ended.
  void end();

  /// From now on a slow step (slow_steps.h) has the flight recorder written.
  void watch_slow_steps(double factor, int64_t pause_ns);
  /// Called every now and then, to see whether the step that is open hangs.
  void look(int64_t now_ns);
  /// Why the flight recorder is to be written. It tells this once; "" means that it is not.
  [[nodiscard]] std::string take_slow_step();
  /// Slow steps for which nothing was written: too soon after another, or after too many.
  [[nodiscard]] uint64_t slow_steps_not_told();

 private:
  [[nodiscard]] Record record() const;
  void write_ring(std::optional<std::string> reason);

  Recorder& recorder_;
  std::mutex mutex_;
  bool is_open_ = false;
  bool has_own_slice_ = false;
  bool is_hanging_ = false;  ///< which was judged, once
  int64_t number_ = 0;
  int64_t begin_ns_ = 0;
  OpenSlice* slice_ = nullptr;
  std::optional<SlowSteps> slow_steps_;
  std::string slow_step_;
};

}  // namespace redline::profiler
