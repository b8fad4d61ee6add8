// The normal distribution, as the search needs it.
#pragma once

#include <algorithm>
#include <cmath>

namespace redline::tuner {

/// The probability that a standard normal variable lies below `z`.
[[nodiscard]] inline double normal_below(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

/// The expected value of max(0, x) for a normal variable x.
[[nodiscard]] inline double expected_above_zero(double mean, double deviation) {
  if (deviation <= 0) return std::max(mean, 0.0);
  const double z = mean / deviation;
  return mean * normal_below(z) + deviation * std::exp(-z * z / 2) / std::sqrt(2 * M_PI);
}

}  // namespace redline::tuner
