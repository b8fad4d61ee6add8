// std::hypot() in programs that must start with glibc 2.34: the symbol that a newer one links is of
// 2.35. Our numbers are far from over- and underflow.
#pragma once

#include <cmath>

namespace redline {

[[nodiscard]] inline double root_of_squares(double one, double other) {
  return std::sqrt(one * one + other * other);
}

}  // namespace redline
