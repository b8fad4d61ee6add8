// Tells which steps of a job are so slow that somebody will want to see them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace redline::profiler {

class SlowSteps {
 public:
  /// A step is slow that takes more than `factor` times the median of those before; 0: none is.
  /// Of slow steps within `pause_ns` of one that was told, and after kMostTold, none is told.
  SlowSteps(double factor, int64_t pause_ns) : factor_(factor), pause_ns_(pause_ns) {}

  /// Why the step that has just ended is worth a trace.
  [[nodiscard]] std::optional<std::string> judge(int64_t number, int64_t took_ns, int64_t now_ns);

  [[nodiscard]] uint64_t not_told() const { return not_told_; }

 private:
  static constexpr size_t kRemembered = 64;
  static constexpr size_t kFewest = 8;  ///< steps before one can be called slow
  static constexpr uint64_t kMostTold = 10;

  [[nodiscard]] int64_t median() const;

  double factor_;
  int64_t pause_ns_;
  std::array<int64_t, kRemembered> last_{};
  size_t seen_ = 0;
  std::optional<int64_t> told_ns_;
  uint64_t told_ = 0;
  uint64_t not_told_ = 0;
};

}  // namespace redline::profiler
