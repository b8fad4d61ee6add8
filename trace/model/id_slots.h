// Finds the ids of things that their owner keeps in a vector, by open addressing: four to eight
// bytes a thing, and no memory of its own for each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace redline::trace {

class IdSlots {
 public:
  static constexpr uint32_t kFree = UINT32_MAX;

  /// The slot of the thing with this hash for which `is_it(id)`, or the free one where its id
  /// belongs. `count` things have ids, and `hash_of(id)` is called for each when there must be more
  /// slots.
  template <typename IsIt, typename HashOf>
  uint32_t& slot(uint64_t hash, size_t count, const IsIt& is_it, const HashOf& hash_of) {
    if (count * 2 >= ids_.size()) grow(count, hash_of);
    return ids_[index_of(hash, is_it)];
  }
  /// The id, or kFree.
  template <typename IsIt>
  [[nodiscard]] uint32_t find(uint64_t hash, const IsIt& is_it) const {
    return ids_.empty() ? kFree : ids_[index_of(hash, is_it)];
  }

 private:
  template <typename IsIt>
  [[nodiscard]] size_t index_of(uint64_t hash, const IsIt& is_it) const {
    const size_t mask = ids_.size() - 1;
    size_t index = hash & mask;
    while (ids_[index] != kFree && !is_it(ids_[index])) index = (index + 1) & mask;
    return index;
  }

  template <typename HashOf>
  void grow(size_t count, const HashOf& hash_of) {
    ids_.assign(std::max<size_t>(64, ids_.size() * 2), kFree);
    for (uint32_t id = 0; id < count; ++id) {
      ids_[index_of(hash_of(id), [](uint32_t) { return false; })] = id;
    }
  }

  std::vector<uint32_t> ids_;  // their number is a power of two
};

}  // namespace redline::trace
