// What a search has found, in figures: how long the hits are, and the longest of them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "viewer/models/search.h"
#include "viewer/models/table.h"
#include "viewer/models/time_axis.h"

namespace redline::viewer {

/// How durations are spread. A percentile is the nearest rank: always one of the values.
struct Quantiles {
  int64_t count = 0;
  int64_t sum = 0;
  int64_t min = 0;
  int64_t p50 = 0;
  int64_t p99 = 0;
  int64_t max = 0;

  [[nodiscard]] int64_t mean() const { return sum / std::max<int64_t>(count, 1); }
};

/// Computes the quantiles without sorting all values, but reorders them.
[[nodiscard]] inline Quantiles quantiles_of(std::vector<int64_t>& values) {
  Quantiles result;
  if (values.empty()) return result;
  const auto at = [&values](size_t percent) {
    const size_t rank = (values.size() * percent + 99) / 100;
    const auto place = values.begin() + static_cast<std::ptrdiff_t>(rank - 1);
    std::nth_element(values.begin(), place, values.end());
    return *place;
  };
  result.count = static_cast<int64_t>(values.size());
  for (const int64_t value : values) result.sum = saturating_sum(result.sum, value);
  result.p50 = at(50);
  result.p99 = at(99);
  const auto [min, max] = std::minmax_element(values.begin(), values.end());
  result.min = *min;
  result.max = *max;
  return result;
}

/// The durations from `from_ns` up to, but not including, `to_ns`. All bins have the same ratio of
/// the two.
struct HistogramBin {
  double from_ns = 0;
  double to_ns = 0;
  uint64_t count = 0;
  int64_t total_ns = 0;
};

/// Hits are shared, because copying or freeing ten million of them takes longer than a frame.
using Hits = std::shared_ptr<const std::vector<SliceRef>>;

struct FindResults {
  Quantiles spread;
  std::vector<HistogramBin> histogram;
  Hits hits;  ///< the longest first; never null
};

constexpr size_t kHistogramBins = 48;

/// Setting `cancel` makes it stop soon; the result is then incomplete.
[[nodiscard]] FindResults find_results(const Session& session, const Search& search,
                                       const std::atomic<bool>* cancel = nullptr);

/// The columns of the table of hits: name, duration, begin, track.
[[nodiscard]] const std::vector<TableColumn>& hit_columns();
[[nodiscard]] TableValue hit_value(const Session& session, SliceRef ref, size_t column);
/// `hits` sorted by one of these columns; equal ones stay in the order of the file.
[[nodiscard]] Hits sort_hits(const Session& session, const std::vector<SliceRef>& hits,
                             size_t column, bool ascending,
                             const std::atomic<bool>* cancel = nullptr);

/// The longest hit in a bin; none if the bin is empty. `hits` must have the longest first.
[[nodiscard]] SliceRef longest_of(const Session& session, const std::vector<SliceRef>& hits,
                                  const HistogramBin& bin);

/// The bin of a duration; the last bin if the duration is longer than all of them.
[[nodiscard]] size_t bin_of(const std::vector<HistogramBin>& histogram, int64_t duration_ns);

}  // namespace redline::viewer
