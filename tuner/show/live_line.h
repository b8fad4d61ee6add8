// One line under the table that says what the running trials do; only on a terminal.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "base/terminal.h"
#include "tuner/trial/trial.h"

namespace redline::tuner {

class LiveLine {
 public:
  /// Writes to stderr, where that is a terminal.
  LiveLine();

  void start(int64_t id, const std::string& what, std::chrono::nanoseconds time_left);
  void show(int64_t id, const TrialProgress& progress);
  void finish(int64_t id) { running_.erase(id); }
  void clear();

 private:
  struct Running {
    std::string what;
    std::chrono::steady_clock::time_point began;
    TrialProgress progress;
  };
  [[nodiscard]] std::string text() const;

  bool on_;
  TextStyle style_;
  std::map<int64_t, Running> running_;  // by trial
  std::chrono::steady_clock::time_point ends_;
};

}  // namespace redline::tuner
