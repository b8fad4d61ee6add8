#include "trace/edges.h"

#include <algorithm>
#include <iterator>

namespace redline::trace {

std::vector<SliceRow> pair_edges(std::span<EdgeRow> edges, int64_t last_ns, IssueLog& issues) {
  std::stable_sort(edges.begin(), edges.end(), [](const EdgeRow& left, const EdgeRow& right) {
    return left.time_ns < right.time_ns;
  });
  std::vector<SliceRow> slices;
  std::vector<EdgeRow> open;
  const auto close = [&](const EdgeRow& begin, int64_t end_ns) {
    slices.push_back(
        {begin.time_ns, end_ns, begin.text_offset, begin.name, 0, begin.track, begin.category});
  };
  for (const EdgeRow& edge : edges) {
    if (edge.is_begin) {
      open.push_back(edge);
      continue;
    }
    const auto match = std::find_if(open.rbegin(), open.rend(), [&](const EdgeRow& begin) {
      return !edge.name || !begin.name || begin.name == edge.name;
    });
    if (match == open.rend()) {
      issues.lost("end_without_begin", edge.text_offset);
      continue;
    }
    close(*match, edge.time_ns);
    open.erase(std::next(match).base());
  }
  if (!edges.empty()) last_ns = std::max(last_ns, edges.back().time_ns);
  for (const EdgeRow& begin : open) {
    issues.repaired("begin_without_end", begin.text_offset);
    close(begin, last_ns);
  }
  return slices;
}

}  // namespace redline::trace
