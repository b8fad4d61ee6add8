#include "trace/report.h"

#include <map>

namespace redline::trace {
namespace {

// A job that recorded several cycles left several traces a rank: the last one of each. A file
// without a rank stands for one of its own.
std::vector<const Analysis*> last_of_each_rank(const std::vector<Analysis>& traces) {
  std::vector<const Analysis*> ranks;
  std::map<int, size_t> index;
  for (const Analysis& analysis : traces) {
    const auto rank = analysis.trace->metadata().rank;
    const auto known = rank ? index.find(*rank) : index.end();
    if (known != index.end()) {
      ranks[known->second] = &analysis;
      continue;
    }
    if (rank) index[*rank] = ranks.size();
    ranks.push_back(&analysis);
  }
  return ranks;
}

}  // namespace

Report make_report(const std::vector<std::shared_ptr<const Trace>>& traces) {
  Report report;
  for (const auto& trace : traces) report.traces.push_back(analyze(trace));
  const auto ranks = last_of_each_rank(report.traces);
  report.rank_count = static_cast<int64_t>(ranks.size());
  report.comparison = compare_ranks(ranks);
  report.findings = advise(ranks, report.comparison);
  for (Finding& finding : report.findings) {
    finding.trace = static_cast<size_t>(ranks[finding.trace] - report.traces.data());
  }
  return report;
}

}  // namespace redline::trace
