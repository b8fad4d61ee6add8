// A Gaussian process over points of a few coordinates: guesses values between those known, and says
// how sure it is.
//
// Its kernel is partly a sum over the coordinates (what helps mostly helps everywhere) and mostly
// one over all of them together (what helps depends on the rest); both are Matern 3/2. For some
// tens of values: a library for more would be larger than what uses it.
#pragma once

#include <vector>

namespace redline::tuner {

using Point = std::vector<double>;

class GaussianProcess {
 public:
  struct Shape {
    std::vector<bool> ordered;  ///< of each coordinate: else only equal or not counts
    std::vector<double> weights;
    double noise = 0.05;  ///< variance that differs from value to value, as a share of the rest
  };

  /// Values are differences from what is usual: far from every point the guess is 0.
  GaussianProcess(Shape shape, std::vector<Point> points, std::vector<double> values);

  /// The weights and the noise that make the values most likely.
  [[nodiscard]] static Shape fit(Shape shape, const std::vector<Point>& points,
                                 const std::vector<double>& values);

  struct Guess {
    double value = 0;
    double deviation = 0;  ///< standard deviation
  };
  [[nodiscard]] Guess at(const Point& point) const;
  [[nodiscard]] double value_at(const Point& point) const;

 private:
  [[nodiscard]] double kernel(const Point& a, const Point& b) const;
  [[nodiscard]] std::vector<double> likeness(const Point& point) const;
  [[nodiscard]] std::vector<double> solve_lower(std::vector<double> right) const;
  [[nodiscard]] double log_likelihood() const;

  Shape shape_;
  std::vector<Point> points_;
  std::vector<double> values_;
  std::vector<std::vector<double>> factor_;  ///< lower triangle of Cholesky's, row by row
  std::vector<double> half_solved_;          ///< factor^-1 values
  std::vector<double> solution_;
  double variance_ = 0;
};

}  // namespace redline::tuner
