#include "trace/run/run_difference.h"

#include <algorithm>
#include <cmath>

#include "base/statistics.h"

namespace redline::trace {
namespace {

// Freedom of an interval that rests on an assumed spread: as if three runs had shown it. With more,
// a busy machine would alarm by chance (gate_chance_test.cc).
constexpr double kAssumedDegrees = 2;

double mean_square(const std::vector<double>& errors) {
  double sum = 0;
  for (const double error : errors) sum += error * error;
  return sum / static_cast<double>(errors.size());
}

std::vector<double> differences_of(const SideValues& before, const SideValues& after) {
  std::vector<double> differences;
  for (size_t i = 0; i < before.values.size(); ++i) {
    differences.push_back(after.values[i] - before.values[i]);
  }
  return differences;
}

}  // namespace

SideDifference difference_of(const SideValues& before, const SideValues& after,
                             const Comparing& how) {
  const auto n = static_cast<double>(before.values.size());
  const auto m = static_cast<double>(after.values.size());
  const double within = (mean_square(before.errors) + mean_square(after.errors)) / 2;
  const double degrees = how.paired ? n - 1 : n + m - 2;
  const std::vector<double> differences =
      how.paired ? differences_of(before, after) : std::vector<double>();
  const double squares = how.paired
                             ? squares_about_mean(differences) / 2
                             : squares_about_mean(before.values) + squares_about_mean(after.values);
  double variance = std::max(degrees > 0 ? squares / degrees : 0, within);
  const double mean_error = std::sqrt(1 / n + 1 / m);

  if (const auto ranked = signed_rank_interval(differences, how.tail)) {
    // The spread that would make Student's interval as wide.
    const double half = (ranked->high - ranked->low) / 2;
    return {*ranked, half / (student_t(degrees, how.tail) * mean_error)};
  }
  SideDifference result;
  double half = student_t(degrees, how.tail) * std::sqrt(variance) * mean_error;
  const double assumed_variance = std::max(variance, how.assumed * how.assumed + within);
  const double by_assumption =
      student_t(kAssumedDegrees, how.tail) * std::sqrt(assumed_variance) * mean_error;
  // One degree of freedom alone gives an interval that is wider than anybody believes.
  if (degrees < 1 || (degrees < kAssumedDegrees && by_assumption < half)) {
    half = by_assumption;
    variance = assumed_variance;
    result.is_assumed = true;
  }
  result.spread = std::sqrt(variance);
  const double value = mean_of(after.values) - mean_of(before.values);
  result.interval = {value, value - half, value + half};
  return result;
}

}  // namespace redline::trace
