// Statistics of measurements: how values are spread, whether two sets of them differ by more than
// their noise, and sums that cannot overflow.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace redline {

/// Of all values, none sampled away. Quartiles between two values are interpolated linearly, the
/// deviation is that of a sample (n - 1): as pandas' describe() has them.
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

[[nodiscard]] Distribution distribution_of(std::vector<int64_t> values);
[[nodiscard]] Distribution distribution_of(std::vector<double> values);

/// The same for small whole numbers, given as counts[value].
[[nodiscard]] Distribution distribution_of_counts(const std::vector<int64_t>& counts);

/// How long each of many alike took, in nanoseconds. With fewer than 10 values a p90, and with
/// fewer than 100 a p99, would only be the largest: then there is none.
struct Latency {
  int64_t count = 0;
  int64_t p50_ns = 0;
  std::optional<int64_t> p90_ns = std::nullopt;
  std::optional<int64_t> p99_ns = std::nullopt;
};
/// None of no values. Between two values as above.
[[nodiscard]] std::optional<Latency> latency_of(const std::vector<int64_t>& values_ns);
[[nodiscard]] std::string latency_text(const Latency& latency);  ///< "p50 11.8 ms · p90 13.0 ms"

/// Mean of the later set minus that of the earlier one, by Welch's t-test, which lets the two have
/// different noise.
struct MeanDifference {
  double difference = 0;
  double low = 0;   ///< of the 95 % interval
  double high = 0;  ///< of the 95 % interval
  double p = 1;     ///< chance of at least this difference where there is none

  [[nodiscard]] bool is_clear() const { return p < 0.05; }
};

/// None where a set has fewer than two values: then nobody knows their noise.
[[nodiscard]] std::optional<MeanDifference> welch_test(std::span<const double> earlier,
                                                       std::span<const double> later);

/// Two-sided tail of Student's distribution beyond `t`.
[[nodiscard]] double student_p(double t, double degrees);

/// For times and sizes that a file gives: where their sum would overflow, it stays at the limit.
[[nodiscard]] constexpr int64_t saturating_sum(int64_t left, int64_t right) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(left, right, &sum)) return sum;
  return left < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

}  // namespace redline
