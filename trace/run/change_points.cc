#include "trace/run/change_points.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/statistics.h"

namespace redline::trace {
namespace {

// The penalty of a change is this times the variance times the logarithm of the number of values.
// It was chosen by experiment: fewer than one in a thousand series of autocorrelated noise is cut
// (change_points_test.cc).
constexpr double kPenalty = 6;
constexpr std::array<size_t, 5> kWindows = {1, 2, 4, 8, 16};
constexpr double kMostGrowth = 2;
constexpr size_t kFewestValues = 64;  // with fewer, the noise over longer times is not known
constexpr size_t kFewestWindows = 6;  // windows side by side, for a median of their differences
// Three levels must leave more squares than a creep does, by this times the same product. It was
// chosen by experiment, too: fewer than one in a thousand series of noise with jumps is a creep.
constexpr double kCreepPenalty = 3;
constexpr size_t kBends = 32;  // so many places are tried for each end of a creep

// Sums of all values before an index, so that any segment's mean and squares are two differences.
class Sums {
 public:
  explicit Sums(std::span<const double> values)
      : sums_(values.size() + 1), squares_(values.size() + 1) {
    for (size_t i = 0; i < values.size(); ++i) {
      const double value = values[i] - values.front();
      sums_[i + 1] = sums_[i] + value;
      squares_[i + 1] = squares_[i] + value * value;
    }
  }
  [[nodiscard]] double mean(size_t begin, size_t end) const {
    return (sums_[end] - sums_[begin]) / static_cast<double>(end - begin);
  }
  /// The sum of squares about the segment's mean.
  [[nodiscard]] double squares(size_t begin, size_t end) const {
    const double sum = sums_[end] - sums_[begin];
    return squares_[end] - squares_[begin] - sum * sum / static_cast<double>(end - begin);
  }

 private:
  std::vector<double> sums_, squares_;
};

std::vector<size_t> cheapest_segments(const Sums& sums, size_t count, size_t least_length,
                                      double penalty) {
  std::vector<double> cost(count + 1, std::numeric_limits<double>::infinity());
  std::vector<size_t> begin_of(count + 1, 0);
  cost[0] = -penalty;
  for (size_t end = least_length; end <= count; ++end) {
    for (size_t begin = 0; begin + least_length <= end; ++begin) {
      const double whole = cost[begin] + sums.squares(begin, end) + penalty;
      if (whole >= cost[end]) continue;
      cost[end] = whole;
      begin_of[end] = begin;
    }
  }
  std::vector<size_t> begins;
  for (size_t end = count; end > 0; end = begin_of[end]) begins.push_back(begin_of[end]);
  std::ranges::reverse(begins);
  return begins;
}

// The least squares about three levels.
double squares_of_levels(const Sums& sums, size_t count) {
  double least = sums.squares(0, count);
  for (size_t first = 1; first < count; ++first) {
    for (size_t second = first + 1; second < count; ++second) {
      least = std::min(least, sums.squares(0, first) + sums.squares(first, second) +
                                  sums.squares(second, count));
    }
  }
  return least;
}

// How far a value has come of the way up that begins and ends at these indexes.
double way_up(const Creep& creep, size_t index) {
  const double begin = static_cast<double>(creep.begin), end = static_cast<double>(creep.end);
  return std::clamp((static_cast<double>(index) + 0.5 - begin) / (end - begin), 0.0, 1.0);
}

struct FittedCreep {
  Creep creep;
  double squares = 0;
};

// The least squares about a level that goes straight up to a second one between the two indexes.
FittedCreep fit_creep(std::span<const double> values, const Sums& sums, Creep creep) {
  const double count = static_cast<double>(values.size());
  const double mean = values.front() + sums.mean(0, values.size());
  double way = 0, ways = 0, both = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double own = way_up(creep, i);
    way += own;
    ways += own * own;
    both += own * (values[i] - mean);
  }
  creep.rise = both / (ways - way * way / count);
  return {creep, sums.squares(0, values.size()) - creep.rise * both};
}

}  // namespace

double long_term_noise(std::span<const double> values) {
  const Sums sums(values);
  double variance = 0, last = 0, growth = 1;
  for (const size_t window : kWindows) {
    if (values.size() < (kFewestWindows + 2) * window) break;
    std::vector<double> differences;
    for (size_t i = 0; i + 2 * window <= values.size(); ++i) {
      differences.push_back(
          std::abs(sums.mean(i + window, i + 2 * window) - sums.mean(i, i + window)));
    }
    const double deviation = upper_median(std::move(differences)) * kDeviationOfMad;
    const double own = deviation * deviation / 2 * static_cast<double>(window);
    growth = last > 0 ? own / last : 1;
    last = own;
    variance = std::max(variance, own);
  }
  // If the noise still grows with the longest window, it would go on growing with longer ones.
  return std::sqrt(variance * std::clamp(growth, 1.0, kMostGrowth));
}

std::vector<size_t> segments_of(std::span<const double> values, size_t least_length,
                                double least_change) {
  if (values.size() < std::max(kFewestValues, 2 * least_length)) return {0};
  const Sums sums(values);
  const double noise = long_term_noise(values);
  const double count = static_cast<double>(values.size());
  // Values that never differ have no noise; then the smallest change that counts decides.
  const double penalty =
      std::max(kPenalty * noise * noise * std::log(count), least_change * least_change / 4);
  std::vector<size_t> begins = cheapest_segments(sums, values.size(), least_length, penalty);
  const auto end_of = [&](size_t segment) {
    return segment + 1 < begins.size() ? begins[segment + 1] : values.size();
  };
  // A level may be far noisier than the whole series, so its own noise counts. Of a short one that
  // is not well known: that of both neighbours together does not lie much below it.
  const auto variance_of_mean = [&](size_t segment, double least_noise) {
    const auto own = values.subspan(begins[segment], end_of(segment) - begins[segment]);
    const double deviation = std::max(long_term_noise(own), least_noise);
    return deviation * deviation / static_cast<double>(own.size());
  };
  while (begins.size() > 1) {
    size_t weakest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (size_t i = 1; i < begins.size(); ++i) {
      const double change =
          std::abs(sums.mean(begins[i], end_of(i)) - sums.mean(begins[i - 1], end_of(i - 1)));
      const double both = long_term_noise(values.subspan(begins[i - 1], end_of(i) - begins[i - 1]));
      const double variance = variance_of_mean(i - 1, both) + variance_of_mean(i, both);
      const double sure = std::sqrt(kPenalty * std::log(count) * variance);
      const double strength = change / std::max(least_change, sure);
      if (strength < least) {
        least = strength;
        weakest = i;
      }
    }
    if (least >= 1) break;
    begins.erase(begins.begin() + static_cast<ptrdiff_t>(weakest));
  }
  return begins;
}

std::optional<Creep> creep_of(std::span<const double> values, size_t least_length,
                              double least_rise) {
  if (values.size() < kFewestValues) return std::nullopt;
  const Sums sums(values);
  const size_t stride = std::max<size_t>(1, values.size() / kBends);
  std::optional<FittedCreep> best;
  for (size_t begin = 0; begin + least_length <= values.size(); begin += stride) {
    // Counted from the end, so that a creep may last until there.
    for (size_t left = 0; begin + least_length + left <= values.size(); left += stride) {
      const auto fitted = fit_creep(values, sums, {begin, values.size() - left, 0});
      if (!best || fitted.squares < best->squares) best = fitted;
    }
  }
  if (!best || best->creep.rise < least_rise) return std::nullopt;
  std::vector<double> rest;
  for (size_t i = 0; i < values.size(); ++i) {
    rest.push_back(values[i] - best->creep.rise * way_up(best->creep, i));
  }
  const double noise = long_term_noise(rest);
  const double sure = kCreepPenalty * noise * noise * std::log(static_cast<double>(values.size()));
  if (squares_of_levels(sums, values.size()) - best->squares < sure) return std::nullopt;
  return best->creep;
}

}  // namespace redline::trace
