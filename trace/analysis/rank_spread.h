// How the own work of many ranks is spread: which few are slow, and what they have in common.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trace/analysis/rank_summary.h"
#include "trace/analysis/ranks.h"

namespace redline::trace {

/// Ranks that share a host or a process group.
struct RankGroup {
  std::string name;             ///< "node003", or the process group's name
  bool is_host = false;         ///< else a process group
  std::vector<size_t> members;  ///< indices of ranks
  int64_t own_work_ns = 0;      ///< the median of its ranks
};

struct RankSpread {
  static constexpr size_t kBins = 24;

  int64_t least_ns = 0;
  int64_t median_ns = 0;
  int64_t most_ns = 0;
  std::array<int64_t, kBins> bins{};  ///< ranks by own work, in equal pieces from least to most
  /// More own work than nearly all: 5 standard deviations (estimated by the median absolute
  /// deviation) and 2 % beyond the median.
  int64_t limit_ns = 0;
  std::vector<size_t> unknown;         ///< ranks whose own work is not known
  std::vector<RankGroup> slow_groups;  ///< whose median is beyond the limit, slowest first
  std::vector<size_t> outliers;        ///< ranks beyond it in no such group, slowest first
};

/// `times` are those of `ranks`, in the same order; of at least one own work is known. The others
/// are left out.
[[nodiscard]] RankSpread spread_of(std::span<const RankTime> times,
                                   std::span<const RankSummary* const> ranks);

}  // namespace redline::trace
