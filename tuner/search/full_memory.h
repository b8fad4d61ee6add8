// From which batch size on memory may be nearly full, where nobody tells how much is used.
//
// An allocator that has hardly any memory left searches and frees again and again, so the largest
// batch sizes that still run may be a fifth slower than smaller ones. Under --metric only the rate
// shows it, and there are other reasons for it, such as odd batch sizes or an overflowing cache. So
// this is a suspicion that the model of the step tests beside those.
#pragma once

#include <array>
#include <vector>

namespace redline::tuner {

/// What one trial showed.
struct BatchRate {
  double batch = 1;
  double samples_per_s = 0;
  bool reduced = false;  ///< bf16 or fp16, which need less memory
};

class FullMemory {
 public:
  /// Nothing is suspected.
  FullMemory() = default;
  explicit FullMemory(const std::vector<BatchRate>& seen);

  [[nodiscard]] bool is_suspected() const;
  [[nodiscard]] bool is_at(double batch, bool reduced) const { return batch >= from_[reduced]; }

 private:
  static constexpr double kNever = 1e300;
  std::array<double, 2> from_ = {kNever, kNever};  ///< full precision, reduced precision
};

}  // namespace redline::tuner
