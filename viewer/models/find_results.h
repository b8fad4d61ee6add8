// What a search has found, in figures: how long the hits are, and the longest of them.
#pragma once

#include <atomic>
#include <vector>

#include "viewer/models/quantiles.h"
#include "viewer/models/search.h"
#include "viewer/models/table.h"

namespace redline::viewer {

/// Durations from `from_ns` up to (not with) `to_ns`; each bin is as wide by ratio as the others.
struct HistogramBin {
  double from_ns = 0;
  double to_ns = 0;
  uint64_t count = 0;
  int64_t total_ns = 0;
};

struct FindResults {
  Quantiles spread;
  std::vector<HistogramBin> histogram;
  Table table;  ///< the longest hits, at most kMostHits
};

constexpr size_t kMostHits = 10'000;
constexpr size_t kHistogramBins = 48;

/// Setting `cancel` makes it stop soon, incomplete.
[[nodiscard]] FindResults find_results(const Session& session, const Search& search,
                                       const std::atomic<bool>* cancel = nullptr);

/// The bin of a duration; the last one where it is longer than all.
[[nodiscard]] size_t bin_of(const std::vector<HistogramBin>& histogram, int64_t duration_ns);

}  // namespace redline::viewer
