// How the values of a quantity are spread.
#pragma once

#include <cstdint>
#include <vector>

namespace redline {

/// Of all values, none sampled away. Quartiles between two values are interpolated linearly, the
/// deviation is that of a sample (n - 1): as pandas' describe() has them.
struct Distribution {
  int64_t count = 0;
  double mean = 0;
  double deviation = 0;  ///< 0 for a single value
  double min = 0;
  double p25 = 0;
  double p50 = 0;
  double p75 = 0;
  double max = 0;
};

[[nodiscard]] Distribution distribution_of(std::vector<int64_t> values);
[[nodiscard]] Distribution distribution_of(std::vector<double> values);

/// The same for small whole numbers, given as counts[value].
[[nodiscard]] Distribution distribution_of_counts(const std::vector<int64_t>& counts);

}  // namespace redline
