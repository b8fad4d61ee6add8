// Decides which steps of a job are so slow that somebody will want to see them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace redline::profiler {

class SlowSteps {
 public:
  /// A step is slow if it takes more than `factor` times the median of the last kRemembered steps;
  /// with factor 0 no step is slow. After a slow step was told, further ones are only counted for
  /// `pause_ns`. Steps that hang have a limit of the same kind but separate, so that a slow step
  /// cannot keep a hang from being told.
  SlowSteps(double factor, int64_t pause_ns)
      : factor_(factor), shortest_pause_ns_(pause_ns), pause_ns_(pause_ns) {}

  /// Says why the step that has just ended is worth a trace; nullopt if it is not.
  [[nodiscard]] std::optional<std::string> judge(int64_t number, int64_t took_ns, int64_t now_ns);

  /// Whether a step that still runs after `took_ns` hangs: it would be slow even if it had begun
  /// kHangFloorNs later. A step that is only slow is reported after its end, so that the trace
  /// holds all of it.
  [[nodiscard]] bool hangs(int64_t took_ns) const {
    return is_slow(took_ns - kHangFloorNs, usual());
  }
  /// Says why a step that hangs is worth a trace; nullopt if another was told within the pause.
  /// When the step ends, call only remember().
  [[nodiscard]] std::optional<std::string> tell_hanging(int64_t number, int64_t took_ns,
                                                        int64_t now_ns);
  void remember(int64_t took_ns) { last_[seen_++ % kRemembered] = took_ns; }
  /// A trace took `took_ns` to write. From now on the pause is so long that writing takes at most
  /// one part in kWritingShare of the time, also for days on a slow disk.
  void written(int64_t took_ns) {
    pause_ns_ = std::max(shortest_pause_ns_, kWritingShare * took_ns);
  }

  [[nodiscard]] uint64_t not_told() const { return not_told_; }

 private:
  static constexpr size_t kRemembered = 64;
  static constexpr size_t kFewest = 8;  ///< steps before one can be called slow
  static constexpr int64_t kWritingShare = 50;
  static constexpr int64_t kHangFloorNs = 1'000'000'000;

  /// The median; 0 before there are enough steps.
  [[nodiscard]] int64_t usual() const;
  [[nodiscard]] bool is_slow(int64_t took_ns, int64_t usual_ns) const;
  using Told = std::optional<int64_t>;  ///< when the last one was
  [[nodiscard]] std::optional<std::string> tell(Told& told, const char* form, int64_t number,
                                                int64_t took_ns, int64_t usual_ns, int64_t now_ns);

  double factor_;
  int64_t shortest_pause_ns_;
  int64_t pause_ns_;
  std::array<int64_t, kRemembered> last_{};
  size_t seen_ = 0;
  Told slow_;
  Told hanging_;
  uint64_t not_told_ = 0;
};

}  // namespace redline::profiler
