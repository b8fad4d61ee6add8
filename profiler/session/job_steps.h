// The steps of the training loop, as a front end or the program tells them. Each becomes a
// "ProfilerStep#n" slice of the recorded window, and captures begin and end with steps.
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

  /// A step begins on this thread. `has_own_slice` says that somebody else records its slice, as
  /// the program's own torch.profiler does.
  void begin(int64_t number, bool has_own_slice);
  /// The open step ends. Does nothing if no step is open.
  void end();

  /// From now on the flight recorder's trace is written after a slow step (slow_steps.h).
  void watch_slow_steps(double factor, int64_t pause_ns);
  /// To be called every now and then: looks whether the open step hangs.
  void look(int64_t now_ns);
  struct SlowStep {
    std::string reason;  ///< why the flight recorder's trace shall be written; "" if it shall not
    bool hangs = false;
  };
  /// Gives each slow step once.
  [[nodiscard]] SlowStep take_slow_step();
  /// Its trace took so long to write.
  void slow_step_written(int64_t took_ns);
  /// How many slow steps got no trace, because they came too soon after another.
  [[nodiscard]] uint64_t slow_steps_not_told();

 private:
  [[nodiscard]] Record record() const;
  void write_ring(std::optional<std::string> reason);

  Recorder& recorder_;
  std::mutex mutex_;
  bool is_open_ = false;
  bool has_own_slice_ = false;
  bool is_hanging_ = false;  ///< the open step was found to hang, and its end needs no judgement
  int64_t number_ = 0;
  int64_t begin_ns_ = 0;
  OpenSlice* slice_ = nullptr;
  std::optional<SlowSteps> slow_steps_;
  SlowStep slow_step_;
};

}  // namespace redline::profiler
