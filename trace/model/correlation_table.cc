#include "trace/model/correlation_table.h"

#include <algorithm>
#include <bit>

namespace redline::trace {

CorrelationTable::CorrelationTable(std::span<const SliceId> works,
                                   std::span<const uint32_t> correlation) {
  size_bits_ = static_cast<int>(std::bit_width(2 * works.size() + 1));
  memory_ = ColumnMemory::allocate((size_t{1} << size_bits_) * sizeof(Entry));
  entries_ = {reinterpret_cast<Entry*>(memory_->data()), size_t{1} << size_bits_};
  for (const SliceId work : works) {
    const uint32_t number = correlation[work.value];
    Entry& entry = entries_[slot_of(number)];
    if (entry.correlation == 0) {
      entry.correlation = number;
      entry.first = work.value & ((1U << 30) - 1);
    } else {
      entry.has_more = 1;
      more_.emplace_back(number, work);
    }
  }
  std::ranges::stable_sort(more_, {}, &Work::first);
}

CorrelationTable::Entry* CorrelationTable::find(uint64_t correlation) const {
  if (correlation == 0 || correlation > UINT32_MAX) return nullptr;
  Entry& entry = entries_[slot_of(static_cast<uint32_t>(correlation))];
  return entry.correlation != 0 ? &entry : nullptr;
}

// Two runs of numbers that are the table's size apart would collide in all their places. So each
// multiple of the size begins at another place.
size_t CorrelationTable::slot_of(uint32_t correlation) const {
  const size_t mask = entries_.size() - 1;
  size_t slot = (correlation + (uint64_t{correlation} >> size_bits_) * 0x9E3779B1) & mask;
  while (entries_[slot].correlation != 0 && entries_[slot].correlation != correlation) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

std::span<const CorrelationTable::Work> CorrelationTable::more_of(uint32_t correlation) const {
  const auto before = [](const Work& left, const Work& right) { return left.first < right.first; };
  const auto [first, last] =
      std::equal_range(more_.begin(), more_.end(), Work{correlation, {}}, before);
  return {first, last};
}

}  // namespace redline::trace
