#include "trace/read/row_order.h"

#include <algorithm>

#include "base/natural_sort.h"

namespace redline::trace {
namespace {

constexpr size_t kMostChains = 12;  // beyond that, sorting is faster
constexpr size_t kSortedBlockRows = size_t{1} << 16;

}  // namespace

RowOrder::RowOrder(std::span<const RowRun> runs) {
  if (!chain_up(runs)) sort(runs);
}

// Appends each run to the first chain that ends before the run begins. False if there would be too
// many chains.
bool RowOrder::chain_up(std::span<const RowRun> runs) {
  for (const RowRun& run : runs) {
    const auto chain = std::ranges::find_if(chains_, [&](const Chain& candidate) {
      return opens_before(candidate.back().rows.back(), run.rows.front());
    });
    if (chain != chains_.end()) {
      chain->push_back(run);
    } else if (chains_.size() < kMostChains) {
      chains_.push_back({run});
    } else {
      return false;
    }
  }
  return true;
}

void RowOrder::sort(std::span<const RowRun> runs) {
  size_t count = 0;
  for (const RowRun& run : runs) count += run.rows.size();
  sorted_ = ColumnMemory::allocate(count * sizeof(SliceRow));
  const std::span rows(reinterpret_cast<SliceRow*>(sorted_->data()), count);
  SliceRow* next = rows.data();
  for (const RowRun& run : runs) {
    for (const SliceRow& row : run.rows) {
      *next = row;
      next++->name = run.name_of(row);
    }
    run.taken();
  }
  natural_sort(rows, opens_before);
  chains_.assign(1, {});
  sorted_blocks_.reserve(count / kSortedBlockRows + 1);  // runs point to them
  for (size_t first = 0; first < count; first += kSortedBlockRows) {
    const auto block = rows.subspan(first, std::min(kSortedBlockRows, count - first));
    sorted_blocks_.emplace_back(block).await(block.size());
    chains_[0].push_back({block, nullptr, &sorted_blocks_.back()});
  }
}

RowOrder::NextTwo RowOrder::next_two(std::span<const Cursor> cursors) {
  const auto before = [&](size_t left, size_t right) {
    return opens_before(*cursors[left].row, *cursors[right].row);
  };
  NextTwo next{0, 0};
  for (size_t i = 1; i < cursors.size(); ++i) {
    if (before(i, next.first)) {
      next = {i, next.first};
    } else if (next.second == next.first || before(i, next.second)) {
      next.second = i;
    }
  }
  return next;
}

}  // namespace redline::trace
