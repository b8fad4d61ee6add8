#include "base/statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/format.h"

namespace redline {
namespace {

// The value at the place `share` of the way from the first to the last value, interpolated between
// its two neighbours.
template <typename ValueAt>
double quantile(int64_t count, double share, ValueAt value_at) {
  const double place = share * static_cast<double>(count - 1);
  const auto below = static_cast<int64_t>(place);
  const double rest = place - static_cast<double>(below);
  const double low = value_at(below);
  return rest == 0 ? low : low + rest * (value_at(below + 1) - low);
}

// Maps values to numbers that have the same order.
uint64_t order_of(int64_t value) { return static_cast<uint64_t>(value) ^ (uint64_t{1} << 63); }
uint64_t order_of(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  return (bits >> 63) != 0 ? ~bits : bits | (uint64_t{1} << 63);
}

// Gives the values at some places of the sorted list. Sorting, and even std::nth_element, is slow
// because the processor cannot predict the comparisons. So values are counted by their leading
// bits, and only those with the same leading bits as the wanted value are compared.
template <typename Value>
class SortedPlaces {
 public:
  SortedPlaces(const std::vector<Value>& values, Value min)
      : values_(values), least_(order_of(min)), counts_(kBuckets) {
    for (const Value value : values) ++counts_[bucket_of(value)];
  }

  double operator()(int64_t place) {
    size_t bucket = 0;
    while (place >= counts_[bucket]) place -= counts_[bucket++];
    if (bucket != alike_bucket_) gather(bucket);
    const auto at = alike_.begin() + place;
    std::nth_element(alike_.begin(), at, alike_.end());
    return static_cast<double>(*at);
  }

 private:
  static constexpr int kBits = 6;  // so many bits behind the leading 1
  static constexpr size_t kBuckets = size_t{64 - kBits + 1} << kBits;

  [[nodiscard]] size_t bucket_of(Value value) const {
    const uint64_t above = order_of(value) - least_;
    const int shift = std::max(0, static_cast<int>(std::bit_width(above)) - kBits - 1);
    return (static_cast<size_t>(shift) << kBits) + (above >> shift);
  }

  void gather(size_t bucket) {
    alike_bucket_ = bucket;
    alike_.clear();
    alike_.reserve(static_cast<size_t>(counts_[bucket]));
    const int shift = std::max(0, static_cast<int>(bucket >> kBits) - 1);
    const uint64_t first = (bucket - (static_cast<uint64_t>(shift) << kBits)) << shift;
    for (const Value value : values_) {
      if ((order_of(value) - least_ - first) >> shift == 0) alike_.push_back(value);
    }
  }

  const std::vector<Value>& values_;
  uint64_t least_;
  std::vector<int64_t> counts_;  // by bucket
  size_t alike_bucket_ = SIZE_MAX;
  std::vector<Value> alike_;
};

// Sets what follows from the count and the sum of squares about the mean.
template <typename ValueAt>
void finish(Distribution& all, double squares, ValueAt value_at) {
  if (all.count > 1) all.deviation = std::sqrt(squares / static_cast<double>(all.count - 1));
  all.p25 = quantile(all.count, 0.25, value_at);
  all.p50 = quantile(all.count, 0.5, value_at);
  all.p75 = quantile(all.count, 0.75, value_at);
}

template <typename Value>
Distribution describe(const std::vector<Value>& values) {
  Distribution all;
  all.count = static_cast<int64_t>(values.size());
  if (values.empty()) return all;
  const auto [min, max] = std::ranges::minmax_element(values);
  all.min = static_cast<double>(*min);
  all.max = static_cast<double>(*max);
  double sum = 0, squares = 0;
  for (const Value value : values) sum += static_cast<double>(value);
  all.mean = sum / static_cast<double>(all.count);
  for (const Value value : values) {
    const double off = static_cast<double>(value) - all.mean;
    squares += off * off;
  }
  SortedPlaces<Value> value_at(values, *min);
  finish(all, squares, std::ref(value_at));
  return all;
}

}  // namespace

Distribution distribution_of(const std::vector<int64_t>& values) { return describe(values); }

Distribution distribution_of(const std::vector<double>& values) { return describe(values); }

std::optional<Latency> latency_of(const std::vector<int64_t>& values_ns) {
  if (values_ns.empty()) return std::nullopt;
  const auto count = std::ssize(values_ns);
  SortedPlaces<int64_t> value_at(values_ns, *std::ranges::min_element(values_ns));
  const auto percentile = [&](double share, int64_t least) {
    return count < least
               ? std::nullopt
               : std::optional(int64_t{std::llround(quantile(count, share, std::ref(value_at)))});
  };
  return Latency{count, *percentile(0.5, 1), percentile(0.9, 10), percentile(0.99, 100)};
}

std::string latency_text(const Latency& latency) {
  std::string text = "p50 " + format_ns(latency.p50_ns);
  if (latency.p90_ns) text += " · p90 " + format_ns(*latency.p90_ns);
  if (latency.p99_ns) text += " · p99 " + format_ns(*latency.p99_ns);
  return text;
}

Distribution distribution_of_counts(const std::vector<int64_t>& counts) {
  Distribution all;
  double sum = 0, squares = 0;
  for (size_t value = 0; value < counts.size(); ++value) {
    if (counts[value] == 0) continue;
    if (all.count == 0) all.min = static_cast<double>(value);
    all.max = static_cast<double>(value);
    all.count += counts[value];
    sum += static_cast<double>(value) * static_cast<double>(counts[value]);
  }
  if (all.count == 0) return all;
  all.mean = sum / static_cast<double>(all.count);
  for (size_t value = 0; value < counts.size(); ++value) {
    const double off = static_cast<double>(value) - all.mean;
    squares += off * off * static_cast<double>(counts[value]);
  }
  finish(all, squares, [&](int64_t index) {
    size_t value = 0;
    while (index >= counts[value]) index -= counts[value++];
    return static_cast<double>(value);
  });
  return all;
}

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

// How many sums of ranks, of those that the signs of `count` values can give, lie so far out at one
// end that all of them together are at most `share` of the cases.
size_t ranks_outside(size_t count, double share) {
  const auto n = static_cast<double>(count);
  constexpr size_t kMostExact = 60;
  if (count > kMostExact) {
    const double deviation = std::sqrt(n * (n + 1) * (2 * n + 1) / 24);
    const double quantile = student_t(1e6, 2 * share);  // as good as the normal distribution's
    return static_cast<size_t>(std::max(0.0, n * (n + 1) / 4 - quantile * deviation));
  }
  std::vector<double> chance(count * (count + 1) / 2 + 1);  // by the sum of the ranks of one sign
  chance[0] = 1;
  for (size_t rank = 1; rank <= count; ++rank) {
    for (size_t sum = chance.size(); sum-- > 0;) {
      chance[sum] = (chance[sum] + (sum >= rank ? chance[sum - rank] : 0)) / 2;
    }
  }
  size_t outside = 0;
  for (double sum = chance[0]; sum <= share; sum += chance[outside]) ++outside;
  return outside;
}

struct Moments {
  double mean = 0;
  double square_error = 0;  // square of the mean's standard error
  double degrees = 0;
};

Moments moments_of(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  Moments moments;
  moments.mean = mean_of(values);
  moments.degrees = count - 1;
  moments.square_error = squares_about_mean(values) / moments.degrees / count;
  return moments;
}

}  // namespace

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double squares_about_mean(std::span<const double> values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum;
}

std::optional<ValueInterval> signed_rank_interval(std::span<const double> values, double tail) {
  const size_t outside = ranks_outside(values.size(), tail / 2);
  // Each value is in as many means as there are values, so one far value would decide the width.
  if (outside <= values.size()) return std::nullopt;
  std::vector<double> means;
  means.reserve(values.size() * (values.size() + 1) / 2);
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t j = i; j < values.size(); ++j) means.push_back((values[i] + values[j]) / 2);
  }
  std::ranges::sort(means);
  const size_t half = means.size() / 2;
  const double median = means.size() % 2 == 1 ? means[half] : (means[half - 1] + means[half]) / 2;
  return ValueInterval{median, means[outside - 1], means[means.size() - outside]};
}

double student_p(double t, double degrees) {
  return incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t));
}

double student_t(double degrees, double tail) {
  if (degrees < 1) return std::numeric_limits<double>::infinity();
  double low = 0, high = 1;
  while (student_p(high, degrees) > tail) high *= 2;
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (student_p(middle, degrees) > tail ? low : high) = middle;
  }
  return high;
}

std::optional<MeanDifference> welch_test(std::span<const double> earlier,
                                         std::span<const double> later) {
  if (earlier.size() < 2 || later.size() < 2) return std::nullopt;
  const Moments before = moments_of(earlier), after = moments_of(later);
  MeanDifference result;
  result.difference = after.mean - before.mean;
  result.low = result.high = result.difference;
  const double square_error = before.square_error + after.square_error;
  if (square_error <= 0) {  // without noise, any difference is certain
    result.p = result.difference == 0 ? 1 : 0;
    return result;
  }
  const double degrees = square_error * square_error /
                         (before.square_error * before.square_error / before.degrees +
                          after.square_error * after.square_error / after.degrees);
  const double error = std::sqrt(square_error);
  result.p = student_p(result.difference / error, degrees);
  const double half = student_t(degrees) * error;
  result.low -= half;
  result.high += half;
  return result;
}

}  // namespace redline
