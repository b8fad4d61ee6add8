// What a search has found, in figures: how long the hits are, and the longest of them.
#pragma once

#include <atomic>
#include <memory>
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

/// Shared, as the window's thread could not copy or free ten million within a frame.
using Hits = std::shared_ptr<const std::vector<SliceRef>>;

struct FindResults {
  Quantiles spread;
  std::vector<HistogramBin> histogram;
  Hits hits;  ///< the longest first; never null
};

constexpr size_t kHistogramBins = 48;

/// Setting `cancel` makes it stop soon, incomplete.
[[nodiscard]] FindResults find_results(const Session& session, const Search& search,
                                       const std::atomic<bool>* cancel = nullptr);

/// Name, duration, begin, track: what is told of each hit.
[[nodiscard]] const std::vector<TableColumn>& hit_columns();
[[nodiscard]] TableValue hit_value(const Session& session, SliceRef ref, size_t column);
/// By one of these columns; equal ones as they lie in the file.
[[nodiscard]] Hits sort_hits(const Session& session, const std::vector<SliceRef>& hits,
                             size_t column, bool ascending,
                             const std::atomic<bool>* cancel = nullptr);

/// Of hits with the longest first the longest that a bin counts; none where it counts none.
[[nodiscard]] SliceRef longest_of(const Session& session, const std::vector<SliceRef>& hits,
                                  const HistogramBin& bin);

/// The bin of a duration; the last one where it is longer than all.
[[nodiscard]] size_t bin_of(const std::vector<HistogramBin>& histogram, int64_t duration_ns);

}  // namespace redline::viewer
