#include "trace/analysis/rank_weights.h"

#include <map>

namespace redline::trace {

std::vector<std::vector<size_t>> recordings_of_ranks(const std::vector<Analysis>& traces) {
  std::vector<std::vector<size_t>> ranks;
  std::map<int, size_t> index;
  for (size_t i = 0; i < traces.size(); ++i) {
    if (traces[i].steps.empty()) continue;
    const auto rank = traces[i].trace->metadata().rank;
    const auto known = rank ? index.find(*rank) : index.end();
    if (known != index.end()) {
      ranks[known->second].push_back(i);
      continue;
    }
    if (rank) index[*rank] = ranks.size();
    ranks.push_back({i});
  }
  return ranks;
}

std::vector<double> rank_weights(const std::vector<Analysis>& traces) {
  std::vector<double> weights(traces.size());
  const auto ranks = recordings_of_ranks(traces);
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

}  // namespace redline::trace
