#include "tuner/search/gaussian_process.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace redline::tuner {
namespace {

constexpr double kWeights[] = {0.1, 0.3, 1.0, 4.0};
constexpr double kNoises[] = {0.01, 0.05, 0.2};
constexpr int kFitRounds = 2;
constexpr double kShareOfSum = 0.25;
constexpr double kLeastPivot = 1e-9;
constexpr double kLeastVariance = 1e-6;
/// Of a single value, which tells nothing about how far others lie.
constexpr double kUnknownVariance = 0.1;

double matern(double distance) {
  const double scaled = std::sqrt(3.0) * distance;
  return (1 + scaled) * std::exp(-scaled);
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace

GaussianProcess::GaussianProcess(Shape shape, std::vector<Point> points, std::vector<double> values)
    : shape_(std::move(shape)), points_(std::move(points)), values_(std::move(values)) {
  for (size_t i = 0; i < points_.size(); ++i) {
    std::vector<double>& row = factor_.emplace_back();
    for (size_t j = 0; j <= i; ++j) row.push_back(kernel(points_[i], points_[j]));
    row[i] += shape_.noise;
  }
  factorize(factor_, kLeastPivot);
  const std::vector<double> half_solved = solve_lower(factor_, values_);
  solution_ = solve_upper(factor_, half_solved);
  const auto count = static_cast<double>(std::max<size_t>(values_.size(), 1));
  variance_ = values_.size() < 2 ? kUnknownVariance
                                 : std::max(dot(half_solved, half_solved) / count, kLeastVariance);
}

double GaussianProcess::kernel(const Point& a, const Point& b) const {
  double squares = 0;
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double apart = std::abs(a[i] - b[i]);
    const double distance = shape_.weights[i] * (shape_.ordered[i] || apart == 0 ? apart : 1);
    squares += distance * distance;
    sum += matern(distance);
  }
  return kShareOfSum * sum / static_cast<double>(a.size()) +
         (1 - kShareOfSum) * matern(std::sqrt(squares));
}

std::vector<double> GaussianProcess::likeness(const Point& point) const {
  std::vector<double> result;
  result.reserve(points_.size());
  for (const Point& other : points_) result.push_back(kernel(point, other));
  return result;
}

double GaussianProcess::value_at(const Point& point) const {
  return dot(likeness(point), solution_);
}

GaussianProcess::Guess GaussianProcess::at(const Point& point) const {
  const std::vector<double> like = likeness(point);
  const std::vector<double> half = solve_lower(factor_, like);
  const double unexplained = std::max(kernel(point, point) - dot(half, half), 0.0);
  return {.value = dot(like, solution_), .deviation = std::sqrt(variance_ * unexplained)};
}

/// The logarithm of the likelihood, up to a constant.
double GaussianProcess::log_likelihood() const {
  double log_determinant = 0;
  for (size_t i = 0; i < factor_.size(); ++i) log_determinant += 2 * std::log(factor_[i][i]);
  return -0.5 * (static_cast<double>(values_.size()) * std::log(variance_) + log_determinant);
}

GaussianProcess::Shape GaussianProcess::fit(Shape shape, const std::vector<Point>& points,
                                            const std::vector<double>& values) {
  const auto likelihood = [&] { return GaussianProcess(shape, points, values).log_likelihood(); };
  double best = likelihood();
  const auto choose = [&](double& parameter, double value) {
    const double before = std::exchange(parameter, value);
    if (const double now = likelihood(); now > best) {
      best = now;
    } else {
      parameter = before;
    }
  };
  for (int round = 0; round < kFitRounds; ++round) {
    for (const double noise : kNoises) choose(shape.noise, noise);
    for (double& weight : shape.weights) {
      for (const double value : kWeights) choose(weight, value);
    }
  }
  return shape;
}

}  // namespace redline::tuner
