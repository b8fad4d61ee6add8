#include "trace/analysis/rank_spread.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>

#include "base/statistics.h"

namespace redline::trace {
namespace {

constexpr double kDeviations = 5;
constexpr double kLeastShare = 0.02;

using GroupsByKey = std::map<std::string, RankGroup>;

void add_member(GroupsByKey& groups, const std::string& key, RankGroup group, size_t rank) {
  auto& members = groups.try_emplace(key, std::move(group)).first->second.members;
  if (members.empty() || members.back() != rank) members.push_back(rank);
}

// Groups of some ranks but not all: a group of one rank is the rank, and that of all tells nothing.
std::vector<RankGroup> groups_of(std::span<const RankSummary* const> ranks) {
  GroupsByKey hosts, process_groups;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const std::string& host = ranks[i]->facts.host;
    if (!host.empty()) add_member(hosts, host, {host, true, {}, 0}, i);
    for (const ProcessGroup& group : ranks[i]->timed_collectives.groups) {
      if (group.ranks.empty()) continue;
      add_member(process_groups, group.name + group.ranks, {group.name, false, {}, 0}, i);
    }
  }
  std::vector<RankGroup> groups;
  for (auto* all : {&hosts, &process_groups}) {
    for (auto& [key, group] : *all) {
      if (group.members.size() > 1 && group.members.size() < ranks.size()) {
        groups.push_back(std::move(group));
      }
    }
  }
  return groups;
}

}  // namespace

RankSpread spread_of(std::span<const RankTime> times, std::span<const RankSummary* const> ranks) {
  RankSpread spread;
  std::vector<int64_t> own_ns;  // of those that are known
  for (size_t i = 0; i < times.size(); ++i) {
    if (times[i].own_work_ns) {
      own_ns.push_back(*times[i].own_work_ns);
    } else {
      spread.unknown.push_back(i);
    }
  }
  const auto [least, most] = std::ranges::minmax_element(own_ns);
  spread.least_ns = *least;
  spread.most_ns = *most;
  spread.median_ns = lower_median(own_ns);
  std::vector<int64_t> distances_ns;
  for (const int64_t ns : own_ns) {
    distances_ns.push_back(std::abs(ns - spread.median_ns));
    const double place = static_cast<double>(ns - *least) /
                         static_cast<double>(std::max<int64_t>(1, *most - *least));
    const auto bin = static_cast<size_t>(place * static_cast<double>(RankSpread::kBins));
    ++spread.bins[std::min(bin, RankSpread::kBins - 1)];
  }
  const double beyond_ns =
      std::max(kDeviations * kDeviationOfMad * static_cast<double>(lower_median(distances_ns)),
               kLeastShare * static_cast<double>(spread.median_ns));
  spread.limit_ns = spread.median_ns + static_cast<int64_t>(beyond_ns);

  std::vector<bool> is_explained(times.size());
  std::set<std::vector<size_t>> known;  // a process group may be the ranks of a host
  for (RankGroup& group : groups_of(ranks)) {
    std::vector<int64_t> of_members;
    for (const size_t i : group.members) {
      if (times[i].own_work_ns) of_members.push_back(*times[i].own_work_ns);
    }
    if (of_members.empty()) continue;
    // A host of two ranks is slow if both are.
    group.own_work_ns = lower_median(std::move(of_members));
    if (group.own_work_ns <= spread.limit_ns || !known.insert(group.members).second) continue;
    for (const size_t i : group.members) is_explained[i] = true;
    spread.slow_groups.push_back(std::move(group));
  }
  std::ranges::stable_sort(spread.slow_groups, std::greater(), &RankGroup::own_work_ns);
  for (size_t i = 0; i < times.size(); ++i) {
    if (times[i].own_work_ns > spread.limit_ns && !is_explained[i]) spread.outliers.push_back(i);
  }
  std::ranges::stable_sort(spread.outliers, std::greater(),
                           [&](size_t i) { return times[i].own_work_ns; });
  return spread;
}

}  // namespace redline::trace
