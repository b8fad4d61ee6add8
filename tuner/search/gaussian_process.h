// A Gaussian process over points of a few coordinates. It guesses values between known ones and
// tells how sure it is.
//
// Its kernel is partly a sum over the coordinates (what helps mostly helps everywhere) and mostly a
// kernel over all coordinates together (what helps depends on the rest); both are Matern 3/2. It is
// made for some tens of values; a library for more would be larger than the code that uses it.
#pragma once

#include <vector>

#include "tuner/search/cholesky.h"

namespace redline::tuner {

using Point = std::vector<double>;

class GaussianProcess {
 public:
  struct Shape {
    /// By coordinate: whether distance counts; if not, only equal or different.
    std::vector<bool> ordered;
    std::vector<double> weights;
    double noise = 0.05;  ///< variance of each value by itself, as a share of the rest
  };

  /// Values must be differences from the usual value, because far from every point the guess is 0.
  GaussianProcess(Shape shape, std::vector<Point> points, std::vector<double> values);

  /// The shape whose weights and noise make the values most likely.
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
  [[nodiscard]] double log_likelihood() const;

  Shape shape_;
  std::vector<Point> points_;
  std::vector<double> values_;
  Triangle factor_;
  std::vector<double> solution_;
  double variance_ = 0;
};

}  // namespace redline::tuner
