#include "trace/analysis/run_tables.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <tuple>

#include "base/statistics.h"
#include "trace/analysis/ranks.h"

namespace redline::trace {
namespace {

// Joins the rows that have the same key by `add`; sorts them by `size`, the largest first.
template <typename Row, typename Rows, typename Key, typename Add, typename Size>
std::vector<Row> merge_rows(const std::vector<RankSummary>& traces, Rows rows_of, Key key_of,
                            Add add, Size size_of) {
  if (traces.size() == 1) return rows_of(traces.front());
  std::vector<Row> merged;
  std::map<decltype(key_of(std::declval<Row>())), size_t> index;
  for (const RankSummary& summary : traces) {
    for (const Row& row : rows_of(summary)) {
      const auto [found, is_new] = index.try_emplace(key_of(row), merged.size());
      if (is_new) {
        merged.push_back(row);
      } else {
        add(merged[found->second], row);
      }
    }
  }
  std::ranges::stable_sort(merged, std::greater(), size_of);
  return merged;
}

// The mean of a figure of two ranks, weighted by time; nullopt if one of them is unknown.
std::optional<double> weighted_mean(std::optional<double> left, int64_t left_ns,
                                    std::optional<double> right, int64_t right_ns) {
  if (!left || !right) return std::nullopt;
  const auto of_left = static_cast<double>(left_ns), of_right = static_cast<double>(right_ns);
  return (*left * of_left + *right * of_right) / (of_left + of_right);
}

}  // namespace

std::optional<int64_t> sum_if_known(std::optional<int64_t> left, std::optional<int64_t> right) {
  if (!left || !right) return std::nullopt;
  return saturating_sum(*left, *right);
}

std::vector<std::vector<size_t>> recordings_of_ranks(std::span<const RankSummary* const> traces) {
  const std::vector<int> numbers = rank_numbers(traces);
  const std::vector<bool> counts = count_in_means(traces);
  std::vector<std::vector<size_t>> ranks;
  std::map<int, size_t> index;
  for (size_t i = 0; i < traces.size(); ++i) {
    if (!counts[i]) continue;
    const auto [rank, is_new] = index.try_emplace(numbers[i], ranks.size());
    if (is_new) ranks.emplace_back();
    ranks[rank->second].push_back(i);
  }
  return ranks;
}

std::vector<double> rank_weights(const std::vector<RankSummary>& traces) {
  std::vector<double> weights(traces.size());
  const auto ranks = recordings_of_ranks(pointers_to(traces));
  for (const std::vector<size_t>& recordings : ranks) {
    double steps = 0;
    for (const size_t i : recordings) steps += static_cast<double>(traces[i].steps.size());
    for (const size_t i : recordings) {
      weights[i] =
          static_cast<double>(traces[i].steps.size()) / steps / static_cast<double>(ranks.size());
    }
  }
  return weights;
}

std::vector<KernelRow> merged_kernels(const std::vector<RankSummary>& traces) {
  return merge_rows<KernelRow>(
      traces, [](const RankSummary& summary) { return summary.kernels; },
      [](const KernelRow& row) { return row.name; },
      [](KernelRow& sum, const KernelRow& row) {
        sum.blocks_per_sm =
            weighted_mean(sum.blocks_per_sm, sum.total_ns, row.blocks_per_sm, row.total_ns);
        sum.occupancy = weighted_mean(sum.occupancy, sum.total_ns, row.occupancy, row.total_ns);
        sum.count += row.count;
        sum.total_ns = saturating_sum(sum.total_ns, row.total_ns);
        sum.min_ns = std::min(sum.min_ns, row.min_ns);
        sum.max_ns = std::max(sum.max_ns, row.max_ns);
      },
      [](const KernelRow& row) { return row.total_ns; });
}

std::vector<OperatorRow> merged_operators(const std::vector<RankSummary>& traces) {
  return merge_rows<OperatorRow>(
      traces, [](const RankSummary& summary) { return summary.operators; },
      [](const OperatorRow& row) { return row.name; },
      [](OperatorRow& sum, const OperatorRow& row) {
        sum.count += row.count;
        sum.total_ns = saturating_sum(sum.total_ns, row.total_ns);
        sum.self_ns = saturating_sum(sum.self_ns, row.self_ns);
        sum.device_self_ns = saturating_sum(sum.device_self_ns, row.device_self_ns);
        sum.device_total_ns = saturating_sum(sum.device_total_ns, row.device_total_ns);
      },
      [](const OperatorRow& row) { return row.self_ns; });
}

std::vector<CopyRow> merged_copies(const std::vector<RankSummary>& traces) {
  return merge_rows<CopyRow>(
      traces, [](const RankSummary& summary) { return summary.copies; },
      [](const CopyRow& row) { return row.kind; },
      [](CopyRow& sum, const CopyRow& row) {
        sum.count += row.count;
        sum.bytes = saturating_sum(sum.bytes, row.bytes);
        sum.total_ns = saturating_sum(sum.total_ns, row.total_ns);
      },
      [](const CopyRow& row) { return row.total_ns; });
}

std::vector<Collective> merged_collectives(const std::vector<RankSummary>& traces) {
  return merge_rows<Collective>(
      traces, [](const RankSummary& summary) { return summary.collectives; },
      [](const Collective& row) {
        return std::tuple(row.name, row.group, row.kind,
                          row.bytes ? *row.bytes / std::max<int64_t>(1, row.count) : -1);
      },
      [](Collective& sum, const Collective& row) {
        const int64_t sum_ns = sum.total_ns.value_or(0), row_ns = row.total_ns.value_or(0);
        sum.bus_bandwidth = weighted_mean(sum.bus_bandwidth, sum_ns, row.bus_bandwidth, row_ns);
        sum.algorithm_bandwidth =
            weighted_mean(sum.algorithm_bandwidth, sum_ns, row.algorithm_bandwidth, row_ns);
        if (sum.bytes) sum.bytes = saturating_sum(*sum.bytes, row.bytes.value_or(0));
        sum.count += row.count;
        sum.total_ns = sum_if_known(sum.total_ns, row.total_ns);
        sum.exposed_ns = sum_if_known(sum.exposed_ns, row.exposed_ns);
      },
      [](const Collective& row) { return row.total_ns; });
}

}  // namespace redline::trace
