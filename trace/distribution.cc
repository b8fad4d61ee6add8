#include "trace/distribution.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace redline::trace {
namespace {

constexpr std::array<double, 3> kQuartiles = {0.25, 0.5, 0.75};

// Between the two neighbours of the place `share` of the way from the first to the last value.
template <typename ValueAt>
double quantile(int64_t count, double share, ValueAt value_at) {
  const double place = share * static_cast<double>(count - 1);
  const auto below = static_cast<int64_t>(place);
  const double rest = place - static_cast<double>(below);
  const double low = value_at(below);
  return rest == 0 ? low : low + rest * (value_at(below + 1) - low);
}

template <typename Value>
Distribution describe(std::vector<Value> values) {
  Distribution all;
  all.count = static_cast<int64_t>(values.size());
  if (values.empty()) return all;
  const auto [min, max] = std::minmax_element(values.begin(), values.end());
  all.min = static_cast<double>(*min);
  all.max = static_cast<double>(*max);
  double sum = 0, squares = 0;
  for (const Value value : values) sum += static_cast<double>(value);
  all.mean = sum / static_cast<double>(all.count);
  for (const Value value : values) {
    const double off = static_cast<double>(value) - all.mean;
    squares += off * off;
  }
  if (all.count > 1) all.deviation = std::sqrt(squares / static_cast<double>(all.count - 1));

  auto sorted_to = values.begin();  // all before it are in their places
  const auto value_at = [&](int64_t index) {
    const auto place = values.begin() + index;
    if (place >= sorted_to) {
      std::nth_element(sorted_to, place, values.end());
      sorted_to = place + 1;
    }
    return static_cast<double>(*place);
  };
  std::array<double, kQuartiles.size()> quartiles{};
  for (size_t i = 0; i < kQuartiles.size(); ++i) {
    quartiles[i] = quantile(all.count, kQuartiles[i], value_at);
  }
  all.p25 = quartiles[0];
  all.p50 = quartiles[1];
  all.p75 = quartiles[2];
  return all;
}

}  // namespace

Distribution distribution_of(std::vector<int64_t> values) { return describe(std::move(values)); }

Distribution distribution_of(std::vector<double> values) { return describe(std::move(values)); }

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
  if (all.count > 1) all.deviation = std::sqrt(squares / static_cast<double>(all.count - 1));
  const auto value_at = [&](int64_t index) {
    size_t value = 0;
    while (index >= counts[value]) index -= counts[value++];
    return static_cast<double>(value);
  };
  all.p25 = quantile(all.count, kQuartiles[0], value_at);
  all.p50 = quantile(all.count, kQuartiles[1], value_at);
  all.p75 = quantile(all.count, kQuartiles[2], value_at);
  return all;
}

}  // namespace redline::trace
