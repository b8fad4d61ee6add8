#include "trace/ranks.h"

#include <algorithm>

#include "trace/slice_view.h"

namespace redline::trace {
namespace {

RankTime measure(const Analysis& analysis, int fallback_rank) {
  RankTime time;
  time.rank = analysis.trace->metadata().rank.value_or(fallback_rank);
  time.step_ns = analysis.step_times.mean_ns;
  time.exposed_communication_ns = mean_exposed_communication_ns(*analysis.trace, analysis.steps);
  time.own_work_ns = time.step_ns - time.exposed_communication_ns;
  return time;
}

// When each call of the collective that took the most time ended.
std::vector<int64_t> collective_ends_ns(const Analysis& analysis) {
  std::vector<int64_t> ends;
  if (analysis.collectives.empty()) return ends;
  const Trace& trace = *analysis.trace;
  const StringId name = trace.find_string(analysis.collectives.front().name);
  for_each_slice(trace, [&](SliceId slice, Category) {
    if (trace.slices().name[slice.value] == name) ends.push_back(interval_of(trace, slice).end_ns);
  });
  std::sort(ends.begin(), ends.end());
  return ends;
}

std::optional<int64_t> offset_ns(const std::vector<int64_t>& reference,
                                 const std::vector<int64_t>& ends) {
  if (reference.empty() || reference.size() != ends.size()) return std::nullopt;
  std::vector<int64_t> differences;
  for (size_t i = 0; i < ends.size(); ++i) differences.push_back(reference[i] - ends[i]);
  const auto middle = differences.begin() + static_cast<std::ptrdiff_t>(differences.size() / 2);
  std::nth_element(differences.begin(), middle, differences.end());
  return *middle;
}

}  // namespace

std::optional<RankComparison> compare_ranks(std::span<const Analysis* const> ranks) {
  if (ranks.size() < 2) return std::nullopt;
  RankComparison comparison;
  const auto reference = collective_ends_ns(*ranks.front());
  for (const Analysis* analysis : ranks) {
    comparison.times.push_back(measure(*analysis, static_cast<int>(comparison.times.size())));
    comparison.clock_offsets_ns.push_back(offset_ns(reference, collective_ends_ns(*analysis)));
  }
  const auto [shortest, longest] =
      std::minmax_element(comparison.times.begin(), comparison.times.end(),
                          [](const RankTime& left, const RankTime& right) {
                            return left.own_work_ns < right.own_work_ns;
                          });
  comparison.skew_ns = longest->own_work_ns - shortest->own_work_ns;
  if (comparison.skew_ns > 0) comparison.straggler = longest->rank;
  return comparison;
}

}  // namespace redline::trace
