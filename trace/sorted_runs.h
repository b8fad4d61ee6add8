// Sorting lists that are made of a few sorted runs.
//
// Slices lie lane by lane, and each lane is sorted: so what analyses gather from a trace is sorted
// but for a few places. Merging those runs is linear; std::sort took most of a report's time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

namespace redline::trace {

/// A stable sort in O(n log(number of sorted runs)).
template <typename Item, typename Less>
void sort_runs(std::vector<Item>& items, Less less) {
  std::vector<size_t> bounds{0};  // of the runs; the last one is items.size()
  for (size_t i = 1; i < items.size(); ++i) {
    if (less(items[i], items[i - 1])) bounds.push_back(i);
  }
  if (bounds.size() == 1) return;
  bounds.push_back(items.size());
  const auto at = [](std::vector<Item>& list, size_t index) {
    return std::next(list.begin(), static_cast<std::ptrdiff_t>(index));
  };
  std::vector<Item> merged(items.size());
  while (bounds.size() > 2) {
    std::vector<size_t> left{0};
    size_t i = 0;
    for (; i + 2 < bounds.size(); i += 2) {
      std::merge(at(items, bounds[i]), at(items, bounds[i + 1]), at(items, bounds[i + 1]),
                 at(items, bounds[i + 2]), at(merged, bounds[i]), less);
      left.push_back(bounds[i + 2]);
    }
    if (i + 1 < bounds.size()) {  // a run without a partner
      std::copy(at(items, bounds[i]), at(items, bounds[i + 1]), at(merged, bounds[i]));
      left.push_back(bounds[i + 1]);
    }
    items.swap(merged);
    bounds = std::move(left);
  }
}

}  // namespace redline::trace
