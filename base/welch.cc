#include "base/welch.h"

#include <cmath>
#include <numeric>

namespace redline {
namespace {

// The continued fraction of the incomplete beta function, by Lentz's method.
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  constexpr int kMostTerms = 500;
  const auto away_from_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), fraction = d;
  for (int m = 1; m <= kMostTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    fraction *= d * c;
    if (std::abs(d * c - 1) < 1e-14) break;
  }
  return fraction;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

// The t beyond which 5 % lie, by halving.
double student_t95(double degrees) {
  double low = 0, high = 1e4;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (student_p(middle, degrees) > 0.05 ? low : high) = middle;
  }
  return high;
}

struct Moments {
  double mean = 0;
  double square_error = 0;  // of the mean
  double degrees = 0;
};

Moments moments_of(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  Moments moments;
  moments.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - moments.mean) * (value - moments.mean);
  moments.degrees = count - 1;
  moments.square_error = squares / moments.degrees / count;
  return moments;
}

}  // namespace

double student_p(double t, double degrees) {
  return incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t));
}

std::optional<MeanDifference> welch_test(std::span<const double> earlier,
                                         std::span<const double> later) {
  if (earlier.size() < 2 || later.size() < 2) return std::nullopt;
  const Moments before = moments_of(earlier), after = moments_of(later);
  MeanDifference result;
  result.difference = after.mean - before.mean;
  result.low = result.high = result.difference;
  const double square_error = before.square_error + after.square_error;
  if (square_error <= 0) {  // no noise at all: any difference is one
    result.p = result.difference == 0 ? 1 : 0;
    return result;
  }
  const double degrees = square_error * square_error /
                         (before.square_error * before.square_error / before.degrees +
                          after.square_error * after.square_error / after.degrees);
  const double error = std::sqrt(square_error);
  result.p = student_p(result.difference / error, degrees);
  const double half = student_t95(degrees) * error;
  result.low -= half;
  result.high += half;
  return result;
}

}  // namespace redline
