// A sum of what files say: where they lie so that it overflows, it stays at its limit.
#pragma once

#include <cstdint>
#include <limits>

namespace redline {

[[nodiscard]] constexpr int64_t saturating_sum(int64_t left, int64_t right) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(left, right, &sum)) return sum;
  return left < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

}  // namespace redline
