// How much of the links between GPUs collectives used.
#pragma once

#include <optional>
#include <span>

#include "trace/analysis/rank_summary.h"

namespace redline::trace {

/// What a rank's links to the others carry at most, in 10^9 bytes a second and in one direction. If
/// it was not given, all ranks must be among `traces` and on one host, because nothing tells how
/// fast a network between hosts is. nullopt: unknown.
[[nodiscard]] std::optional<double> link_peak(std::span<const RankSummary> traces);

/// The bus bandwidth of a collective's kernels as a share of `link_gb_per_s`, 0 to 100. More than
/// 100 where the switch between the GPUs reduces (NVLS). nullopt: not known.
[[nodiscard]] std::optional<double> percent_of_link(const Collective& row,
                                                    std::optional<double> link_gb_per_s);
/// The same as a share, 0 to 1.
[[nodiscard]] std::optional<double> share_of_link(const Collective& row,
                                                  std::optional<double> link_gb_per_s);

}  // namespace redline::trace
