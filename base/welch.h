// Whether two sets of measurements differ by more than their noise (Welch's t-test).
#pragma once

#include <optional>
#include <span>

namespace redline {

/// Mean of the later set minus that of the earlier one.
struct MeanDifference {
  double difference = 0;
  double low = 0;   ///< of the 95 % interval
  double high = 0;  ///< of the 95 % interval
  double p = 1;     ///< chance of at least this difference where there is none

  [[nodiscard]] bool is_clear() const { return p < 0.05; }
};

/// None where a set has fewer than two values: then nobody knows their noise.
[[nodiscard]] std::optional<MeanDifference> welch_test(std::span<const double> earlier,
                                                       std::span<const double> later);

/// Two-sided tail of Student's distribution beyond `t`.
[[nodiscard]] double student_p(double t, double degrees);

}  // namespace redline
