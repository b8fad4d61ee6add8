// How durations are spread, without sorting all of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "viewer/models/time_axis.h"

namespace redline::viewer {

/// The nearest ranks: each is one of the values.
struct Quantiles {
  int64_t count = 0;
  int64_t sum = 0;
  int64_t min = 0;
  int64_t p50 = 0;
  int64_t p99 = 0;
  int64_t max = 0;

  [[nodiscard]] int64_t mean() const { return sum / std::max<int64_t>(count, 1); }
};

/// Reorders the values.
[[nodiscard]] inline Quantiles quantiles_of(std::vector<int64_t>& values) {
  Quantiles result;
  if (values.empty()) return result;
  const auto at = [&values](size_t percent) {
    const size_t rank = (values.size() * percent + 99) / 100;
    const auto place = values.begin() + static_cast<std::ptrdiff_t>(rank - 1);
    std::nth_element(values.begin(), place, values.end());
    return *place;
  };
  result.count = static_cast<int64_t>(values.size());
  for (const int64_t value : values) result.sum = saturating_add(result.sum, value);
  result.p50 = at(50);
  result.p99 = at(99);
  const auto [min, max] = std::minmax_element(values.begin(), values.end());
  result.min = *min;
  result.max = *max;
  return result;
}

}  // namespace redline::viewer
