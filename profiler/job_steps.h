// The training loop's steps, as a front end or the program tells them: each becomes a
// "ProfilerStep#n" slice of the window that is recorded, and captures begin and end with them.
#pragma once

#include <cstdint>
#include <mutex>

namespace redline::profiler {

class Recorder;

class JobSteps {
 public:
  explicit JobSteps(Recorder& recorder) : recorder_(recorder) {}

  /// A step begins on this thread. `is_drawn`: someone else draws its slice, as the program's own
  /// torch.profiler does.
  void begin(int64_t number, bool is_drawn);
  /// The step that began last, if any is open, has ended.
  void end();

 private:
  Recorder& recorder_;
  std::mutex mutex_;
  bool is_open_ = false;
  bool is_drawn_ = false;
  int64_t number_ = 0;
  int64_t begin_ns_ = 0;
};

}  // namespace redline::profiler
