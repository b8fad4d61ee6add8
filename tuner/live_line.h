// One line under the table that says what the running trial does; only on a terminal.
#pragma once

#include <chrono>
#include <string>

#include "tuner/trial.h"
#include "tuner/words.h"

namespace redline::tuner {

class LiveLine {
 public:
  /// Writes to stderr, where that is a terminal.
  LiveLine();

  void start(int64_t id, const std::string& what, std::chrono::nanoseconds time_left);
  void show(const TrialProgress& progress);
  void clear();

 private:
  bool on_;
  Style style_;
  int64_t id_ = 0;
  std::string what_;
  std::chrono::nanoseconds time_left_{0};
  std::chrono::steady_clock::time_point began_;
};

}  // namespace redline::tuner
