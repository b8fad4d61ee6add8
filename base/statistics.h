// Statistics of measurements: how values are spread, whether two sets of them differ by more than
// their noise, and sums that cannot overflow.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace redline {

/// Standard deviation / median absolute deviation (MAD) of a normal distribution.
inline constexpr double kDeviationOfMad = 1.4826;
/// So many standard deviations from the mean of a normal distribution its middle 95 % end.
inline constexpr double kNormalQuantile = 1.96;

/// Describes a set of values, all of which count. As in pandas' describe(), a quartile that falls
/// between two values is interpolated linearly, and the deviation is that of a sample (n - 1).
struct Distribution {
  int64_t count = 0;
  double mean = 0;
  double deviation = 0;  ///< 0 for a single value
  double min = 0;
  double p25 = 0;
  double p50 = 0;
  double p75 = 0;
  double max = 0;
};

[[nodiscard]] Distribution distribution_of(const std::vector<int64_t>& values);
[[nodiscard]] Distribution distribution_of(const std::vector<double>& values);

/// The same for small whole numbers: counts[v] says how often the value v occurs.
[[nodiscard]] Distribution distribution_of_counts(const std::vector<int64_t>& counts);

/// Percentiles of how long similar things took, in nanoseconds. A p90 of fewer than 10 values and a
/// p99 of fewer than 100 would only be the largest value, so they are left out.
struct Latency {
  int64_t count = 0;
  int64_t p50_ns = 0;
  std::optional<int64_t> p90_ns = std::nullopt;
  std::optional<int64_t> p99_ns = std::nullopt;
};
/// nullopt if values_ns is empty. A percentile that falls between two values is interpolated
/// linearly, as in distribution_of().
[[nodiscard]] std::optional<Latency> latency_of(const std::vector<int64_t>& values_ns);
[[nodiscard]] std::string latency_text(const Latency& latency);  ///< "p50 11.8 ms · p90 13.0 ms"

/// How the mean of a later set differs from that of an earlier one, by Welch's t-test: the two sets
/// may differ in noise.
struct MeanDifference {
  double difference = 0;  ///< later mean minus earlier mean
  double low = 0;         ///< of the 95 % interval
  double high = 0;        ///< of the 95 % interval
  double p = 1;           ///< chance that noise alone makes at least this difference

  [[nodiscard]] bool is_clear() const { return p < 0.05; }
};

/// nullopt if a set has fewer than two values, because these do not show their noise.
[[nodiscard]] std::optional<MeanDifference> welch_test(std::span<const double> earlier,
                                                       std::span<const double> later);

[[nodiscard]] double mean_of(std::span<const double> values);             ///< of at least one
[[nodiscard]] double squares_about_mean(std::span<const double> values);  ///< of at least one

/// The value that would stand at `place` if they were sorted.
template <typename Value>
[[nodiscard]] Value sorted_value(std::vector<Value> values, size_t place) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

/// The one below which `share` of the values lie, as 0.9 does of them below the p90; of at least
/// one, and never between two of them.
[[nodiscard]] inline double quantile_of(std::vector<double> values, double share) {
  const auto place = static_cast<size_t>(share * static_cast<double>(values.size() - 1));
  return sorted_value(std::move(values), place);
}

/// The value in the middle, of an even number of them the lower or the upper one; of at least one.
template <typename Value>
[[nodiscard]] Value lower_median(std::vector<Value> values) {
  const size_t middle = (values.size() - 1) / 2;
  return sorted_value(std::move(values), middle);
}
template <typename Value>
[[nodiscard]] Value upper_median(std::vector<Value> values) {
  const size_t middle = values.size() / 2;
  return sorted_value(std::move(values), middle);
}

/// A measured value, and the interval in which the true one lies with some certainty.
struct ValueInterval {
  double value = 0;
  double low = 0;
  double high = 0;

  [[nodiscard]] bool excludes(double other) const { return low > other || high < other; }
};

/// Where the middle of the values' distribution lies: the median of the means of each two values
/// (Hodges and Lehmann), and the interval that Wilcoxon's signed-rank test gives. One value that is
/// far off hardly moves it, and the interval holds for every symmetric distribution. It misses the
/// middle in `tail` of all cases, at most. nullopt if there are too few values: with tail 0.05
/// fewer than twelve.
[[nodiscard]] std::optional<ValueInterval> signed_rank_interval(std::span<const double> values,
                                                                double tail = 0.05);

/// Two-sided tail of Student's distribution beyond `t`.
[[nodiscard]] double student_p(double t, double degrees);
/// The t beyond which `tail` of Student's distribution lies, on both sides together; infinity for
/// less than one degree of freedom. With 0.05 it is the factor of a 95 % interval.
[[nodiscard]] double student_t(double degrees, double tail = 0.05);

/// Adds times or sizes from a file, which may hold anything: a sum that would overflow becomes the
/// limit.
[[nodiscard]] constexpr int64_t saturating_sum(int64_t left, int64_t right) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(left, right, &sum)) return sum;
  return left < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

/// The same for a figure of all rows, such as &KernelRow::total_ns.
template <typename Rows, typename Figure>
[[nodiscard]] int64_t total_of(const Rows& rows, Figure figure) {
  int64_t sum = 0;
  for (const auto& row : rows) sum = saturating_sum(sum, std::invoke(figure, row));
  return sum;
}

/// 0, 1, … below `count`, the one with the largest key first; those with equal ones in their order.
template <typename Key>
[[nodiscard]] std::vector<size_t> largest_first(size_t count, Key key) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), key);
  return order;
}

}  // namespace redline
