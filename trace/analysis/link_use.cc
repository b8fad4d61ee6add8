#include "trace/analysis/link_use.h"

#include <algorithm>
#include <set>

#include "trace/emit/name_kinds.h"

namespace redline::trace {
namespace {

bool is_one_whole_host(std::span<const RankSummary> traces) {
  const TraceFacts& first = traces.front().facts;
  std::set<int> ranks;
  for (const RankSummary& summary : traces) {
    if (summary.facts.host != first.host || !summary.facts.rank) return false;
    ranks.insert(*summary.facts.rank);
  }
  return !first.host.empty() && std::ssize(ranks) == first.world_size;
}

}  // namespace

std::optional<double> link_peak(std::span<const RankSummary> traces) {
  if (traces.empty()) return std::nullopt;
  const DevicePeaks& first = traces.front().peaks;
  const bool is_alike = std::ranges::all_of(traces, [&](const RankSummary& summary) {
    return summary.peaks.link_gb_per_s == first.link_gb_per_s;
  });
  if (!is_alike) return std::nullopt;
  return first.is_link_given || is_one_whole_host(traces) ? first.link_gb_per_s : std::nullopt;
}

std::optional<double> percent_of_link(const Collective& row, std::optional<double> link_gb_per_s) {
  if (!link_gb_per_s || !row.bus_bandwidth) return std::nullopt;
  if ((name_kinds(row.name) & kCommunicationKernelName) == 0) return std::nullopt;
  return *row.bus_bandwidth / (*link_gb_per_s * 1e9) * 100;
}

std::optional<double> share_of_link(const Collective& row, std::optional<double> link_gb_per_s) {
  const auto percent = percent_of_link(row, link_gb_per_s);
  return percent ? std::optional(*percent / 100) : std::nullopt;
}

}  // namespace redline::trace
