// A replacement for std::hypot(). A newer glibc links its version 2.35 of that symbol, but our
// programs must start with glibc 2.34. Our numbers are far from over- and underflow.
#pragma once

#include <cmath>

namespace redline {

[[nodiscard]] inline double root_of_squares(double one, double other) {
  return std::sqrt(one * one + other * other);
}

}  // namespace redline
