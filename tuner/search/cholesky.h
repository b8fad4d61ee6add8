// Systems of equations with a symmetric positive matrix, by Cholesky. A matrix is its lower
// triangle, row by row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace redline::tuner {

using Triangle = std::vector<std::vector<double>>;

/// Replaces the matrix by its factor. No pivot is below `least_pivot`, as rounding may make one.
inline void factorize(Triangle& matrix, double least_pivot) {
  for (size_t i = 0; i < matrix.size(); ++i) {
    for (size_t j = 0; j <= i; ++j) {
      double rest = matrix[i][j];
      for (size_t k = 0; k < j; ++k) rest -= matrix[i][k] * matrix[j][k];
      matrix[i][j] = i == j ? std::sqrt(std::max(rest, least_pivot)) : rest / matrix[j][j];
    }
  }
}

/// Solves factor x = right.
[[nodiscard]] inline auto solve_lower(const Triangle& factor, std::vector<double> right) {
  for (size_t i = 0; i < factor.size(); ++i) {
    for (size_t j = 0; j < i; ++j) right[i] -= factor[i][j] * right[j];
    right[i] /= factor[i][i];
  }
  return right;
}

/// Solves factor^T x = right. After solve_lower() it gives the solution of the whole system.
[[nodiscard]] inline auto solve_upper(const Triangle& factor, std::vector<double> right) {
  for (size_t i = factor.size(); i-- > 0;) {
    for (size_t j = i + 1; j < factor.size(); ++j) right[i] -= factor[j][i] * right[j];
    right[i] /= factor[i][i];
  }
  return right;
}

}  // namespace redline::tuner
