// Sorts rows that are nearly sorted. The events of a trace come as a few runs, and each run is in
// order.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

namespace redline {

/// A stable sort that finds the sorted runs and merges them. It takes linear time if the rows are
/// sorted already, or if each run overlaps only its neighbours.
template <typename Row, typename Before>
void natural_sort(std::span<Row> rows, Before before) {
  std::vector<size_t> ends;  // one past the last row of each run
  for (size_t i = 1; i < rows.size(); ++i) {
    if (before(rows[i], rows[i - 1])) ends.push_back(i);
  }
  if (ends.empty()) return;
  ends.push_back(rows.size());
  if (ends.size() > rows.size() / 4) {
    std::ranges::stable_sort(rows, before);
    return;
  }
  const auto at = [&](size_t index) { return rows.begin() + static_cast<ptrdiff_t>(index); };
  const auto merge = [&](size_t from, size_t middle, size_t to) {
    const auto first = std::upper_bound(at(from), at(middle), rows[middle], before);
    const auto last = std::lower_bound(at(middle), at(to), rows[middle - 1], before);
    std::inplace_merge(first, at(middle), last, before);
  };
  while (ends.size() > 1) {
    size_t merged = 0, from = 0;
    for (size_t i = 0; i < ends.size(); i += 2) {
      const size_t to = i + 1 < ends.size() ? ends[i + 1] : ends[i];
      if (to != ends[i]) merge(from, ends[i], to);
      ends[merged++] = from = to;
    }
    ends.resize(merged);
  }
}

}  // namespace redline
